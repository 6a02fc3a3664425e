"""Where the rules of a run come from: the file of the machine, the site, the environment; and how they are written."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

from ..errors import NotAllowed, UsageError, closest_names, did_you_mean, slip_of
from ..files import open_regular
from ..language.http_methods import METHODS
from ..language.safety import Safety
from ..patterns import lazy_pattern
from .policy import (
    CLASSES,
    DECISIONS,
    Decision,
    Policy,
    PolicyRule,
    PolicySource,
    class_rules,
    covers_rule,
    is_within,
    may_fit_template,
    read_only,
)

# A policy as it is written, in a file or on one line, as a source of rules.

READ_ONLY = "read-only"
RULES = "rule"
PROGRAM = "program"
_OTHERS = 'a rule about another program says so: program = "NAME"'
_PATTERNS = ("operation", "class", "method", "path", "site")
_METHOD = lazy_pattern(r"[A-Za-z]+")
_WORDS = lazy_pattern(r"\([\w-]+(\|[\w-]+)+\)")  # a pattern that is nothing but the words it fits
_INSTANCES = ("", "A", "1", "A1")  # what a wildcard may stand for
_NEVER_IN_PATHS = lazy_pattern(r"[{}?#\s]")
_PATH_WILDCARDS = "* stands for one segment or a part of it, ** for any number"
_SHORT = lazy_pattern(r"[\w.*-]+(=\w+)?([,\s]+[\w.*-]+(=\w+)?)*")


class DocumentedRequest(NamedTuple):
    """What an operation sends on one deployment: its method, its path with {placeholders}, and its class."""

    operation: str
    method: str
    path: str
    safety: Safety


class KnownNames(Protocol):
    """What rules may mention: documented operations, and kinds of things that requests name (projects, say)."""

    @property
    def program(self) -> str:
        """Whose definitions these are. Rules that name other programs say nothing here."""
        ...

    def operation_id(self, name: str) -> str | None:
        """The id of the operation of this name or alias."""
        ...

    def operations(self) -> Collection[str]: ...
    def requests(self) -> Iterable[DocumentedRequest]:
        """Those of all operations, on each deployment."""
        ...

    def kinds(self) -> Mapping[str, Collection[str]]:
        """Kinds of things, each with the patterns whose first group is the name of one."""
        ...

    def programs(self) -> Collection[str]:
        """The programs that are here."""
        ...


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
    classes = {each: _read_decision(table[each], f"{name}: {each}") for each in CLASSES if each in table}
    written = table.get(RULES, [])
    if not isinstance(written, list) or not all(isinstance(each, Mapping) for each in written):
        raise UsageError(f"{name}: {RULES}: expected tables, each begun with [[{RULES}]]")
    here = [(place, each) for place, each in enumerate(written, 1) if _is_for(names, each, f"{name}: {RULES} {place}")]
    rules = (*(_read_rule(each, place, name, names) for place, each in here), *class_rules(classes))
    _refuse_unreached(rules, name)
    return PolicySource(name, rules)


def _is_for(names: KnownNames, table: Mapping[str, Any], where: str) -> bool:
    """A program that is not here may be on another machine that has the same policy; a misspelt one is on none."""
    if PROGRAM not in table:
        return True
    programs = _read_texts(table[PROGRAM], f"{where}: {PROGRAM}")
    known = {names.program} if set(programs) == {names.program} else {names.program, *names.programs()}
    for each in programs:
        if each not in known and (meant := slip_of(each, sorted(known))):
            raise UsageError(f"{where}: {PROGRAM}: no program {each!r}, did you mean {meant!r}?")
    return names.program in programs


def _refuse_unreached(rules: Sequence[PolicyRule], name: str) -> None:
    for place, later in enumerate(rules):
        for first in rules[:place]:
            if first.decision != later.decision and covers_rule(first, later):
                text = f"{name}: {later.text} is never reached: {first.text} stands before it and fits all that it fits"
                raise UsageError(text, hint="the first rule that fits decides: put the more special one before")


def _read_rule(table: Mapping[str, Any], place: int, name: str, names: KnownNames) -> PolicyRule:
    where = f"{name}: {RULES} {place}"
    kinds = names.kinds()
    known = ("decision", "reason", PROGRAM, *_PATTERNS, *kinds)
    for key in table:
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}{did_you_mean(key, known)}", hint=_OTHERS)
    if "decision" not in table:
        raise UsageError(f"{where}: decision is missing: one of {', '.join(DECISIONS)}")
    decision = _read_decision(table["decision"], f"{where}: decision")
    reason = table.get("reason", "")
    if not isinstance(reason, str):
        raise UsageError(f"{where}: reason: expected a text")
    given = {key: _read_texts(table[key], f"{where}: {key}") for key in (*_PATTERNS, *kinds) if key in table}
    said = ", ".join(f"{key} {' or '.join(values)}" for key, values in given.items())
    for kind in kinds:
        _refuse_impossible_names(given.get(kind, ()), kinds[kind], f"{where}: {kind}")
    rule = PolicyRule(
        decision,
        f"rule {place} ({said or 'everything'}: {decision})",
        reason,
        _read_classes(given.get("class"), where),
        _read_operations(given.get("operation"), where, names),
        _read_methods(given.get("method"), where),
        _read_paths(given.get("path"), where, names),
        given.get("site"),
        {kind: given[kind] for kind in kinds if kind in given},
    )
    if rule.operations is not None:
        _refuse_impossible_requests(rule, where, names)
    return rule


def _refuse_impossible_requests(rule: PolicyRule, where: str, names: KnownNames) -> None:
    """Its operations have the class, the method and the path that it names; one that has them is enough."""
    operations, paths = rule.operations or (), rule.paths
    if not (rule.safety or rule.methods or paths) or not all(text.strip("*") for text in operations):
        return
    found = [each for each in names.requests() if any(is_within(each.operation, one) for one in operations)]
    whose = repr(operations[0]) if len(operations) == 1 else f"none of {', '.join(operations)}"
    said: tuple[tuple[str, Collection[str] | None, Callable[[str, str], bool]], ...] = (
        ("safety", rule.safety, str.__eq__),
        ("method", rule.methods, str.__eq__),
        ("path", paths, lambda has, wanted: may_fit_template(wanted, has)),
    )
    for key, wanted, fits in said:
        there = sorted({str(getattr(each, key)) for each in found})
        found = [each for each in found if wanted is None or any(fits(getattr(each, key), one) for one in wanted)]
        if wanted is not None and there and not found:
            called = "class" if key == "safety" else key
            never = "has" if len(operations) > 1 else "never has"
            text = f"{whose} {never} the {called} {' or '.join(sorted(wanted))}, but {' or '.join(there[:3])}"
            raise UsageError(f"{where}: {text}")


def _read_decision(value: Any, where: str) -> Decision:
    if value not in DECISIONS:
        near = did_you_mean(str(value), DECISIONS)
        raise UsageError(f"{where}: expected one of {', '.join(DECISIONS)}, not {value!r}{near}")
    return cast("Decision", value)


def _read_texts(value: Any, where: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str) and each for each in values):
        raise UsageError(f"{where}: expected a text or a list of texts")
    return tuple(values)


def _read_classes(values: tuple[str, ...] | None, where: str) -> frozenset[str] | None:
    for each in values or ():
        if each not in CLASSES:
            raise UsageError(
                f"{where}: class: {each!r} is not one of {', '.join(CLASSES)}{did_you_mean(each, CLASSES)}"
            )
    return frozenset(values) if values else None


def _read_operations(values: tuple[str, ...] | None, where: str, names: KnownNames) -> tuple[str, ...] | None:
    """A rule for an operation that does not exist would protect nothing, and nobody would notice."""
    return tuple(_known_operations(values, where, names)) if values else None


def _known_operations(values: tuple[str, ...], where: str, names: KnownNames) -> Iterator[str]:
    for each in values:
        found = each if _fits_operations(each, names) else names.operation_id(each)
        if found is None:
            plain = each.replace(".*", "*")
            near = [plain] if _fits_operations(plain, names) else closest_names(each, names.operations())
            meant = f", did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{where}: unknown operation {each!r}{meant}", hint=None if near else _OTHERS)
        yield found


def _fits_operations(text: str, names: KnownNames) -> bool:
    """Whether a text with `*` fits an operation, or there are none."""
    known = names.operations() if text.strip("*") else ()
    return "*" in text and (not known or any(is_within(each, text) for each in known))


def _refuse_impossible_names(values: tuple[str, ...], patterns: Collection[str], where: str) -> None:
    """A name that no request can have protects nothing: `demo project` where names are letters."""
    words = (
        [word for text in patterns for word in text[1:-1].split("|")] if all(map(_WORDS.fullmatch, patterns)) else []
    )
    for value in values:
        tried = words or [value.replace("*", letters) for letters in _INSTANCES]
        found = {
            (each, match[1])
            for each in tried
            for text in patterns
            if (match := re.fullmatch(text, each, re.IGNORECASE)) and match[1] is not None
        }
        if any(is_within(named, value) for _, named in found) or ("*" in value and not found):
            continue
        meant = min((named for _, named in found), key=len, default="") if not words else ""
        near = f", did you mean {meant!r}?" if meant else did_you_mean(value, words)
        known = f" (known: {', '.join(words)})" if words and not near else ""
        raise UsageError(f"{where}: {value!r} is the name of none{near}{known}")


def _read_methods(values: tuple[str, ...] | None, where: str) -> frozenset[str] | None:
    for each in values or ():
        if not _METHOD.fullmatch(each):
            raise UsageError(f"{where}: method: {each!r} is not a method such as DELETE")
        if each.upper() not in METHODS and (meant := slip_of(each, METHODS)):
            raise UsageError(f"{where}: method: no method {each!r}, did you mean {meant!r}?")
    return frozenset(each.upper() for each in values) if values else None


def _read_paths(values: tuple[str, ...] | None, where: str, names: KnownNames) -> tuple[str, ...] | None:
    documented = frozenset(each.path for each in names.requests()) if values else frozenset[str]()
    for each in values or ():
        if not each.startswith("/"):
            raise UsageError(f"{where}: path: {each!r} does not start with a slash")
        if sign := _NEVER_IN_PATHS.search(each):
            raise UsageError(f"{where}: path: no path of a request has {sign[0]!r}", hint=_PATH_WILDCARDS)
        if meant := _meant_path(each, documented):
            raise UsageError(f"{where}: path: no operation has a path like {each!r}, did you mean {meant!r}?")
    return values


def _meant_path(path: str, documented: Collection[str]) -> str | None:
    """A documented path with one segment spelled otherwise. Any other may be of a request that is not documented."""
    if any(may_fit_template(path, each, within=True) for each in documented):
        return None
    segments = path.split("/")
    words = {word for each in documented for word in each.split("/") if "{" not in word}
    for place, segment in enumerate(segments):
        for near in closest_names(segment, words, 3, 0.75) if segment.strip("*") else ():
            meant = "/".join([*segments[:place], near, *segments[place + 1 :]])
            if any(may_fit_template(meant, each, within=True) for each in documented):
                return meant
    return None


# The policy of a machine: a file that only its administrator can write, so that nobody else loosens it.

FILE = "policy.toml"
_DIRECTORY = "/etc/callsheet"
_COMMON_APPLICATION_DATA = 0x23  # CSIDL_COMMON_APPDATA; the variable that names it can be set by anybody
_ADMINISTRATORS = frozenset({"S-1-5-18", "S-1-5-32-544"})  # the system itself, and the group of administrators


def system_file() -> str:
    """Where the file lies on this platform. No variable of the environment has a say in it."""
    if sys.platform == "win32":
        import ctypes

        buffer = ctypes.create_unicode_buffer(260)
        ctypes.windll.shell32.SHGetFolderPathW(None, _COMMON_APPLICATION_DATA, None, 0, buffer)
        return os.path.join(buffer.value or "C:\\ProgramData", "callsheet", FILE)
    return f"{_DIRECTORY}/{FILE}"


def read_system_file(path: str) -> str:
    """Its text. Raises `NotAllowed` where it cannot be read: what it forbids is not known then."""
    try:
        with open_regular(path) as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotAllowed(f"the policy {path} is not UTF-8: byte {error.start}", hint="nothing was sent") from None
    except OSError as error:
        raise NotAllowed(f"the policy {path} cannot be read: {error.strerror}", hint="nothing was sent") from None


def why_not_administrators(path: str) -> str | None:
    """Why the file may be the work of somebody else than the administrator; None where it cannot."""
    if sys.platform == "win32":
        return None if _owner_on_windows(path) in _ADMINISTRATORS else f"{path} does not belong to an administrator"
    for start in dict.fromkeys((path, os.path.realpath(path))):
        each = start
        while True:
            status = os.lstat(each)
            if status.st_uid != 0:
                return f"{each} does not belong to root"
            others = stat.S_IWOTH if status.st_gid == 0 else stat.S_IWGRP | stat.S_IWOTH
            if not stat.S_ISLNK(status.st_mode) and status.st_mode & others:
                return f"{each} can be changed by others than root"
            above = os.path.dirname(each)
            if above == each:
                break
            each = above
    return None


def _owner_on_windows(path: str) -> str:
    """The owner's identifier on Windows, or nothing where it cannot be found out."""
    found = ""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        advapi, kernel = ctypes.windll.advapi32, ctypes.windll.kernel32
        owner, descriptor, text = ctypes.c_void_p(), ctypes.c_void_p(), wintypes.LPWSTR()
        where = ctypes.byref(owner), None, None, None, ctypes.byref(descriptor)
        if advapi.GetNamedSecurityInfoW(path, 1, 1, *where) == 0:  # SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION
            if advapi.ConvertSidToStringSidW(owner, ctypes.byref(text)):
                found = text.value or ""
                kernel.LocalFree(ctypes.cast(text, ctypes.c_void_p))
            kernel.LocalFree(descriptor)
    return found


