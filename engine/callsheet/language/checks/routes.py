"""Whether routes are reached, match anything, and hand on what events have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from ...durations import duration_seconds
from ...errors import did_you_mean, slip_of
from ...registry import REGISTRIES, resolve_entry
from ..conditions import (
    compared_paths,
    comparison_faults,
    conditions_joined,
    never_holds,
)
from ..problem import Finding, Findings
from ..scopes import names_in, paths_in, plain_paths, root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, evaluate, fill_template, is_true
from ..value_kinds import type_faults, types_of_samples
from ..value_shapes import ValueShape, missed_members, shape_of
from .listener import is_pattern, media_type_faults, type_of_event
from .references import expression_fault, path_fault
from .value_uses import expressions_of

# Whether a route is reached, and whether what it says can be so.


_FEW = 3  # types that a message names
# A source whose types are only known by a pattern takes every word.
_OWN_TYPE = " (a type that is spelt like this needs an [event.<id>] of its own)"


def route_findings(definitions: Definitions, route: Definition) -> Findings:
    sources = route.table.get("source")
    events = [each for each in definitions.of_kind("event") if sources is None or each.table["source"] in sources]
    types, type_of = [*map(type_of_event, events)], {event.id: type_of_event(event) for event in events}
    for place, word in enumerate(route.table.get("on", ())):
        named = [name for name in types if not is_pattern(name)]
        if types and not any(_may_mean_type(word, name) for name in types):
            if _NO_TYPE.search(word) or ".*" in word:
                continue  # that is said below
            what = "no event matches" if is_pattern(word) else "unknown event type"
            yield Finding(("on", place), f"{what} {word!r}{did_you_mean(word, named)}")
        elif word not in types and word in type_of:
            yield Finding(("on", place), f"{word!r} is the id of an event: its type is {type_of[word]!r}")
        elif not is_pattern(word) and word not in named and (meant := slip_of(word, named)):
            yield Finding(("on", place), f"unknown event type {word!r}, did you mean {meant!r}?{_OWN_TYPE}")
        elif word.partition(".")[0] in named and word not in named and not any("." in name for name in named):
            text = f"unknown event type {word!r}: the type is {word.partition('.')[0]!r}, and `when` can ask for more"
            yield Finding(("on", place), text)
    if "when" in route.table:
        yield from (Finding(("when",), text) for text in comparison_faults(route.table["when"]))
        wanted = [value for path, value in compared_paths(route.table["when"]) if path == "source"]
        if sources and wanted and not {*sources} & {*wanted}:
            yield Finding(("when",), f"source is {' or '.join(sources)} here, and never {wanted[0]!r}")
        yield from _type_findings(route.table, events)
    taken = [event for event in events if _takes(route.table, event)]
    if not any(event.files[-1].shipped for event in taken):
        yield from _sample_findings(definitions, route, taken)
    yield from _envelope_findings(definitions, route.table)
    if route.table.get("order") in ("id", "headers", "payload"):
        yield Finding(("order",), f"{route.table['order']} is another for each event: name what they share")
    for place, word in enumerate(route.table.get("on", ())):
        is_expression = ".*" in word and not any(_may_mean_type(word, name) for name in types)
        if (is_expression or _NO_TYPE.search(word)) and word not in types:
            yield Finding(
                ("on", place), f"{word!r}: only *, ? and [...] are signs of a pattern; name each type by itself"
            )
    names: set[str] = set()
    for place, table in enumerate(route.table["do"]):
        name = table.get("name", str(place + 1))
        if name in names:
            text = f"{name!r} is the name of an earlier one"
            yield Finding(("do", place, *(["name"] if "name" in table else [])), text)
        names.add(name)
        yield from (Finding(("do", place, *path), text) for path, text in _handler_faults(table))
        hidden = _variables_with_secrets(definitions)
        for name in sorted(_variables_read(table) & hidden - {*table.get("secrets", ())}):
            yield Finding(("do", place, "run"), f"no program sees {name}, a secret, unless `secrets` names it")
        for number, name in enumerate(table.get("secrets", ())):
            if ("source", name) in definitions:
                text = f"{name!r} is a source: name the variable that holds its secret"
                yield Finding(("do", place, "secrets", number), text)
            elif name not in hidden and (near := did_you_mean(name, hidden)):
                yield Finding(("do", place, "secrets", number), f"no source has a secret in {name!r}{near}")
        longest = _longest_wait(definitions, table)
        if "backoff" in table and longest and duration_seconds(table["backoff"]) > duration_seconds(longest):
            yield Finding(("do", place, "backoff"), f"is longer than backoff_max, {longest}")
        pause = table.get("circuit", {}).get("pause") if isinstance(table.get("circuit"), dict) else None
        if pause and "give_up_after" in table and duration_seconds(pause) >= duration_seconds(table["give_up_after"]):
            yield Finding(("do", place, "circuit", "pause"), f"is longer than an event waits: {table['give_up_after']}")
        if {"backoff", "give_up_after"} <= table.keys() and (
            duration_seconds(table["backoff"]) >= duration_seconds(table["give_up_after"])
        ):
            yield Finding(("do", place, "give_up_after"), "is over before the first repetition: see 'backoff'")
    yield from _result_findings(route.table)


def _envelope_findings(definitions: Definitions, route: Mapping[str, Any]) -> Findings:
    """An envelope that needs the id of an event, for sources that say none."""
    tables = [definitions.get(("source", id)) for id in route.get("source", ())]
    for place, table in enumerate(route["do"]):
        envelope = definitions.get(("envelope", table.get("envelope", "")))
        needed = conditions_joined(envelope.table.get("requires", "")) if envelope is not None else ()
        for key in ("id", "time"):
            name = "event_time" if key == "time" else key
            if name in needed and tables and all(each and key not in each.table for each in tables):
                text = f"needs the {key} of an event, and source {route['source'][0]!r} has no `{key}`"
                yield Finding(("do", place, "envelope"), text)


def _takes(route: Mapping[str, Any], event: Definition) -> bool:
    """Whether events of the type come here, whatever the condition says; those of a pattern may."""
    return any(_may_mean_type(word, type_of_event(event)) for word in route.get("on", ["*"]))


def _sample_findings(definitions: Definitions, route: Definition, events: Sequence[Definition]) -> Findings:
    """What is read of an event that its sample has elsewhere, or as something else. A shipped one may not say all."""
    sources = [definitions.get(("source", id)) for id in {event.table["source"]: None for event in events}]
    tables = [source.table for source in sources if source is not None]
    samples = [event.table["sample"] for event in events if event.table.get("sample")]
    types = types_of_samples(samples, "body") if len(samples) == len(events) else {}
    lists = {table["events"] for table in tables if "events" in table}
    scope = _shapes_of_samples(tables, samples) if types else {}
    for place, handler in enumerate(route.table["do"]) if types else ():
        envelope = definitions.get(("envelope", handler.get("envelope", "")))
        needed = envelope.table.get("requires", "") if envelope is not None else ""
        if needed and {*root_names(needed)} == {"body"} and not any(_is_met(needed, each) for each in samples):
            yield Finding(("do", place, "envelope"), f"is sent for no event: it requires {needed}, which no sample has")
    for path, expression in expressions_of(route):
        if expression_fault(expression):
            continue
        forms = dict.fromkeys(_fields_of_forms(tables, expression), "string")
        yield from (Finding(path, text) for text in type_faults(expression, {**types, **forms}))
        for missed in missed_members(expression, scope) if scope else ():
            if (missed.there.kind == "object" or missed.said) and missed.text:  # anything else is of another type
                yield Finding(path, f"in the samples {missed.text}")
        for first, *rest in plain_paths(expression):
            whole = ".".join((first, *rest))
            if len(tables) == len(lists) == 1 and f"{whole}.".startswith(f"{min(lists)}."):
                yield Finding(path, f"reads {min(lists)}, and `payload` is one event of that list here")
            elif first == "body" and rest and types and not any(rest[0] in sample for sample in samples):
                inside = ".".join(("body", *rest[1:]))
                around = any(isinstance(each.get("sample"), dict) and rest[0] in each["sample"] for each in tables)
                if rest[1:] and inside in types:
                    yield Finding(path, f"{whole}: `body` is that already in the samples: write {inside}")
                elif around and lists:
                    yield Finding(path, f"{whole}: stands beside the list of events, and `body` is of one of them")


def _is_met(condition: str, body: Any) -> bool:
    try:
        return is_true(evaluate(condition, {"body": body}))
    except TemplateError:
        return True  # that is told of the envelope


def _shapes_of_samples(sources: Sequence[Mapping[str, Any]], samples: Sequence[Any]) -> dict[str, ValueShape]:
    """What `body` has, and `payload` where the sample of the only source says where in it that stands."""
    shape = shape_of(samples)
    found = {"body": shape}
    around = sources[0].get("sample") if len(sources) == 1 else None
    if isinstance(around, dict) and "{body}" in around.values() and "events" not in sources[0]:
        found["payload"] = shape_of([around])
        found["payload"].members |= {name: shape for name, value in around.items() if value == "{body}"}
    return found


def _fields_of_forms(sources: Sequence[Mapping[str, Any]], expression: str) -> Iterator[str]:
    """The fields of forms that an expression compares: texts, whatever stands in them."""
    are_forms = [each.get("content") == "form" and "form_field" not in each for each in sources]
    if are_forms and all(are_forms) and all(each.get("body", "payload") == "payload" for each in sources):
        yield from (path for path, _ in compared_paths(expression) if path.startswith("body."))


def _type_findings(route: Mapping[str, Any], events: Sequence[Definition]) -> Findings:
    """What `event_type` is compared with, and what no event is that comes here."""
    types = [*map(type_of_event, events)]
    chosen = route.get("on", ["*"])
    there = [type_of_event(event) for event in events if _takes(route, event)]
    told = False
    for path, value in compared_paths(route["when"], only_equal=True):
        if path == "event_type" and isinstance(value, str):
            told = True
            if not any(fnmatchcase(value, word) for word in chosen):
                yield Finding(("when",), f"event_type is {' or '.join(chosen)} here, and never {value!r}")
            elif types and not any(fnmatchcase(value, name) for name in types):
                named = [name for name in types if not is_pattern(name)]
                yield Finding(("when",), f"event_type is never {value!r}{did_you_mean(value, named)}")
    if not told and not any(map(is_pattern, there)) and never_holds(route["when"], "event_type", there):
        yield Finding(("when",), f"is never true: event_type is {' or '.join(there[:_FEW])} here")


_NO_TYPE = re.compile(r"[\\|(){}^$%,]|^!|^/.*/$")
_SCRIPT_OPTIONS = ("-c", "-e", "--eval", "-Command", "/c", "/C")
_INTERPRETERS = re.compile(
    r"(?:.*[/\\])?(?:(?:ba|da|k|z|fi)?sh|python[\d.]*|node|perl|ruby|php|pwsh|powershell|cmd)(?:\.exe)?"
)
_OF_SHELLS = ("||", "&&", ">>", "2>&1")
_VARIABLE_OF_A_SCRIPT = re.compile(r"\$\{?([A-Za-z_]\w*)")
_MAY_BE_ARGUMENTS = ("|", ";", ">", "<", "&")  # of an option, as in `cut -d ";"`


def _handler_faults(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What no shell reads, and what one would run."""
    words = table["run"] if isinstance(table.get("run"), list) else []
    runs_scripts = any(map(_INTERPRETERS.fullmatch, words))
    runs_script = runs_scripts and any(word in _SCRIPT_OPTIONS for word in words)
    for text in comparison_faults(table.get("success", "`null`")):
        yield ("success",), text
    for place, word in enumerate(words):
        if not place and re.match(r"[\w.-]+ ", word):
            yield ("run", place), f"{word!r} is the name of one program: write each argument by itself"
        elif place and runs_scripts and words[place - 1] in _SCRIPT_OPTIONS and any(names_in(word)):
            text = 'a value inside a script is run as part of it: hand it over as a further argument, and read "$1"'
            yield ("run", place), text
        elif word in _OF_SHELLS or (
            place and word in _MAY_BE_ARGUMENTS and not words[place - 1].startswith("-") and words[place + 1 :]
        ):
            yield (
                ("run", place),
                f'{word!r} is an argument here: no shell reads it. run = ["sh", "-c", "..."] starts one',
            )
        elif place == 1 and _INTERPRETERS.fullmatch(words[0]) and " " in word and not word.startswith("-"):
            yield ("run", place), f"{word!r} is the name of a file here: say {_SCRIPT_OPTIONS[0]} before a script"
        elif place > 1 and words[place - 2] == "-c" and _is_lost(words, place):
            yield ("run", place), f"{word!r} is $0 of the script, and no argument: put the name of one before it"
        elif _is_meant_as_variable(word, words, runs_scripts=runs_script):
            yield ("run", place), f"{word!r} stays as it is: no shell reads it; placeholders are {{id}}, {{body.name}}"
    yield from media_type_faults(table)
    for name in table.get("env", ()):
        if name in table.get("secrets", ()):
            yield ("env", name), f"the secret {name} is never seen: this stands in its place"
        elif name in _SET_FOR_PROGRAMS:
            yield ("env", name), f"stands in the place of what the listener says of the event: {name}"
    if (file := re.match(r"(?:.*[/\\])?(\w+)\.py:", str(table.get("call", "")))) is not None:
        yield ("call",), f"starts with the name of a file: a module is named {file[1]}:..."
    for key in ("env", "headers"):
        for name, word in table.get(key, {}).items():
            if _OF_AN_ENVIRONMENT.fullmatch(word) or _VARIABLE.search(word):
                text = "`secrets` names variables that a program gets to see" if key == "env" else "`login` signs in"
                yield (key, name), f"{word!r} stays as it is: no shell reads it; {text}"
            elif name.lower() == "content-type" and "/" not in word and "{" not in word:
                yield (key, name), f"expected a media type: text/csv, not {word!r}"
    if re.search("%-?[YmdHMSjs]", table.get("file", "")):
        yield ("file",), f"{table['file']!r} stays as it is: all lines go into one file of this name"
    if words and (fault := path_fault(words[0])):
        yield ("run",), fault
    if table.get("max_attempts") == 1:
        for key in ("backoff", "backoff_max", "give_up_after"):
            if key in table:
                yield (key,), "is never looked at: there is one attempt"
    if _VARIABLE.search(str(table.get("url", ""))):
        yield ("url",), "$NAME stays as it is: no shell reads it"
    if "#" in str(table.get("url", "")):
        yield ("url",), "what is behind a # is never sent"


