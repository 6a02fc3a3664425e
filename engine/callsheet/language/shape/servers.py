"""Shapes of where a program that runs agents lists the servers that it starts."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from pydantic import Field

from .base import Shape, Value, seeing

Paths = Annotated[
    list[str],
    Field(
        min_length=1,
        description="The first one that exists counts, else the first. `~` is the home directory; one with a $VARIABLE "
        "counts where that is set.",
    ),
]


class Platforms(Shape, total=False):
    """Paths by platform; `any` where a platform is not named."""

    any: Paths
    linux: Paths
    macos: Paths
    windows: Paths


class ServerList(Shape, total=False):
    """The file with a program's servers."""

    format: Required[Annotated[Literal["json", "toml"], Field(description="json: comments and trailing commas too.")]]
    user: Annotated[
        Platforms, Field(description="The person's own file; only a host that comes with the program has one.")
    ]
    project: Annotated[Paths, Field(description="Below the folder of a project.")]
    at: Required[Annotated[list[str], Field(min_length=1, description="The keys of the table that holds servers.")]]
    entry: Required[
        Annotated[
            dict[str, Value],
            seeing("command", "args"),
            Field(description="One server; `command` is a text, `args` are a list."),
        ]
    ]
    then: Annotated[str, Field(description="What a person does after a change, so that the program sees it.")]
