"""What every kind has in common: references, expressions and the names they see, patterns, needs."""

from __future__ import annotations

import marshal
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from datetime import date, time
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple
from unicodedata import normalize

from pydantic import TypeAdapter

from ...errors import did_you_mean, near_or_all
from ...registry import REGISTRIES
from ..conditions import compared_paths, fixed_truth, word_faults
from ..functions import Functions
from ..problem import Finding, Findings
from ..scopes import (
    begins_in_all,
    expressions_in,
    is_constant,
    marked_names,
    names_in,
    names_of_items,
    plain_paths,
    root_names,
)
from ..shape import KINDS, PARTS, RULES
from ..shape.base import BY_ENTRY, KeyRule, own_keys, own_shape
from ..source_file import PARTS as KINDS_OF_PARTS
from ..source_file import RESOURCE, Definition, Path
from ..template import TemplateError, compile_expression, expressions_in_text, split_template
from ..value_kinds import A_KIND, kinds_of_results, type_faults
from .backtracking import fits_no_text, takes_for_ever

# Whether expressions name what is there, and whether it is clear what a name in a filter means.


Faults = Iterator[tuple[Path, str]]

# What expressions see besides the parameters of a command.
RESERVED = frozenset({"given", "named", "site", "output", "columns", "needed"})


def unusable_names(names: Collection[str], taken: Collection[str] = ()) -> Iterator[str]:
    """Why expressions could not use the names that a definition gives to something, for each where that is so."""
    for name in sorted(names):
        if name in RESERVED or name in taken:
            yield f"expressions see something else as {name!r}: give it another name"
        elif not name.isidentifier():
            yield f"{name!r} cannot be written in expressions: letters, digits and _ only"


def value_faults(value: Any, names: Collection[str], at: Path) -> Faults:
    """Of the placeholders in a (nested) value. They are told at the place of the whole value, each once."""
    if value is not None:
        told = dict.fromkeys(text for expression in expressions_in(value) for text in _name_faults(expression, names))
        yield from ((at, text) for text in told)


def expression_faults(expression: str, names: Collection[str], at: Path) -> Faults:
    yield from ((at, text) for text in dict.fromkeys(_name_faults(expression, names)))


def part_faults(expression: str, names: Collection[str], at: Path) -> Faults:
    """Of an expression over a part of what is known, such as an answer: only `$name` is a name of the command."""
    unknown = (
        f"'${name}' is not known here{did_you_mean(name, names)}"
        for name in marked_names(expression)
        if name not in names
    )
    yield from ((at, text) for text in dict.fromkeys([*unknown, *hidden_name_faults(expression, names)]))


def _name_faults(expression: str, names: Collection[str]) -> Iterator[str]:
    if expression in names:  # nearly all are one of the names
        return
    for name in root_names(expression):
        if name not in names:
            yield f"{name!r} is not known here{did_you_mean(name, names)}"
    if begins_in_all(expression):
        yield "this reads everything that is known here, not an answer: name the answer with 'as' in a step"
    yield from hidden_name_faults(expression, names)


def hidden_name_faults(expression: str, names: Collection[str]) -> Iterator[str]:
    """Names in filters that the command knows too. Who writes `tag == $tag` has told the two apart."""
    marked = set(marked_names(expression))
    for name in names_of_items(expression):
        if name in names and name not in marked:
            yield f"{name!r} is taken from each item here: write ${name} for what the command knows, or @.{name}"


# A definition's table, walked together with the JSON Schema of its kind: what is known of every place in it.


PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


Schema = dict[str, Any]


class ShapePlace(NamedTuple):
    """A value in a table, where it is, and what its shape says of it."""

    path: Path
    value: Any
    schema: Schema