# The policy that holds for a run, from the machine, the site and the environment.

LARGEST = 1 << 20  # bytes


def load_policy(
    variable: str,
    environ: Mapping[str, str],
    names: KnownNames,
    *,
    own: Iterable[PolicySource] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> Policy:
    """The machine's file, `own` sources such as those of the site, and what `variable` of the environment says.

    Raises `UsageError` for a policy that is not understood and `NotAllowed` for one that cannot be read: what it
    forbids is not known then. `warn` is told of a file of the machine that is ignored.
    """
    sources = [*_of_machine(names, warn), *own]
    if given := environ.get(variable, "").strip():
        sources.append(from_variable(given, variable, names))
    return Policy(sources)


def _of_machine(names: KnownNames, warn: Callable[[str], None]) -> list[PolicySource]:
    path = system_file()
    if not os.path.lexists(path):
        return []
    try:
        doubt = why_not_administrators(path)
    except OSError as error:
        raise NotAllowed(f"the policy {path} cannot be read: {error.strerror}", hint="nothing was sent") from None
    if doubt is not None:
        warn(f"the policy {path} is ignored: {doubt}")
        return []
    return [from_text(read_system_file(path), path, names)._replace(strict=True)]


def from_variable(text: str, variable: str, names: KnownNames) -> PolicySource:
    """A policy on one line, TOML, or the path of a file."""
    if is_short(text):
        return from_short(text, variable, names)
    if "\n" in text or "=" in text:
        return from_text(text, variable, names)
    return from_text(_read_policy_file(text, variable), f"{text} ({variable})", names)


def of_site(name: str, settings: Mapping[str, Any], names: KnownNames) -> list[PolicySource]:
    """What a site's own settings allow: `policy`, a text on one line or a table, and `read_only`."""
    sources = [read_only(f"the settings of site {name!r}", "read_only = true")] if settings.get("read_only") else []
    if written := settings.get("policy"):
        read = from_short if isinstance(written, str) else from_table
        sources.append(read(written, f"the policy of site {name!r}", names))
    return sources


def _read_policy_file(path: str, variable: str) -> str:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        hint = f"expected a file, or something like {variable}=read-only or {variable}=destroy=deny,write=ask"
        raise UsageError(f"{variable}: cannot read {path}: {problem}", hint=hint) from None
    if len(content) > LARGEST:
        raise UsageError(f"{variable}: {path} is larger than {LARGEST >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{variable}: {path} is not UTF-8: byte {error.start}") from None
