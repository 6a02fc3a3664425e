"""The bytes of files that a mirror knows of, beside it: each content once, called by its hash."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ...files import make_private_directory

if TYPE_CHECKING:
    from ..resources.things import Parents, Thing, Things

_ENDING = re.compile(r"\.[a-z0-9]{1,8}")


class FileStore:
    """The directory `NAME.files` beside a mirror. Paths are relative to where the mirror lies, with slashes."""

    def __init__(self, mirror: str) -> None:
        self._root = os.path.dirname(os.path.abspath(mirror))
        self._name = f"{os.path.basename(mirror)}.files"

    def save(self, things: Things, thing: Thing, parents: Parents) -> str:
        """The path of what the service answers as the content; others' names say nothing but how it ends."""
        directory = os.path.join(self._root, self._name)
        make_private_directory(directory)
        fresh = os.path.join(directory, f".{os.urandom(8).hex()}.part")
        try:
            things.save(thing, fresh, parents)
            with open(fresh, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            ending = os.path.splitext(things.name_of(thing) or "")[1].lower()
            path = f"{self._name}/{digest[:2]}/{digest}{ending if _ENDING.fullmatch(ending) else ''}"
            target = os.path.join(self._root, *path.split("/"))
            make_private_directory(os.path.dirname(target))
            os.replace(fresh, target)
        finally:
            with suppress(OSError):
                os.remove(fresh)
        return path