@cache
def adapter_of(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter({**KINDS, **PARTS}[kind])


@cache
def kind_schema(kind: str) -> Schema:
    """The JSON Schema of one kind."""
    schema = adapter_of(kind).json_schema()
    _KEPT.append(schema)
    return schema


def shape_places(kind: str, table: Any, wanted: tuple[str, tuple[str, ...]] | None = None) -> list[ShapePlace]:
    """Every value of a definition, tables and lists before what they hold.

    With `wanted`, a key of shapes and its values, only those on the way to a value whose shape has one of these.
    """
    found: list[ShapePlace] = []
    _ShapeWalk(kind, found.append, wanted).visit(kind_schema(kind), None, table, ())
    return found


def allowed_keys(kind: str, table: Any, path: Path) -> list[str]:
    """The keys that a table may have at a place."""
    return list(schema_at(kind, table, path).get("properties", ()))


def schema_at(kind: str, table: Any, path: Path) -> Schema:
    """What a place of a table has to be."""
    root = kind_schema(kind)
    node = root
    for key in path:
        node = _child_schema(_resolve_schema(root, node, table), key)
        table = _part_of_table(table, key)
    return _resolve_schema(root, node, table)


def _part_of_table(table: Any, key: str | int) -> Any:
    try:
        return table[key]
    except (KeyError, IndexError, TypeError):
        return None


class _ShapeWalk:
    """Hands every place to `see`; a table that is the same as one that `clean` has is left out."""

    def __init__(
        self,
        kind: str,
        see: Callable[[ShapePlace], object],
        wanted: tuple[str, tuple[str, ...]] | None = None,
        clean: set[Any] | None = None,
        findings: Sized = (),
        known: Known | None = None,
    ) -> None:
        self.root, self.see, self.wanted = kind_schema(kind), see, wanted
        self.clean, self.findings, self.known = clean, findings, known or {}
        self.leads = _LEADS.setdefault(wanted, {})
        self.inner = _INNER.setdefault(wanted, {})
        self.keys = _KEYS.setdefault(wanted, {})

    def visit(self, node: Schema, sees: Any, value: Any, path: Path) -> None:
        """`sees` is what expressions see by the shapes around this one."""
        key = None
        if self.clean is not None and path and isinstance(value, dict) and value:
            key = id(node), id(sees), bytes_of(value)
            if key in self.clean:
                return
        before = len(self.findings)
        schema = _resolve_schema(self.root, node, value)
        if (seen := node.get("sees", sees)) is not None and schema.get("sees") is not seen:
            schema = _that_sees(schema, seen)
        self.see(ShapePlace(path, value, schema))
        if value and isinstance(value, (dict, list)):
            inner, sees = self._inner_of(schema), schema.get("sees")
            for part, item in value.items() if isinstance(value, dict) else enumerate(value):
                shape = inner.items if isinstance(part, int) else inner.named.get(part, inner.others)
                if shape is None or (self.wanted is None and _says_nothing(shape, item, self.known)):
                    continue
                if self.wanted is None or type(item) is not dict or not self._holds_nothing(shape, item):
                    self.visit(shape, sees, item, (*path, part))
        if key is not None and self.clean is not None and before == len(self.findings):
            self.clean.add(key)

    def _inner_of(self, schema: Schema) -> _InnerShapes:
        found = self.inner.get(id(schema))
        if found is None:
            within = {key: each for key, each in schema.items() if key != "gives"} if "gives" in schema else schema
            named, others, items = {}, within, within
            if schema.get("format") != "value":
                named = {key: _child_schema(schema, key) for key in schema.get("properties", ())}
                others, items = _child_schema(schema, ""), _child_schema(schema, 0)
            found = _InnerShapes(
                {key: self._if_leading(shape) for key, shape in named.items()},
                self._if_leading(others),
                self._if_leading(items),
            )
            self.inner[id(schema)] = found
        return found

    def _holds_nothing(self, shape: Schema, value: Any) -> bool:
        """Whether a table is none that is wanted, by its keys: nearly all parameters of a command are none."""
        if id(shape) not in self.keys:
            self.keys[id(shape)] = self._keys_on_the_way(shape, value)
        keys = self.keys[id(shape)]
        return keys is not None and keys.isdisjoint(value)

    def _keys_on_the_way(self, shape: Schema, value: Any) -> frozenset[str] | None:
        inner = None if "anyOf" in shape else self._inner_of(_resolve_schema(self.root, shape, value))
        if inner is None or inner.others is not None:
            return None
        return frozenset(key for key, each in inner.named.items() if each is not None)

    def _if_leading(self, node: Schema) -> Schema | None:
        """A shape, where it has the wanted key with such a value, or one inside it has; any, where none is wanted."""
        if self.wanted is None:
            return node
        leads = self.leads.get(id(node))
        if leads is None:
            key, values = self.wanted
            leads = self.leads[id(node)] = any(each.get(key) in values for each in _shapes_inside(self.root, node))
        return node if leads else None


class _InnerShapes(NamedTuple):
    """What the parts of a table by name, its other parts and the items of a list have to be; None: nothing of them."""

    named: Mapping[str, Schema | None]
    others: Schema | None
    items: Schema | None


def bytes_of(value: Any) -> bytes:
    """The same for the same tables only; every text stands in it, in UTF-8. A fifth of the time of `str(value)`."""
    try:
        return marshal.dumps(value, 2)
    except ValueError:  # a date
        return repr(value).encode("utf-8", "surrogatepass")


# What is made of a shape is found by its id. All are kept for good, as an id is given again when its shape is gone:
# whoever adds to a registry has the schemas made anew.
_KEPT: list[Schema] = []
_NO_SHAPE: Schema = {}
_SEEING: dict[tuple[int, int], tuple[Schema, Any, Schema]] = {}
_FOLLOWED: dict[int, tuple[Schema, Schema]] = {}
_LEADS: dict[Any, dict[int, bool]] = {}
_INNER: dict[Any, dict[int, _InnerShapes]] = {}
_KEYS: dict[Any, dict[int, frozenset[str] | None]] = {}
_KINDS_NAMED: dict[int, str | None] = {}
_ANYTHING = ""


def _says_nothing(schema: Schema, value: Any, known: Known) -> bool:
    """Whether there is nothing to judge in a value: a number, a text that stands for nothing else, a name of what is.

    Most places are one.
    """
    kind = type(value)
    if kind is not str:
        return kind is bool or kind is int
    if id(schema) not in _KINDS_NAMED:
        _KINDS_NAMED[id(schema)] = _what_texts_name(schema)
    named = _KINDS_NAMED[id(schema)]
    return named is not None and (named == _ANYTHING or value in known.get(named, ())) and bool(value.isprintable())


def _what_texts_name(schema: Schema) -> str | None:
    """The kind of what texts of such a shape are names of, nothing for any text, and None where they have a form."""
    if schema.keys() & {"path", "$ref", "anyOf"} or schema.get("format") in _FORMS:
        return None
    target = schema.get("reference", _ANYTHING)
    return None if target and "format" in schema else str(target)


def _that_sees(schema: Schema, seen: Any) -> Schema:
    found = _SEEING.get((id(schema), id(seen)))
    if found is None:
        found = _SEEING[id(schema), id(seen)] = schema, seen, {**schema, "sees": seen}
    return found[2]


def _shapes_inside(root: Schema, node: Schema) -> Iterator[Schema]:
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [inner for key in ("items", "additionalProperties") if isinstance(inner := each.get(key), dict)]
            waiting += [*each.get("anyOf", ()), *each.get("properties", {}).values()]
            waiting += each.get("patternProperties", {}).values()
            waiting += [root["$defs"][each["$ref"].rpartition("/")[2]]] if "$ref" in each else []


def _resolve_schema(root: Schema, node: Schema, value: Any) -> Schema:
    """The schema itself: references followed, and of alternatives the one that is for such a value."""
    if "anyOf" in node:
        fitting = (_resolve_schema(root, each, value) for each in node["anyOf"])
        return next((each for each in fitting if _is_for(each, value)), _NO_SHAPE)
    reference = node.get("$ref")
    if reference is None:
        return node
    if id(node) not in _FOLLOWED:
        target = root["$defs"][reference.rpartition("/")[2]]
        _FOLLOWED[id(node)] = node, {**target, **{key: node[key] for key in node if key != "$ref"}}
    return _FOLLOWED[id(node)][1]


def _is_for(schema: Schema, value: Any) -> bool:
    if "const" in schema:
        return bool(schema["const"] == value and type(schema["const"]) is type(value))
    wanted = PYTHON_TYPES.get(str(schema.get("type")))
    return wanted is None or (isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool)))


