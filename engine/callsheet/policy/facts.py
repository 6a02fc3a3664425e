"""What is known of a request when it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..language.safety import Safety


class NamedThings(NamedTuple):
    """The things of one kind (projects, say) that a request names.

    `unclear`: it also names some in a way that does not tell which they are, by a number for example.
    """

    names: frozenset[str] = frozenset()
    unclear: bool = False


class Facts(NamedTuple):
    """One request, in all the ways that a server may read it.

    `operations` are the documented operations that it may be, `methods` its method and those that take its place,
    `paths` its path in every reading. None stands for what is not known yet, as before a command has its arguments.
    `sites` are the name of the site and its addresses. `named` is by kind of thing.
    `unbelieved` is the class where a person's own definitions do not count.
    """

    safety: Safety
    operations: frozenset[str] | None = frozenset()
    methods: frozenset[str] | None = frozenset()
    paths: frozenset[str] | None = frozenset()
    sites: frozenset[str] | None = frozenset()
    named: Mapping[str, NamedThings] | None = {}
    unbelieved: Safety | None = None
