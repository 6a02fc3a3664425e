"""`@[Name]` in Markdown: the person of that name, found as an option finds one, before anything is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...language.template import Scope, fill_text
from ...registry import MARKDOWN
from ..context import Typed
from .beside import Accompanied
from .converters import convert_text
from .overlay import Unknown

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ..context import Context
    from .lookup import Lookups

# Code keeps its signs, an escaped sign is one, and a name with an address behind it is a mention already.
_FENCED = r"^ {0,3}(?P<fence>```+|~~~+).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
_TICKED = r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
_NAMED = r"(?<!\w)@\[(?P<name>[^\[\]\n]+)\](?!\()"
_MENTION = re.compile(rf"{_FENCED}|{_TICKED}|\\.|{_NAMED}", re.DOTALL | re.MULTILINE)


def mentioned(text: str) -> list[str]:
    """The names that a text mentions, each once."""
    return list(dict.fromkeys(match["name"].strip() for match in _MENTION.finditer(text) if match["name"]))


class Mentions:
    """The texts of one command that name people. `find` looks these up, and converts the texts once more."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._texts: list[tuple[Param, str, str, str]] = []  # the parameter, its name in the scope, converter, text

    def add(self, param: Param, name: str, converter: str, text: str) -> None:
        """A stranger's text mentions nobody."""
        if converter in MARKDOWN and not self._context.is_foreign(text) and mentioned(text):
            self._texts.append((param, name, converter, text))

    def find(self, lookups: Lookups, scope: Scope) -> None:
        """Raises `UsageError` where nobody, or several people, are called so."""
        id = self._context.definition.get("mentions") if self._texts else None
        if id is None:
            return
        template = lookups.definition(id).get("mention", "")
        for param, name, converter, text in self._texts:
            written: dict[str, str] = {}
            for word in mentioned(text):
                value = lookups.find(id, word, scope).value
                if value is not None and not isinstance(value, Unknown):
                    written[word] = str(fill_text(template, {"value": value, "name": word}))
            result = _replaced(text, written)
            scope[name] = convert_text(self._context, converter, result, f"--{param['name']}")
            if "beside" in param and scope.get(param["beside"]):
                scope[param["beside"]]["text"] = result


def _replaced(text: str, written: dict[str, str]) -> str:
    """The text with its mentions written out; it still knows what is beside it, and whose it is."""
    plain = _MENTION.sub(lambda match: written.get((match["name"] or "").strip(), match[0]), text)
    if isinstance(text, Accompanied):
        return Accompanied(plain, text.beside)
    return Typed(plain) if isinstance(text, Typed) else plain