_SET_FOR_PROGRAMS = ("EVENT_TYPE", "EVENT_ID", "EVENT_TIME", "EVENT_SOURCE", "EVENT_ATTEMPT")
_SHELLS = re.compile(r"(?:.*[/\\])?(?:(?:ba|da|k|z)?sh)(?:\.exe)?")


def _is_lost(words: Sequence[str], place: int) -> bool:
    """Whether a value is the name of a script that a shell runs, which looks at its arguments alone."""
    is_shell = any(map(_SHELLS.fullmatch, words[: place - 2]))
    return is_shell and any(names_in(words[place])) and "$0" not in words[place - 1]


def _variables_read(table: Mapping[str, Any]) -> set[str]:
    """Those in a script that stands in the words of a program."""
    words = table["run"] if isinstance(table.get("run"), list) else []
    return {name for word in words for name in _VARIABLE_OF_A_SCRIPT.findall(word)}


def _variables_with_secrets(definitions: Definitions) -> set[str]:
    tables: list[Any] = [source.table for source in definitions.of_kind("source")]
    names = set()
    while tables:
        table = tables.pop()
        names |= {table["env"]} if isinstance(table.get("env"), str) else set()
        parts = [part for value in table.values() for part in (value if isinstance(value, list) else [value])]
        tables += [part for part in parts if isinstance(part, dict)]
    return names


