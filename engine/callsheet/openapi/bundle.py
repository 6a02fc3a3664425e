"""A document of several files → one, with what other files hold under a key of its own.

Only files of the document's directory and below are read: whoever wrote a document does not choose what else is. An
address is never asked; it stays as it is, and is told where it is needed.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..errors import DefinitionError
from .syntax import parse_document

if TYPE_CHECKING:
    from ..jsontext import JsonObject

FILES = "x-files"  # what stands in other files, by the name of each
_MOST_FILES = 5_000
_MOST_BYTES = 64 << 20
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_DATA = ("example", "examples", "default", "enum", "const")  # what looks like a reference there is none


def with_files_beside(tree: Any, name: str, path: str) -> Any:
    """`path` is where the document is. Raises `DefinitionError` for a file that cannot be read or is elsewhere."""
    if not isinstance(tree, dict):
        return tree
    return _Bundle(name, path).whole(tree)


class _Bundle:
    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.root, self.main = os.path.split(os.path.realpath(path))
        self.names: dict[str, str] = {}  # path below the root → where its content goes
        self.files: JsonObject = {}
        self.size = 0

    def whole(self, tree: JsonObject) -> JsonObject:
        found: JsonObject = self._pointing(tree, self.main)
        return {**found, FILES: self.files} if self.files else found

    def _pointing(self, node: Any, of_file: str) -> Any:
        """With references to where their targets are in the one document."""
        if isinstance(node, list):
            return [self._pointing(each, of_file) for each in node]
        if not isinstance(node, dict):
            return node
        found = {key: value if key in _DATA else self._pointing(value, of_file) for key, value in node.items()}
        if isinstance(reference := node.get("$ref"), str):
            found["$ref"] = self._reference(reference, of_file)
        return found

    def _reference(self, reference: str, of_file: str) -> str:
        file, _, fragment = reference.partition("#")
        if _ADDRESS.match(reference) or (not file and of_file == self.main):
            return reference
        path = posixpath.normpath(posixpath.join(posixpath.dirname(of_file), unquote(file))) if file else of_file
        place = "" if path == self.main else f"/{FILES}/{self._place(path, reference)}"
        return f"#{place}{fragment.rstrip('/') if fragment.startswith('/') else ''}"

    def _place(self, path: str, reference: str) -> str:
        """The key under which a file is; it is read where it is named first."""
        if path not in self.names:
            if len(self.names) >= _MOST_FILES:
                raise DefinitionError(f"{self.name}: more than {_MOST_FILES} files belong to it")
            text = self._text(path, reference)
            stem = re.sub(r"[^\w.-]+", "-", posixpath.splitext(posixpath.basename(path))[0]) or "file"
            taken = set(self.names.values())
            others = (f"{stem}-{number}" for number in range(2, _MOST_FILES + 2))
            self.names[path] = stem if stem not in taken else next(each for each in others if each not in taken)
            self.files[self.names[path]] = self._pointing(parse_document(text, path), path)
        return self.names[path]

    def _text(self, path: str, reference: str) -> str:
        there = os.path.realpath(os.path.join(self.root, *path.split("/")))
        if posixpath.isabs(path) or not there.startswith(os.path.join(self.root, "")):
            raise DefinitionError(
                f"{self.name}: {reference!r} is outside of the document's directory",
                hint="bundle the document into one file first, for example with `redocly bundle`",
            )
        if not os.path.isfile(there):  # opening anything else could wait for ever
            raise DefinitionError(f"{self.name}: {reference!r}: there is no such file")
        try:
            with open(there, "rb") as file:
                raw = file.read(_MOST_BYTES - self.size + 1)
            self.size += len(raw)
            if self.size > _MOST_BYTES:
                raise DefinitionError(f"{self.name}: its files have more than {_MOST_BYTES >> 20} MiB")
            return raw.decode("utf-8-sig")
        except OSError as error:
            raise DefinitionError(f"{self.name}: {reference!r}: {(error.strerror or str(error)).lower()}") from None
        except ValueError:
            raise DefinitionError(f"{self.name}: {reference!r}: not UTF-8") from None
