"""Finding operations: by filters, and by words with a full-text index that forgives misspelling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError, closest_names, did_you_mean
from ..language.parameters import split_identifier

if TYPE_CHECKING:
    from .catalog import Catalog


FIELDS = ("id", "product", "method", "path", "tag", "summary", "deprecated", "experimental", "not_on")
_COLUMNS = "o.id, o.product, o.method, o.path, o.tag, o.title, o.deprecated, o.experimental, o.not_on"
# A word in the id says more than one in the title, and that more than one in the tag or the path.
_RANK = "bm25(search, 12.0, 8.0, 6.0, 1.0, 4.0)"


class SearchResult(NamedTuple):
    """Rows, best first, and the words that were read as others: `{"sprnt": "sprint"}`."""

    rows: list[dict[str, Any]]
    corrected: dict[str, str]


def list_operations(
    catalog: Catalog,
    *,
    product: str | None = None,
    method: str | None = None,
    tag: str | None = None,
    text: str | None = None,
    deprecated: bool = True,
) -> list[dict[str, Any]]:
    """All operations that pass every filter, in the order of products and paths; raises `UsageError` on a wrong one."""
    filters = {
        "product": _known_value(catalog, "product", product),
        "method": _known_value(catalog, "method", method.upper() if method else None),
        "tag": _known_value(catalog, "tag", tag),
    }
    chosen = {name: value for name, value in filters.items() if value is not None}
    where = " AND ".join([f"o.{name} = ?" for name in chosen] + ["1"])
    sql = f"SELECT {_COLUMNS} FROM operation o WHERE {where}"  # noqa: S608 - columns of this module
    rows = [_result_row(row) for row in catalog.query_rows(sql, *chosen.values())]
    wanted = [row for row in rows if deprecated or not row["deprecated"]]
    return [row for row in wanted if text.casefold() in _row_text(row)] if text else wanted


def _known_value(catalog: Catalog, column: str, value: str | None) -> str | None:
    """The value as the catalog writes it, ignoring case."""
    if value is None:
        return None
    known = [str(name) for (name,) in catalog.query_rows(f"SELECT DISTINCT {column} FROM operation")]  # noqa: S608 - a column of this module
    for name in known:
        if name.casefold() == value.casefold():
            return name
    listed = f" (one of: {', '.join(known)})" if len(known) < 12 else ""
    raise UsageError(f"no operation has the {column} {value!r}{did_you_mean(value, known)}{listed}")


def search_operations(catalog: Catalog, text: str, product: str | None = None) -> SearchResult:
    """Operations that have all the words of `text`, else some of them. A word nothing has is read as the closest."""
    product = _known_value(catalog, "product", product)
    asked = [word.lower() for word in split_identifier(text)]
    if not asked:
        raise UsageError("nothing to search for", hint="pass a word from an operation's name, title, path or tag")
    synonyms = catalog.programs.get(catalog.program).get("synonyms", {})
    corrected = dict(_corrections_of(catalog, [word for word in asked if word not in synonyms]))
    terms = [_with_synonyms(corrected.get(word, word), synonyms) for word in asked]
    rows = _match_rows(catalog, terms, " AND ", product) or _match_rows(catalog, terms, " OR ", product)
    plain = text.strip().casefold()
    rows.sort(key=lambda row: (row["id"].casefold() != plain, row["deprecated"], -_share_in_id(row["id"], terms)))
    return SearchResult(rows, corrected)


def _with_synonyms(word: str, synonyms: dict[str, list[str]]) -> list[str]:
    return [word, *synonyms.get(word, synonyms.get(word.removesuffix("s"), ()))]


def _share_in_id(id: str, terms: list[list[str]]) -> float:
    """How many of the words stand in the id itself: what an operation is called counts before where it lives.

    Of a word's synonyms each counts a little less than the one before, and all less than what was typed; of two
    that are alike the shorter name is the plainer operation.
    """
    in_id = [word.lower() for word in split_identifier(id)]
    named = sum(max(0.95**place * _id_contains(meant, in_id) for place, meant in enumerate(term)) for term in terms)
    return named - 0.03 * len(in_id)


def _id_contains(term: str, in_id: list[str]) -> bool:
    return any(word.startswith(term.removesuffix("s")) for word in in_id)


def suggest_operations(catalog: Catalog, id: str, count: int = 3) -> list[str]:
    """The ids of operations most like a misspelt one."""
    return closest_names(id, catalog.operations.ids(), count)


def _corrections_of(catalog: Catalog, asked: list[str]) -> Iterator[tuple[str, str]]:
    for word in dict.fromkeys(asked):
        stem = word[:-1] if word.endswith("s") and len(word) > 3 else word
        if not catalog.query_rows("SELECT 1 FROM word WHERE word >= ? AND word < ? LIMIT 1", stem, stem + "\U0010ffff"):
            near = closest_names(
                word, (str(name) for (name,) in catalog.query_rows("SELECT word FROM word")), cutoff=0.7
            )
            if near:
                yield word, near[0]


def _match_rows(catalog: Catalog, terms: list[list[str]], operator: str, product: str | None) -> list[dict[str, Any]]:
    """Ranked rows; words that match whole come before those that only begin alike."""
    query = operator.join(f"({' OR '.join(_wanted_forms(term))})" for term in terms)
    sql = (
        f"SELECT {_COLUMNS} FROM search JOIN operation o ON o.position = search.rowid "  # noqa: S608 - texts of this module
        f"WHERE search MATCH ? AND (? IS NULL OR o.product = ?) ORDER BY {_RANK}, o.position"
    )
    return [_result_row(row) for row in catalog.query_rows(sql, query, product, product)]


def _wanted_forms(term: list[str]) -> Iterator[str]:
    typed, *meant = term
    yield from (f'"{typed}"', f'"{typed}"*')
    yield from (f'"{word}"' for word in meant)


def _result_row(row: tuple[Any, ...]) -> dict[str, Any]:
    flags = {"deprecated": bool(row[6]), "experimental": bool(row[7]), "not_on": json.loads(row[8])}
    return {**dict(zip(FIELDS, row, strict=True)), **flags}


def _row_text(row: dict[str, Any]) -> str:
    return " ".join(str(row[name]) for name in ("id", "path", "tag", "summary")).casefold()
