"""Which operation gets which id, so that no two of a program share one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from .document import HttpOperation


def assign_ids(calls: Sequence[HttpOperation], product: str, taken: Collection[str]) -> list[str]:
    """One id a call, in order; `taken` are those of the products that come before.

    The first to have an operation id gets it bare, the next one behind the product, the next behind product and
    tag, the next behind the path segment that tells them apart.
    """
    owners: dict[str, str] = dict.fromkeys(taken, "")
    return [_assign(call, product, owners) for call in calls]


def _assign(call: HttpOperation, product: str, owners: dict[str, str]) -> str:
    for candidate in _candidates(call, product, owners):
        if candidate not in owners:
            owners[candidate] = call.path
            return candidate
    raise AssertionError("an endless row of candidates ended")


def _candidates(call: HttpOperation, product: str, owners: dict[str, str]) -> Iterator[str]:
    name = operation_name(call)
    yield name
    yield f"{product}.{name}"
    tag = first_tag(call)
    if tag:
        yield f"{product}.{tag_word(tag)}.{name}"
    rivals = {segment for id, path in owners.items() if id.endswith(name) for segment in path.split("/")}
    for segment in call.path.split("/"):
        if segment and "{" not in segment and segment not in rivals:
            yield f"{product}.{segment}.{name}"
    count = 2
    while True:
        yield f"{product}.{name}-{count}"
        count += 1


def operation_name(call: HttpOperation) -> str:
    """The document's operation id, or one made of method and path: `getPetsByPetId`."""
    given = call.operation.get("operationId")
    if isinstance(given, str) and given.strip():
        return re.sub(r"\s+", "-", given.strip())
    words = [call.method.lower()]
    for segment in call.path.split("/"):
        words += ["By"] if segment.startswith("{") else []
        words += [word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", segment)]
    return "".join(words)


def first_tag(call: HttpOperation) -> str:
    tags = call.operation.get("tags")
    return str(tags[0]) if isinstance(tags, list) and tags else ""


def tag_word(tag: str) -> str:
    return re.sub(r"\s+", "-", tag.strip().lower())


def file_slug(text: str) -> str:
    """A tag as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
