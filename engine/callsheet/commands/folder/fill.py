"""The body of a page as it is converted: its links lead to pages, its images to files of the page."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import quote

from ...richtext.markdown.escape import link_target
from ...richtext.markdown.places import replace_ranges
from .model import FolderPage, PageFile, Reference

AddressOf = Callable[[str, str], str]
FileReference = Callable[[PageFile, Reference], str]


def filled_body(page: FolderPage, address_of: AddressOf, file_reference: FileReference) -> str:
    """Markdown with `address_of(path, anchor)` for links to pages and `file_reference(file, reference)` for files."""
    changes = [(place, place, f" {{#{name}}}") for place, name in page.anchors]
    changes += [
        (link.start, link.end, _written(address_of(link.path, link.anchor), html=link.html)) for link in page.links
    ]
    for file in page.files:
        for reference in file.references:
            words = _written(file_reference(file, reference), html=reference.html)
            if reference.block:
                language = file.diagram.language if file.diagram else ""
                words = f"![{language}]({words})"
            changes.append((reference.start, reference.end, words))
    return replace_ranges(page.body, changes)


def attachment_reference(file: PageFile, reference: Reference) -> str:
    """How Markdown names a file of the page: an image by its bare name, another by a link."""
    name = quote(file.name, safe="")
    return name if reference.image else f"attachment:{name}"


def page_reference(title: str, anchor: str) -> str:
    """How Markdown links to a page by its title; without a title, to a place on the page itself."""
    place = f"#{quote(anchor, safe='')}" if anchor else ""
    return f"page:{quote(title, safe='')}{place}"


def _written(address: str, *, html: bool) -> str:
    return escape(address) if html else link_target(address)