def _by_pattern(node: Schema) -> Any:
    """What the values of a table are, whose keys have to fit a pattern."""
    return next(iter(node.get("patternProperties", {}).values()), None)


def _child_schema(node: Schema, key: str | int) -> Schema:
    found = (
        node.get("items")
        if isinstance(key, int)
        else node.get("properties", {}).get(key) or node.get("additionalProperties") or _by_pattern(node)
    )
    return found if isinstance(found, dict) else _NO_SHAPE


# What every kind has in common: references, expressions and the names they see, patterns, names, numbers.


Known = Mapping[str, set[str]]  # kind of definition, or `engine:registry` → the names that exist


def id_findings(definition: Definition) -> Findings:
    if not definition.id.isprintable():
        yield Finding((), f"the id {definition.id!r} holds a control character")
    elif definition.id != normalize("NFC", definition.id):
        yield Finding((), f"the id {definition.id!a} has a letter in two parts: write it as one (NFC)")


def place_findings(
    definition: Definition, known: Known, further: Callable[[ShapePlace], Findings], clean: set[Any]
) -> list[Finding]:
    """What is wrong with a single place; `further` judges tables and lists.

    `clean` collects the tables that are sound, so that each is judged once.
    """
    found = [*id_findings(definition)]

    def judge(place: ShapePlace) -> None:
        path, value, schema = place
        if isinstance(value, dict):
            found.extend(_key_findings(place, known))
        elif isinstance(value, str):
            if _says_nothing(schema, value, known):
                return
            found.extend(_reference_findings(place, known))
            found.extend(Finding(path, text) for text in _text_faults(path, value, schema))
        elif not isinstance(value, list):
            found.extend(Finding(path, text) for text in _value_faults(value))
        if isinstance(value, (dict, list)):
            found.extend(further(place))

    _ShapeWalk(definition.kind, judge, clean=clean, findings=found, known=known).visit(
        kind_schema(definition.kind), None, definition.table, ()
    )
    return found


