"""Things of a site by their addresses, as Markdown; files as the text that they hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ..client.request.http_request import is_json
from ..errors import CallsheetError, UsageError, name_program
from ..language.desugar import title_of
from ..language.template import TemplateError, evaluate, fill_template, to_text
from ..output.clean_text import describe_error
from .untrusted import clean

if TYPE_CHECKING:
    from ..client.request.http_request import Request
    from ..language.shape.agents import AgentsTable
    from ..language.shape.commands import CompiledCommand
    from ..language.shape.resources import ResourceDefinition
    from .run import ToolContext, Watch
    from .toolbox import Toolbox

MARKDOWN = "text/markdown"
_LARGEST = 1 << 20  # bytes of a file's text
_NAME = re.compile(r"\{([a-z0-9_]+)\}")
_TEXTS = re.compile(
    r"text/|application/(?:xml|yaml|x-yaml|toml|sql|javascript|x-sh)\b|[^;]*\+(?:json|xml)\b", re.IGNORECASE
)


class ResourceTemplate(NamedTuple):
    """One kind of thing. `media` is None where each has another."""

    name: str
    title: str
    help: str | None
    template: str
    media: str | None
    pattern: re.Pattern[str]
    definition: AgentsTable


class Resources:
    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        catalog = toolbox.base.catalog
        self.templates = [
            _template(toolbox.base.program, name, thing, _saves(catalog.get("command", thing["agents"]["command"])))
            for name, thing in catalog.all("resource").items()
            if "agents" in thing
        ]

    def read(self, uri: str, watch: Watch) -> tuple[str, str]:
        """The text and its media type. Raises `CallsheetError`, `UsageError` for an address that no template has."""
        for template in self.templates:
            if match := template.pattern.fullmatch(uri):
                names = {name: unquote(text) for name, text in match.groupdict().items()}
                return self._read(template, names, watch)
        known = ", ".join(template.template for template in self.templates)
        raise UsageError(f"unknown address {uri!r}", hint=f"addresses: {known}")

    def _read(self, template: ResourceTemplate, names: dict[str, str], watch: Watch) -> tuple[str, str]:
        definition = template.definition
        files: list[tuple[str, str]] = []

        def keep(context: ToolContext, request: Request, path: str) -> dict[str, Any]:
            files.append(_text_of_file(context, request))
            return {"file": path}

        values = fill_template(definition.get("values", {}), names)
        text = self._toolbox.text(definition["command"], values, watch, keep)
        if not files:
            return self._toolbox.marked(text), MARKDOWN
        text, media = files[0]
        return self._toolbox.marked(clean(text)), media

    def complete(self, uri: str, name: str, word: str) -> list[str]:
        """Values of a name in the address that begin with the word; none where nothing can be found out."""
        template = next((each for each in self.templates if each.template == uri), None)
        suggestion = template.definition.get("complete", {}).get(name) if template else None
        if suggestion is None:
            return []
        catalog = self._toolbox.base.catalog
        command = catalog.get("command", suggestion["command"])
        id = catalog.get("view", command["view"]).get("id") if "view" in command else None
        try:
            items = self._toolbox.raw(
                suggestion["command"], fill_template(suggestion.get("values", {}), {"word": word}) or {}
            )
            found = [
                clean(to_text(evaluate(id or self._toolbox.base.definition.get("id", "id"), item))) for item in items
            ]
        except (CallsheetError, TemplateError):  # nobody asked: what is typed so far may be anything
            return []
        return [each for each in dict.fromkeys(found) if each.casefold().startswith(word.casefold())]

    def words_of(self, error: CallsheetError, watch: Watch) -> str:
        error.hint = error.hint and name_program(error.hint, self._toolbox.base.program)
        return self._toolbox.told(describe_error(error).removeprefix("error: "), error, watch)


def _template(program: str, name: str, thing: ResourceDefinition, saves: bool) -> ResourceTemplate:
    agents = thing["agents"]
    uri = f"{program}://{agents['uri']}"
    pattern = "".join(
        f"(?P<{part}>[^/?#]+)" if place % 2 else re.escape(part) for place, part in enumerate(_NAME.split(uri))
    )
    media = None if saves else MARKDOWN
    title = title_of(name, thing)
    title = title[:1].upper() + title[1:]
    return ResourceTemplate(name, title, thing.get("help"), uri, media, re.compile(pattern), agents)


def _saves(command: CompiledCommand) -> bool:
    return any("save" in step for step in command.get("step", ()))


def _text_of_file(context: ToolContext, request: Request) -> tuple[str, str]:
    """Raises `CallsheetError` for what is no text, or too much of it."""
    content = bytearray()
    with context.client().stream(request) as incoming:
        media = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
        for chunk in incoming.chunks():
            content += chunk
            if len(content) > _LARGEST:
                raise CallsheetError(f"the file is larger than {_LARGEST >> 10} KiB, too large to be read as text")
    try:
        text = bytes(content).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CallsheetError(f"the file is not text, it is {media or 'of an unknown type'}") from None
    if "\0" in text:
        raise CallsheetError(f"the file is not text, it is {media or 'of an unknown type'}")
    return text, media if _TEXTS.match(media) or is_json(media) else "text/plain"
