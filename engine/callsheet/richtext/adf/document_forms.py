"""What a node of the document format is made of, and which of its forms says a node of the neutral tree."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import cache
from typing import Any, Required, TypedDict
from urllib.parse import unquote

from ..node_rules import NodeForm, Rules
from ..tree import Attrs

SPELLING = "spelling"
COUNT = "{count}"  # in a default: the number of the node among those of its kind
Raw = Mapping[str, Any]  # an object of a document as it was received: no value in it is sure


class DocumentMark(TypedDict, total=False):
    """A mark of the document format."""

    type: Required[str]
    attrs: Attrs


class DocumentNode(TypedDict, total=False):
    """A node of the document format. The root has a `version`; text has `text` and `marks`, others have `content`."""

    version: int
    type: Required[str]
    attrs: Attrs
    content: list[DocumentNode]
    text: str
    marks: list[DocumentMark]


@cache
def address_pattern(address: str) -> re.Pattern[str]:
    """A pattern for an address template such as `scheme:{a}/{b}`; its fields are percent-encoded."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/?#\\s]*)", re.escape(address)))


def is_media(url: str, rules: Rules) -> bool:
    """Whether the address of an image is a media file's, which only the service can show."""
    forms = rules.forms.get("image", ())
    return any(form.address and address_pattern(form.address).fullmatch(url) for form in forms)


def is_complete(form: NodeForm, attrs: Raw) -> bool:
    """Whether these attributes have all that a form demands."""
    return isinstance(attrs, dict) and all(
        field.outer in attrs and field.is_valid(attrs[field.outer]) for field in form.demands
    )


def numbered_attributes(kind: str, attrs: Attrs, counts: dict[str, int], taken: Container[str] = ()) -> Attrs:
    """The attributes with `{count}` as the next number of the kind whose value is not taken."""
    for name, value in attrs.items():
        if isinstance(value, str) and value.endswith(COUNT):
            counts[kind] = counts.get(kind, 0) + 1
            while value.replace(COUNT, str(counts[kind])) in taken:
                counts[kind] += 1
            attrs[name] = value.replace(COUNT, str(counts[kind]))
    return attrs


def form_of(rules: Rules, kind: str, attrs: Attrs) -> tuple[NodeForm, Attrs] | None:
    """The first form that can say these attributes, and how; None when none can."""
    for form in rules.forms.get(kind, ()):
        if not attrs and form.defaults is not None:
            return form, form.defaults.copy()
        given = attrs
        if form.address:
            match = address_pattern(form.address).fullmatch(str(attrs.get("url", "")))
            if not match:
                continue
            given = {**attrs, **{name: unquote(value) for name, value in match.groupdict().items()}}
        written = dict(form.fixed)
        for field in form.fields:
            value = field.outer_value(given)
            if value is not None:
                written[field.outer] = value
            elif field.needed:
                break
        else:
            return form, written
    return None
