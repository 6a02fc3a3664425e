"""A policy as it is written, in a file or on one line, as a source of rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, cast

from ..errors import UsageError, closest_names, did_you_mean
from ..patterns import lazy_pattern
from .policy import PolicySource, class_rules, read_only
from .rule import CLASSES, DECISIONS, Decision, PolicyRule

READ_ONLY = "read-only"
RULES = "rule"
PROGRAM = "program"
_OTHERS = 'a rule about another program says so: program = "NAME"'
_PATTERNS = ("operation", "class", "method", "path", "site")
_METHOD = lazy_pattern(r"[A-Za-z]+")
_SHORT = lazy_pattern(r"[\w.*-]+(=\w+)?([,\s]+[\w.*-]+(=\w+)?)*")


class KnownNames(Protocol):
    """What rules may mention: documented operations, and kinds of things that requests name (projects, say)."""

    @property
    def program(self) -> str:
        """Whose definitions these are. Rules that name other programs say nothing here."""
        ...

    def operation(self, name: str) -> str | None:
        """The id of the operation of this name or alias."""
        ...

    def operations(self) -> Collection[str]: ...
    def kinds(self) -> Collection[str]: ...


def is_short(text: str) -> bool:
    """Whether a text is a policy on one line, such as `read-only` or `destroy=deny,write=ask`, and not a file."""
    plain = text.strip()
    return bool(_SHORT.fullmatch(plain)) and ("=" in plain or any(map(_is_near_read_only, re.split(r"[,\s]+", plain))))


def _is_near_read_only(text: str) -> bool:
    return text.lower().replace("_", "-") == READ_ONLY


def from_short(text: str, name: str, names: KnownNames) -> PolicySource:
    """`read-only`, or `WHAT=DECISION` with commas between; WHAT is a class or an operation. Raises `UsageError`."""
    classes: dict[str, Any] = {}
    rules: list[dict[str, Any]] = []
    for part in re.split(r"[,\s]+", text.strip(" \t\r\n,")):
        what, equals, decision = part.partition("=")
        if not equals and _is_near_read_only(part):
            classes.update(dict.fromkeys(CLASSES[1:], "deny"))
        elif not equals:
            raise UsageError(
                f"{name}: {part!r} is not {READ_ONLY}, and not WHAT=DECISION{did_you_mean(part, [READ_ONLY])}"
            )
        elif what in CLASSES:
            classes[what] = decision
        else:
            rules.append({"operation": what, "decision": decision})
    if not rules and all(part == READ_ONLY for part in re.split(r"[,\s]+", text.strip())):
        return read_only(name)
    return from_table({**classes, RULES: rules}, name, names)


def from_text(text: str, name: str, names: KnownNames) -> PolicySource:
    """TOML. Raises `UsageError`."""
    import tomllib

    try:
        return from_table(tomllib.loads(text), name, names)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: not TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply") from None


def from_table(table: Mapping[str, Any], name: str, names: KnownNames) -> PolicySource:
    """`read`, `write` and `destroy` with a decision each, and a list of tables `rule`. Raises `UsageError`."""
    for key in table:
        if key not in (*CLASSES, RULES):
            raise UsageError(f"{name}: unknown key {key!r}{did_you_mean(key, (*CLASSES, RULES))}")
    classes = {each: _decision(table[each], f"{name}: {each}") for each in CLASSES if each in table}
    written = table.get(RULES, [])
    if not isinstance(written, list) or not all(isinstance(each, Mapping) for each in written):
        raise UsageError(f"{name}: {RULES}: expected tables, each begun with [[{RULES}]]")
    here = [
        (place, each)
        for place, each in enumerate(written, 1)
        if _is_for(names.program, each, f"{name}: {RULES} {place}")
    ]
    rules = [_rule(each, place, name, names) for place, each in here]
    return PolicySource(name, (*rules, *class_rules(classes)))


def _is_for(program: str, table: Mapping[str, Any], where: str) -> bool:
    return PROGRAM not in table or program in _texts(table[PROGRAM], f"{where}: {PROGRAM}")


def _rule(table: Mapping[str, Any], place: int, name: str, names: KnownNames) -> PolicyRule:
    where = f"{name}: {RULES} {place}"
    kinds = list(names.kinds())
    known = ("decision", "reason", PROGRAM, *_PATTERNS, *kinds)
    for key in table:
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}{did_you_mean(key, known)}", hint=_OTHERS)
    if "decision" not in table:
        raise UsageError(f"{where}: decision is missing: one of {', '.join(DECISIONS)}")
    decision = _decision(table["decision"], f"{where}: decision")
    reason = table.get("reason", "")
    if not isinstance(reason, str):
        raise UsageError(f"{where}: reason: expected a text")
    given = {key: _texts(table[key], f"{where}: {key}") for key in (*_PATTERNS, *kinds) if key in table}
    said = ", ".join(f"{key} {' or '.join(values)}" for key, values in given.items())
    return PolicyRule(
        decision,
        f"rule {place} ({said or 'everything'}: {decision})",
        reason,
        _classes(given.get("class"), where),
        _operations(given.get("operation"), where, names),
        _methods(given.get("method"), where),
        _paths(given.get("path"), where),
        given.get("site"),
        {kind: given[kind] for kind in kinds if kind in given},
    )


def _decision(value: Any, where: str) -> Decision:
    if value not in DECISIONS:
        near = did_you_mean(str(value), DECISIONS)
        raise UsageError(f"{where}: expected one of {', '.join(DECISIONS)}, not {value!r}{near}")
    return cast("Decision", value)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str) and each for each in values):
        raise UsageError(f"{where}: expected a text or a list of texts")
    return tuple(values)


def _classes(values: tuple[str, ...] | None, where: str) -> frozenset[str] | None:
    for each in values or ():
        if each not in CLASSES:
            raise UsageError(
                f"{where}: class: {each!r} is not one of {', '.join(CLASSES)}{did_you_mean(each, CLASSES)}"
            )
    return frozenset(values) if values else None


def _operations(values: tuple[str, ...] | None, where: str, names: KnownNames) -> tuple[str, ...] | None:
    """A rule for an operation that does not exist would protect nothing, and nobody would notice."""
    return tuple(_known_operations(values, where, names)) if values else None


def _known_operations(values: tuple[str, ...], where: str, names: KnownNames) -> Iterator[str]:
    for each in values:
        found = each if "*" in each else names.operation(each)
        if found is None:
            near = closest_names(each, names.operations())
            meant = f", did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{where}: unknown operation {each!r}{meant}", hint=None if near else _OTHERS)
        yield found


def _methods(values: tuple[str, ...] | None, where: str) -> frozenset[str] | None:
    for each in values or ():
        if not _METHOD.fullmatch(each):
            raise UsageError(f"{where}: method: {each!r} is not a method such as DELETE")
    return frozenset(each.upper() for each in values) if values else None


def _paths(values: tuple[str, ...] | None, where: str) -> tuple[str, ...] | None:
    for each in values or ():
        if not each.startswith("/"):
            raise UsageError(f"{where}: path: {each!r} does not start with a slash")
    return values