_DEPLOYMENT = "site.deployment"


def _reference_findings(place: ShapePlace, known: Known) -> Findings:
    """Of a text that is a name, or asks for the deployment of a site."""
    target = place.schema.get("reference")
    if isinstance(target, str):
        yield from _reference_finding(place, place.value, target, known)
    if _DEPLOYMENT in place.value and place.schema.get("format") in _FORMS:
        yield from _deployment_findings(place, known)


def _key_findings(place: ShapePlace, known: Known) -> Findings:
    target = place.schema.get("keys")
    if isinstance(target, str):
        for key in place.value:
            yield from _reference_finding(place._replace(path=(*place.path, key)), key, target, known)
    if not all(map(str.isprintable, place.value)):
        odd = (key for key in place.value if not key.isprintable())
        yield from (Finding(place.path, f"the key {key!r} holds a control character") for key in odd)


def _deployment_findings(place: ShapePlace, known: Known) -> Findings:
    """What a site's deployment is compared with is one that there is."""
    texts = [place.value] if place.schema["format"] == "jmespath" else expressions_in(place.value)
    for path, word in (found for text in texts for found in compared_paths(text)):
        if path == _DEPLOYMENT and isinstance(word, str):
            yield from _reference_finding(place, word, "deployment", known)


_TAKEN_FOR_ANOTHER = ("operation", "schema", "view", "command")


def _reference_finding(place: ShapePlace, name: str, target: str, known: Known) -> Findings:
    there = known.get(target, set())
    if name not in there:
        text = f"no {target.removeprefix('engine:')} {name!r}{near_or_all(name, there)}"
        key = next((key for key, kind in KINDS_OF_PARTS.items() if kind == target), None)
        other = next((kind for kind in _TAKEN_FOR_ANOTHER if name in known.get(kind, ())), None)
        if target == "operation" and re.match(r"[A-Z]+ /", name):
            text = f"{name!r} is a method and a path: an operation is called by its id"
        elif key is not None and name in known.get(RESOURCE, ()):
            text = f"resource {name!r} has no `{key}`"
        elif other is not None and target in _TAKEN_FOR_ANOTHER:
            text = f"{name!r} is the id of a definition of kind {other}, and {target} is wanted"
        yield Finding(place.path, text, ((target, name),))


