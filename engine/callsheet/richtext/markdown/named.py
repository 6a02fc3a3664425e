"""Addresses of links that stand for nodes, such as a page by its title."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from ..tree import Attrs

if TYPE_CHECKING:
    from ...language.shape import richtext as shape

SAFE = "/:@-._~+!$',;="


def led_to(href: str, said: shape.LinkForm) -> Attrs:
    """The attributes that an address gives the node it stands for."""
    rest = href.removeprefix(said["scheme"])
    if "place" not in said or "#" not in rest:
        return {said["attr"]: unquote(rest)}
    rest, _, place = rest.partition("#")
    return {said["attr"]: unquote(rest), said["place"]: unquote(place)}


def address(attrs: Attrs, said: shape.LinkForm) -> str:
    """The address of a node that has at least the first of these attributes."""
    place = attrs.get(said["place"]) if "place" in said else None
    first = said["scheme"] + quote(attrs[said["attr"]], safe=SAFE)
    return f"{first}#{quote(str(place), safe=SAFE)}" if place else first


def said_by(said: shape.LinkForm) -> list[str]:
    """The attributes that a link says."""
    return [said["attr"], said["label"], *([said["place"]] if "place" in said else [])]
