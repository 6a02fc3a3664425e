"""What a command was called with → the names its expressions see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...client.request.schema import members_of_words
from ...errors import UsageError
from ...language.parameters import TAKEN_AWAY, to_identifier
from ...language.queries import EXCEPT
from ...language.template import Scope, fill_text, to_text
from ...registry import SITE_SETTINGS
from ..context import ParameterValues, Typed
from .assign import assigned
from .beside import accompanied, found_beside
from .converters import convert_argument, convert_text, read_text
from .front import front_matter
from .lookup import Lookups, Match
from .mentions import Mentions
from .overlay import Unknown

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ..context import Context


_SEPARATOR = re.compile(r"(?<!\\),")


def scope_of(context: Context, params: list[Param], values: ParameterValues) -> dict[str, Any]:
    """The plain values by name, the same once more under `given`, the site, and the output's format.

    `named` has them as they can be shown; look-ups put the name and the id of what they found in their places.
    """
    plain = {to_identifier(name): None if value == [] else value for name, value in values.items()}
    for param in params:
        if param.get("lines") and values.get(param["name"]):
            plain[to_identifier(param["name"])] = list(dict.fromkeys(_with_lines(context, values[param["name"]])))
        if param.get("split") and to_identifier(param["name"]) in plain:  # a run that is resumed is given nothing
            plain[to_identifier(param["name"])] = _pieces(context, plain[to_identifier(param["name"])])
    site = context.site()
    for param in params:
        if "setting" in param and plain.get(to_identifier(param["name"])) is None:
            plain[to_identifier(param["name"])] = site.setting(param["setting"])
    shown = {name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in plain.items()}
    for param in params:
        if param.get("removes") and (words := plain.get(to_identifier(param["name"]))):
            plain[to_identifier(param["name"])] = _additions_and_removals(context, words, param)
    return {**plain, "given": dict(plain), "named": shown, **of_the_run(context)}


def of_the_run(context: Context) -> dict[str, Any]:
    """What expressions see of the run itself: the site, and the output's format."""
    site = context.site()
    settings = {name: site.setting(name) for name in SITE_SETTINGS}
    about = {"name": site.name, "deployment": site.deployment, "journal": context.journaling.setting, **settings}
    return {"site": about, "output": context.output_format}


def _with_lines(context: Context, words: list[str]) -> Iterator[str]:
    """The words, and in the place of a dash the first word of each line of standard input."""
    for word in words:
        if word == "-" and not context.is_literal(word):
            yield from (line.split()[0] for line in context.lines() if line.strip())
        else:
            yield word


def _pieces(context: Context, given: str | list[str] | None) -> list[str] | None:
    r"""What stands between commas, in any of the words; `\,` is a comma of its own. None where there is nothing."""
    if isinstance(given, list):
        texts = [piece for word in given for piece in ([word] if context.is_literal(word) else _SEPARATOR.split(word))]
    else:
        texts = _SEPARATOR.split(given or "")
    return [text.strip().replace("\\,", ",") for text in texts if text.strip()] or None


def _additions_and_removals(context: Context, words: list[str], param: Param) -> dict[str, list[str] | None]:
    r"""What is to be added, and behind a hyphen what is to be taken away; `\-` is a hyphen of the name's own.

    Raises `UsageError` for a hyphen alone, and for a name that stands on both sides.
    """
    add, remove = [], []
    for word in words:
        if context.is_foreign(word) or not word.startswith((TAKEN_AWAY, f"\\{TAKEN_AWAY}")):
            add.append(word)
        elif word.startswith("\\"):
            add.append(word[1:])
        else:
            remove.append(word[1:])
    if "" in remove:
        raise UsageError(f"{_shown(param)}: - needs the name of what is taken away behind it, as in -NAME")
    if both := [name for name in add if name in remove]:
        raise UsageError(f"{_shown(param)}: {both[0]!r} cannot be added and taken away at once")
    return {"add": add or None, "remove": remove or None}


def convert_values(context: Context, params: list[Param], scope: Scope) -> Mentions:
    """Texts and files into what is sent, in place. Nothing is sent here: who is mentioned is looked up later."""
    mentions = Mentions(context)
    for param in params:
        name = to_identifier(param["name"])
        if "front" in param or "beside" in param:
            _take_text(context, param, name, scope, mentions)
        elif "convert" in param and scope.get(name) is not None:
            converter = _converter(param, scope)
            if isinstance(scope[name], list):
                scope[name] = [convert_argument(context, converter, word, _shown(param)) for word in scope[name]]
            else:
                text = read_text(context, scope[name], _shown(param))
                scope[name] = convert_text(context, converter, text, _shown(param))
                mentions.add(param, name, converter, text)
    return mentions


def _converter(param: Param, scope: Scope) -> str:
    """Its name; the text stays as it is where the definition finds none."""
    return to_text(fill_text(param["convert"], scope)) or "text"


def _take_text(context: Context, param: Param, name: str, scope: Scope, mentions: Mentions) -> None:
    """A text with its front matter and what is beside it under names of their own; it is read once."""
    scope.update(dict.fromkeys(param[key] for key in ("front", "beside") if key in param))
    given = scope.get(name)
    if given is None:
        return
    text = read_text(context, given, _shown(param))
    if "front" in param:
        said, rest = front_matter(text, param.get("front_keys", {}), _shown(param))
        scope[param["front"]] = said or None
        text = Typed(rest) if isinstance(text, Typed) else rest
    if "beside" in param:
        folder = param.get("folder")
        text = accompanied(context, text, given, scope.get(to_identifier(folder)) if folder else None, f"--{folder}")
    converter = _converter(param, scope)
    scope[name] = convert_text(context, converter, text, _shown(param))
    mentions.add(param, name, converter, text)
    if "beside" in param:
        scope[param["beside"]] = found_beside(text)


def resolve_values(lookups: Lookups, params: list[Param], scope: Scope) -> None:
    """People's words into ids, in the order of the parameters: later look-ups see earlier results."""
    for param in params:
        name = to_identifier(param["name"])
        if scope.get(name) is None:
            continue
        if "lookup" in param:
            _resolve(lookups, param, name, scope)
        if "members" in param:
            body = lookups.dispatcher.builder.call(param["members"]).operation.get("body", {})
            scope[name] = members_of_words(
                scope[name], body, lookups.context.catalog, _shown(param), lookups.context.is_foreign
            )
        if "assign" in param:
            scope[name] = assigned(lookups, param["assign"], scope[name], scope, _shown(param))


def _resolve(lookups: Lookups, param: Param, name: str, scope: Scope) -> None:
    words = scope[name]
    find = _find_except if param.get("excludes") else Lookups.find
    found = [find(lookups, param["lookup"], word, scope) for word in (words if isinstance(words, list) else [words])]
    scope[name] = [match.value for match in found] if isinstance(words, list) else found[0].value
    scope["named"] = {**scope["named"], name: ", ".join(match.name for match in found)}


def _find_except(lookups: Lookups, lookup: str, word: str, scope: Scope) -> Match:
    """A word after `not:` is looked up without it, and has it in front again."""
    if not word.startswith(EXCEPT) or lookups.context.is_foreign(word):
        return lookups.find(lookup, word, scope)
    match = lookups.find(lookup, word.removeprefix(EXCEPT), scope)
    value = match.value if isinstance(match.value, Unknown) else f"{EXCEPT}{'' if match.value is None else match.value}"
    return Match(value, f"{EXCEPT}{match.name}", match.item)


def _shown(param: Param) -> str:
    name: str = param["name"]
    return name if param.get("kind") == "argument" else f"--{name}"