def _value_faults(value: Any) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield f"expected a number, not {value}"
    elif isinstance(value, date | time):
        yield f"expected a text: write the {'time' if isinstance(value, time) else 'date'} in quotes"


def _text_faults(path: Path, value: str, schema: Schema) -> Iterator[str]:
    if odd := _control_character_fault(value, single_line=bool(schema.get("single_line"))):
        yield f"holds the control character U+{ord(odd):04X}"
    if schema.get("path") and (fault := path_fault(value)):
        yield fault
    form = _FORMS.get(str(schema.get("format")))
    told = [*form(value, schema)] if form else []
    yield from told
    is_condition = path[-1:] in _CONDITIONS and schema.get("format") == "jmespath"
    truth = fixed_truth(value) if is_condition and not told else None
    if truth is not None:
        yield "is always true" if truth else "is never true"
    if path[-1:] == ("where",) and value.startswith("[?") and not told:
        yield "is asked of one thing after the other: write the condition alone, and no filter of a list"
    if not told and (fault := giving_fault(value, schema)) is not None:
        yield fault


def giving_fault(text: str, schema: Schema, types: Mapping[str, str] | None = None) -> str | None:
    """Why an expression, or a text with placeholders, gives something else than its shape says, or None."""
    wanted = schema.get("gives")
    if wanted is None:
        return None
    expression = text
    if schema["format"] != "jmespath":
        pieces = [*split_template(text)]
        if not any(is_expression for is_expression, _ in pieces):  # what is written out is told of the value
            return None
        if len(pieces) > 1:
            return None if "string" in wanted else f"is a text, and {_one_of(wanted)} is expected"
        expression = pieces[0][1]
    kinds = kinds_of_results(expression, types)
    wrong = sorted(kinds - {*wanted, ""})
    if not wrong:
        return None
    return f"{'is' if len(kinds) == 1 else 'can be'} {A_KIND[wrong[0]]}, and {_one_of(wanted)} is expected"


def _one_of(kinds: Iterable[str]) -> str:
    return "a list" if "array" in kinds else " or ".join(A_KIND[kind] for kind in kinds)


_CONDITIONS = tuple((key,) for key in ("when", "last", "failed", "where", "success", "requires"))


_OF_A_SHELL = re.compile(r"~\w*(?:/|$)|\$[A-Za-z_]\w*(?:/|$)|\$\{\w+\}|%\w+%[\\/]")


def path_fault(path: str) -> str | None:
    """Why a path that is used as it is written cannot be meant so, or None."""
    if _OF_A_SHELL.match(path):
        return f"{path!r}: no shell reads it, so ~ and $NAME stay as they are: write the whole path"
    return None


def _control_character_fault(text: str, *, single_line: bool) -> str | None:
    if text.isprintable():  # nearly every text is
        return None
    allowed = "" if single_line else "\n\r\t"
    return next((sign for sign in text if not sign.isprintable() and _is_control(sign) and sign not in allowed), None)


def _is_control(sign: str) -> bool:
    """C0, C1 and the marks that turn the direction of text; other characters that have no shape are harmless."""
    code = ord(sign)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069


