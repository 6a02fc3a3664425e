"""Shapes of web addresses: where things of a site are shown in the browser."""

from __future__ import annotations

from typing import Annotated, Required

from pydantic import Field

from .base import Shape, Template, keyed_by, pattern, reference, seeing


class AddressHere(Shape, total=False):
    """What an address's table may say differently for one deployment."""

    pattern: Annotated[str, pattern(description="Regular expression: a word that matches means the thing.")]
    url: Annotated[Template, seeing("word")]


class AddressDefinition(Shape, total=False):
    """Where a thing of a site is shown in the browser."""

    title: Annotated[str, Field(description="What it is called where words are listed. Default: that of the resource.")]
    pattern: Annotated[
        str, pattern(description="Regular expression: a word that matches means the thing. Default: no word does.")
    ]
    service: Required[Annotated[str, reference("service", description="Whose address it is below.")]]
    url: Required[Annotated[Template, seeing("word"), Field(description="Path and query; sees `word`.")]]
    on: Annotated[dict[str, AddressHere], keyed_by("deployment", description="Deployment → what differs there.")]