def _is_meant_as_variable(word: str, words: Sequence[str], *, runs_scripts: bool) -> bool:
    """Whether a shell would have put something in its place; other programs have signs of their own behind options."""
    if _OPTION_WITH_VARIABLE.fullmatch(word):
        return not runs_scripts
    is_one = _OF_AN_ENVIRONMENT.fullmatch(word) is not None
    return is_one and (word.isupper() or not any(each[:1] == "-" for each in words))


_OF_AN_ENVIRONMENT = re.compile(r"\$\{?[A-Za-z]\w*\}?")
_OPTION_WITH_VARIABLE = re.compile(r"-{0,2}[\w-]+=\$\{?[A-Z]\w*\}?")
_VARIABLE = re.compile(r"\$[A-Z][A-Z\d_]+")


def _result_findings(route: Mapping[str, Any]) -> Findings:
    """Members of `result` that a handler never gives."""
    for place, table in enumerate(route["do"]):
        kind = REGISTRIES["handler"].get(table["handler"])
        members: tuple[str, ...] | None = None if kind is None else cast("Any", resolve_entry(kind)).result_members
        if members is None:
            continue
        success = table.get("success", "`null`")
        yield from (Finding(("do", place, "success"), text) for text in type_faults(success, {"result": "object"}))
        read: dict[Path, list[str]] = {("do", place, "success"): list(map(".".join, plain_paths(success)))}
        if len(route["do"]) == 1:
            read |= {("reply", key): list(paths_in(value)) for key, value in route.get("reply", {}).items()}
            status = str(route.get("reply", {}).get("status", ""))
            if {*paths_in(status)} == {"result.exit_code"} and fill_template(status, {"result": {"exit_code": 0}}) == 0:
                text = (
                    "gives 0 where all is well, which HTTP does not have: {result.exit_code == `0` && `200` || `500`}"
                )
                yield Finding(("reply", "status"), text)
        for path, paths in read.items():
            for name in dict.fromkeys(each.split(".")[1] for each in paths if each.startswith("result.")):
                if name not in members:
                    has = f"has {', '.join(members)}" if members else "has nothing"
                    yield Finding(
                        path, f"result.{name}: what {table['handler']} gives {has}{did_you_mean(name, members)}"
                    )


def _longest_wait(definitions: Definitions, table: Mapping[str, Any]) -> str | None:
    """Between two runs of a target: its own word, else that of whatever listens."""
    common = [listener.table["backoff_max"] for listener in definitions.of_kind("listener")]
    return cast("str | None", table.get("backoff_max", max(common, key=duration_seconds, default=None)))


def _may_mean_type(word: str, name: str) -> bool:
    """Whether a word of a route can mean a defined type; of two patterns that is taken for granted."""
    if is_pattern(name):
        return is_pattern(word) or fnmatchcase(word, name)
    return fnmatchcase(name, word)
