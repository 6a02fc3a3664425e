"""Single values put into the source of an element."""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import quoteattr

from ..fields import AttrField
from ..storage.forms import StorageForm
from ..storage.xml import NOT_XML, Element, escape_xml
from ..tree import Attrs, Mark


def differing(old: Attrs, new: Attrs) -> Attrs:
    """The values that are not the same any more; None for those that are gone."""
    return {name: new.get(name) for name in (*old, *(new.keys() - old.keys())) if old.get(name) != new.get(name)}


def patched(source: str, element: Element, form: StorageForm, changed: Attrs, end: int) -> str | None:
    """The source of an element up to `end` with other values; None where one of them has no place there."""
    splices: list[tuple[int, int, str]] = []
    for name, value in changed.items():
        splice = _splice(source, element, form, name, value)
        if splice is None or splice[1] > end:
            return None
        splices.append(splice)
    result, place = "", element.start
    for start, stop, words in sorted(splices):
        result += source[place:start] + words
        place = stop
    return result + source[place:end]


def _splice(source: str, element: Element, form: StorageForm, name: str, value: Any) -> tuple[int, int, str] | None:
    if field := _named(form.fields, name):
        return _content(element.child(field.outer), form.said([field], {name: value}).get(field.outer))
    if field := _named(form.params, name):
        frame = form.frame
        parameters = [c for c in element.elements() if c.name == frame["parameter"]]
        found = next((c for c in parameters if c.attrs.get(frame["name"]) == field.outer), None)
        return _content(found, form.said([field], {name: value}).get(field.outer))
    if field := _named(form.attrs, name):
        return _attribute(source, element, field.outer, form.said([field], {name: value}).get(field.outer))
    field = _named(form.inner_attrs, name)
    inner = element.child(form.inner) if form.inner else None
    if field and inner:
        return _attribute(source, inner, field.outer, form.said([field], {name: value}).get(field.outer))
    return None


def _named(among: list[AttrField], name: str) -> AttrField | None:
    return next((field for field in among if field.name == name), None)


def _content(element: Element | None, words: str | None) -> tuple[int, int, str] | None:
    return None if element is None or words is None else (element.inner, element.close, escape_xml(words))


def readdressed(tag: str, mark: Mark) -> str | None:
    """The start tag of a link with another address; None where it is none."""
    match = re.search(r"\shref\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
    if match is None or set(mark.attrs) != {"href"}:
        return None
    return tag[: match.start(1)] + quoteattr(str(mark.attrs["href"])) + tag[match.end(1) :]


def _attribute(source: str, element: Element, name: str, value: str | None) -> tuple[int, int, str] | None:
    """An attribute with another value, one that is new, or one less."""
    tag = source[element.start : element.inner]
    match = re.search(rf"(\s+){re.escape(name)}\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
    if match is None:
        place = element.start + len("<" + element.name)
        return None if value is None else (place, place, f" {name}={quoteattr(NOT_XML.sub('', value))}")
    if value is None:
        return element.start + match.start(), element.start + match.end(), ""
    return element.start + match.start(2), element.start + match.end(2), quoteattr(NOT_XML.sub("", value))
