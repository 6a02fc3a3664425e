"""What a person writes after an option, as Markdown → what a service wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, Conflict, UsageError
from ...richtext import Options, convert_rich_text
from .unknown import Unknown

if TYPE_CHECKING:
    from ...language.shape.steps import Edit
    from ...richtext.editing import Editing
    from ..context import Context

EDITED = ("storage", "adf")  # formats in which a text is put back into its source
MOST_LINES = 60  # of what somebody else changed


def adf(context: Context, text: str) -> Any:
    """Markdown as a document."""
    return _converted(context, text, "adf")


def storage(context: Context, text: str) -> Any:
    """Markdown as storage XHTML."""
    return _converted(context, text, "storage")


def wiki(context: Context, text: str) -> Any:
    """Markdown as wiki markup."""
    return _converted(context, text, "wiki")


def wiki_of_adf(context: Context, text: str) -> Any:
    """An exact document for a service that takes wiki markup."""
    return _converted(context, text, "wiki", source="adf")


def markdown(context: Context, text: str) -> str:
    """Markdown for an `edit` step; read here, so that nothing is asked of the service when it is damaged."""
    from ...richtext.markdown.blocks import read_markdown
    from ...richtext.node_rules import Rules
    from ...richtext.tree import Losses

    rules = Rules(context.rich_text, literal=context.is_foreign(text))
    read_markdown(text, rules, Losses(), beside=getattr(text, "beside", None))
    return text


def edited_text(context: Context, step: Edit) -> Any:
    """What an `edit` step answers: the Markdown of its source, or the source with the changes of its text.

    A source that is not known in a dry run makes the answer unknown. Raises `CallsheetError` where there is none: a
    thing that has no text yet has an empty one.
    """
    source, form, text, section = step.get("of"), step["format"], step.get("text"), step.get("section")
    images, since = step.get("images"), step.get("since")
    if any(isinstance(part, Unknown) for part in (source, text, images, since)):
        name = str(source).strip("<>")
        return Unknown(name if text is None else f"{name}, edited" if source else "the text with its images")
    if source is None:
        raise CallsheetError("an answer of the site is not as expected: it has no text")
    beside = getattr(text, "beside", None)
    if beside is not None and images:
        beside.addresses = images
    if not source or form not in EDITED:
        if section is not None:
            raise UsageError(f"no heading {section!r}: there is no text yet" if not source else "it has no sections")
        if text is not None:
            return source if source and _is_as_shown(context, source, form, text) else _converted(context, text, form)
        return _of_service(context, source, form) if source else ""
    from ...richtext.editing import Editing

    edit = Editing(source, form, context.rich_text, section)
    if text is None:
        return edit.markdown()
    literal = context.is_foreign(text)
    if since is None or since == source:
        result = edit.edited(text, literal=literal, beside=beside)
    else:
        before = Editing(since, form, context.rich_text, section)
        if not step.get("merge"):
            raise Conflict(str(step["fail"]), hint=step.get("hint"), details=_changes(before, edit))
        result = edit.merged(before, text, literal=literal, beside=beside)
        context.note("kept the changes made in the meantime, and added yours")
    for loss in edit.losses.list():
        context.note_once(loss)
    return result


def _changes(before: Editing, now: Editing) -> list[str]:
    """What became of a text, line by line."""
    import difflib

    old, new = (edit.markdown().splitlines() for edit in (before, now))
    words = {"- ": "removed: ", "+ ": "added: "}
    changed = [line for line in difflib.ndiff(old, new) if line[:2] in words and line[2:].strip()]
    lines = [words[line[:2]] + line[2:] for line in changed]
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return lines[:MOST_LINES] + more


def _of_service(context: Context, source: Any, form: str, *, lossless: bool = False) -> str:
    """What a service holds, as Markdown; that it cannot be read is no mistake of the person's."""
    if form != "adf" and not isinstance(source, str):
        raise CallsheetError(f"the answer holds no text in the format {form}")
    try:
        return str(_converted(context, source, "markdown", source=form, lossless=lossless)).rstrip("\n")
    except UsageError as error:
        raise CallsheetError(f"the service's text cannot be read: {error.message}") from None


def _is_as_shown(context: Context, source: str, form: str, text: str) -> bool:
    """Whether a text is the Markdown of its source, which its format cannot say in these words again."""
    shown = convert_rich_text(source, form, "markdown", nodes=context.rich_text).value
    return str(shown).strip() == text.strip()


def _converted(context: Context, text: str, target: str, *, source: str = "markdown", lossless: bool = False) -> Any:
    options: Options = {
        "literal": source == "markdown" and context.is_foreign(text),
        "beside": getattr(text, "beside", None),
    }
    done = convert_rich_text(text, source, target, nodes=context.rich_text, lossless=lossless, options=options)
    for loss in done.losses:
        context.note_once(loss)
    return done.value