def _schema_expression_faults(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    fault = expression_fault(text)
    if fault is None and is_constant(text) and not schema.get("constant"):
        fault = f"is always the same, {text}: it looks at nothing"
    yield from [fault] if fault else [*_unseen_names(root_names(text), schema), *_seen_faults([text], schema)]


def _template_faults(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    expressions: Iterable[str] = ()
    try:
        expressions = expressions_in_text(text)
        faults = [fault for expression in expressions if (fault := expression_fault(expression))]
    except TemplateError as error:
        faults = [str(error)]
    yield from faults or [*_unseen_names(names_in(text), schema), *_seen_faults(expressions, schema)]
    yield from bare_value_faults(text, schema.get("sees") or ())
    call = _CALL.fullmatch(text) if "{" not in text else None
    if call is not None and call[1] in Functions.FUNCTION_TABLE and expression_fault(text) is None:
        yield f"{text!r} is said as it stands: what is worked out stands in braces, {{{text}}}"
    for name in _DOUBLE_BRACES.findall(text) if "sees" in schema else ():
        if name in (schema["sees"] or ()):
            yield f"{{{{{name}}}}} is that word in braces: a value stands in one pair, {{{name}}}"


_CALL = re.compile(r"(\w+)\(.+\)")
_BARE_PATH = re.compile(r'(\w+)(?:\.(?:\w+|"[^"]+"))+')
_TABLE = re.compile(r"\{(\{\s*\w+\s*:.*\})\}")
_DOUBLE_BRACES = re.compile(r"\{\{\s*(\w+)[\w.]*\s*\}\}")


def bare_value_faults(text: str, names: Collection[str]) -> Iterator[str]:
    """A template that is nothing but the path of a value, without its braces, or a table of values."""
    if (path := _BARE_PATH.fullmatch(text)) and path[1] in names:
        yield f"{text!r} is sent as these letters: a value stands in braces, {{{text}}}"
    elif (
        (table := _TABLE.fullmatch(text)) and expression_fault(table[1]) is None and {*root_names(table[1])} & {*names}
    ):
        yield f'{text!r} is sent as these letters, as {{{{ is a brace: write a table, {{ name = "{{value}}" }}'


# What is always of one kind, by the names that shapes say expressions see.
_KINDS_SEEN = {"status": "number", "retry": "number", "seconds": "number", "url": "string", "word": "string"}


def _seen_faults(expressions: Iterable[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """What the names that an expression sees are never good for."""
    types = {name: _KINDS_SEEN[name] for name in schema.get("sees") or () if name in _KINDS_SEEN}
    for text in expressions:
        yield from type_faults(text, types) if types else ()
        yield from _header_faults([text], schema)


def _header_faults(expressions: Iterable[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """Of a delivery: its headers and its query hold texts, and names of headers are given in small letters."""
    seen = {"headers", "query"} & {*(schema.get("sees") or ())}
    for first, *rest in chain.from_iterable(map(plain_paths, expressions)) if seen else ():
        if first not in seen or not rest:
            continue
        if first == "headers" and rest[0] != rest[0].lower():
            yield f"headers have their names in small letters: {rest[0].lower()!r}, not {rest[0]!r}"
        if rest[1:]:
            yield f'{first} holds texts: a name with a dot stands in quotes, {first}."{".".join(rest)}"'


def _unseen_names(names: Iterable[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """Names that stand for nothing where the shape says all that an expression sees."""
    if "sees" in schema:
        for name in dict.fromkeys(names):
            if name not in schema["sees"]:
                yield not_known(name, schema["sees"])


def not_known(name: str, known: Any) -> str:
    near = did_you_mean(name, known)
    listed = f"; it sees {', '.join(known)}" if known and not near and isinstance(known, list) else ""
    return f"{name!r} is not known here{near or listed}"


@lru_cache(maxsize=4096)
def expression_fault(text: str) -> str | None:
    try:
        compile_expression(text)
    except TemplateError as error:
        bare = text.strip().removeprefix("{").removesuffix("}")
        if bare != text.strip() and expression_fault(bare) is None:
            return f"this is an expression already: write {bare} without braces"
        meant = next((said for pattern, said in _MEANT if pattern.search(_TEXTS.sub("''", text))), "")
        return f"not an expression: {meant}{error}"
    return next(word_faults(text), None)


_TEXTS = re.compile(r"'[^']*'|`[^`]*`")
# What other languages write so, in what cannot be read.
_MEANT = (
    (re.compile(r'^\s*"[^"]*"\s*:'), "a brace that stands for itself is doubled, {{: "),
    (re.compile(r"\b(?:and|or|not)\b"), "and, or, not are written &&, ||, !: "),
    (re.compile(r"(?<![<>=!])=(?!=)"), "two values are compared with ==: "),
    (re.compile(r"[<>=]\s*-?\d"), "a number stands in backquotes, `1`: "),
    (re.compile(r"\w-\w"), 'a name with - in it stands in quotes, "a-b": '),
)


def prefix_fault(header: str, prefix: str) -> str | None:
    """Why nothing that a header holds can begin so, or none."""
    if header and prefix.lower().startswith(f"{header.lower()}:"):
        return f"is what stands in the value: leave out {header!r}, which is the header's name"
    if header.lower() == "authorization" and re.fullmatch(r"\w+", prefix):
        return f"needs the blank behind it: {prefix + ' '!r}"
    return None


def pattern_fault(pattern: Any, groups: int = 0) -> str | None:
    """Why a text cannot be used as a regular expression with so many groups, or None."""
    if not pattern and not groups:
        return None
    try:
        with warnings.catch_warnings(category=FutureWarning, action="error"):
            compiled = re.compile(pattern)
    except FutureWarning as error:  # else it would be told each time that the pattern is used
        return f"not clear: {str(error).lower()}: put \\ before that sign"
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        return f"not a regular expression: {error}"
    if doubled := re.search(r"(?<!\\)\\\\[dDwWsSbB.](?![\\:])", str(pattern)):
        return f"{doubled[0]} fits a backslash and a letter: in single quotes \\ is written once, {doubled[0][1:]}"
    if re.match(r"/\^|.*[^\\]\$/[a-z]*$", str(pattern)):
        return "fits nothing: no / stands around an expression here"
    if fits_no_text(pattern):
        return "fits nothing: something follows the end of the text, $"
    if takes_for_ever(pattern):
        return "a text can take for ever: one stretch of it fits a repetition in several ways"
    return "the pattern needs a group: (...) around what is wanted" if compiled.groups < groups else None


def _pattern_faults(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    fault = pattern_fault(text, schema.get("groups", 0))
    if fault is None and schema.get("part") and re.compile(text).groups:
        fault = "it is part of another pattern, so groups are written (?:...)"
    yield from [fault] if fault else []


_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?")


def _literal_faults(text: str, _: Mapping[str, Any]) -> Iterator[str]:
    """What is meant to be filled in stays as it is here."""
    with suppress(TemplateError):
        if _VARIABLE.fullmatch(text):
            yield f"{text!r} is sent as it stands: no variable of the environment is put in here"
        elif any(expression_fault(each) is None for each in expressions_in_text(text)):
            yield f"{text!r} is sent as it stands: no value is put into braces here"


_FORMS: dict[str, Callable[[str, Mapping[str, Any]], Iterator[str]]] = {
    "jmespath": _schema_expression_faults,
    "template": _template_faults,
    "value": _template_faults,
    "regex": _pattern_faults,
    "literal": _literal_faults,
}


# Whether the keys of a table go together, by the rules that stand beside its shape, and by what it names.


def together_findings(place: ShapePlace) -> Findings:
    if isinstance(place.value, dict):
        shapes = [str(place.schema.get("title"))]
        if BY_ENTRY in place.schema:
            registry, key, shared = place.schema[BY_ENTRY]
            name = place.value.get(key)
            if name not in REGISTRIES[registry]:
                return
            shapes.append(own_shape(registry, name).__name__)
            yield from _of_entry(place, key, {*shared}, own_keys(registry, name))
        for rule in (rule for shape in shapes for rule in RULES.get(shape, ()) if rule.having in place.value):
            yield from (Finding((*place.path, key), text) for key, text in _broken_rules(rule, place.value))


def _of_entry(place: ShapePlace, named_by: str, shared: set[str], own: Mapping[str, bool]) -> Findings:
    """The keys that its entry of a registry does not read, and those that it cannot do without."""
    what = f"{named_by} {place.value[named_by]!r}"
    for key in place.value:
        if key not in own and key not in shared:
            yield Finding((*place.path, key), f"not a key of {what}{did_you_mean(key, own)}")
    for key in own:
        if own[key] and key not in shared and key not in place.value:
            yield Finding(place.path, f"{what} needs {key!r}")


def _broken_rules(rule: KeyRule, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    key = rule.having
    if rule.values and table[key] not in rule.values:
        return
    named = f"{key} = {_shown_value(table[key])}" if rule.values else key
    for other in rule.without:
        if other in table:
            yield other, f"cannot stand beside {named}"
    if rule.needs and not any(other in table for other in rule.needs):
        needed = f"needs {' or '.join(map(repr, rule.needs))} beside it"
        yield key, f"{named} {needed}" if rule.values else needed


def _shown_value(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
