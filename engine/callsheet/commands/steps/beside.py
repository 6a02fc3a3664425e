"""The files beside one of Markdown: images that go along with it, and other texts that became pages.

The text may be a stranger's. So nothing but images by their names goes along, and only regular files in its folder or
below it, wherever a link in that folder leads; a folder that a person names holds for all of them.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote

from ...errors import UsageError
from ...richtext import ATTACHING
from ...richtext.markdown.front_matter import LONGEST, split_front_matter
from ...richtext.markdown.relative import NotBesideError
from ..context import Typed

if TYPE_CHECKING:
    from ..context import Context

PAGES = (".md", ".markdown")
SAID = re.compile(r"[?#]")
UNSAFE = re.compile(r"[^\w .()+@,=&-]|^\.")  # what some format has a meaning for in the name of an attachment
CHUNK = 1 << 20


@dataclass
class FilesBeside:
    """What may go along with a text: files of `root`, at addresses relative to `base`, which is `root` or in it."""

    base: str
    root: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def image(self, url: str, target: str | None) -> str:
        """See `richtext.markdown.relative.Beside`."""
        path = self._path(url)
        kind, coding = mimetypes.guess_type(path)
        if coding or not (kind or "").startswith("image/"):
            raise NotBesideError("is not an image by its name")
        name = self._named(path)
        return quote(name, safe="") if target in ATTACHING else self.addresses.get(name, "")

    def page(self, href: str) -> tuple[str, str]:
        """See `richtext.markdown.relative.Beside`."""
        address, _, anchor = href.partition("#")
        if not unquote(address).lower().endswith(PAGES):
            raise NotBesideError("is not a page")
        path = self._path(address)
        try:
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                title = split_front_matter(file.read(LONGEST))[0].get("title")
        except OSError as error:
            raise NotBesideError(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
        if not isinstance(title, str) or not title.strip():
            raise NotBesideError("has no title in its front matter, so its page is not known")
        return title.strip(), unquote(anchor)

    def images(self) -> list[dict[str, Any]]:
        """The images that were met, each once."""
        return [
            {"path": path, "name": name, "size": os.path.getsize(path), "hash": f"sha256:{_digest(path)}"}
            for path, name in self._names.items()
        ]

    def _path(self, url: str) -> str:
        """The file that a relative address leads to; raises `NotBesideError` for any other thing."""
        words = [url, SAID.split(url)[0]]
        for path in dict.fromkeys(unquote(word) for word in words):
            if "\\" in path or "\0" in path or os.path.isabs(path) or os.path.splitdrive(path)[0]:
                raise NotBesideError(f"is outside {self.root}")
            whole = os.path.normpath(os.path.join(self.base, path))
            if not (_within(whole, self.root) and _within(os.path.realpath(whole), self.root)):
                raise NotBesideError(f"is outside {self.root}")
            if os.path.lexists(whole):
                return _regular(whole)
        raise NotBesideError("does not exist")

    def _named(self, path: str) -> str:
        """The name that a file is attached under: its own, or with its folders where that one is taken."""
        if path not in self._names:
            short = UNSAFE.sub("-", os.path.basename(path))
            long = UNSAFE.sub("-", os.path.relpath(path, self.root).replace(os.sep, "-"))
            self._names[path] = short if short not in self._names.values() else long
        return self._names[path]


class Accompanied(Typed):
    """A text of a person's own, and what is beside the file it was read from."""

    beside: FilesBeside

    def __new__(cls, text: str, beside: FilesBeside) -> Self:
        made = super().__new__(cls, text)
        made.beside = beside
        return made


def accompanied(context: Context, text: str, given: str, folder: str | None, option: str) -> str:
    """`text`, with the folder of the file it was `given` as; without a file, the folder that a person named."""
    file = given[1:] if given[:1] == "@" and given not in ("@", "@-") and not given.startswith("@@") else None
    if context.is_literal(given) or (file is None and folder is None):
        return text
    base = os.path.dirname(os.path.realpath(file)) if file is not None else None
    root = os.path.realpath(folder) if folder is not None else base or ""
    if not os.path.isdir(root):
        raise UsageError(f"{option}: {folder} is not a folder")
    if base is not None and not _within(base, root):
        raise UsageError(f"{option}: {file} is not in {folder}")
    return Accompanied(text, FilesBeside(base or root, root))


def found_beside(text: str) -> dict[str, Any] | None:
    """What expressions see of a text that was converted; None where no image goes along."""
    images = text.beside.images() if isinstance(text, Accompanied) else []
    return {"text": text, "images": images} if images else None


def _within(path: str, root: str) -> bool:
    try:
        return os.path.commonpath([root, path]) == root
    except ValueError:  # another drive
        return False


def _regular(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise NotBesideError(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if not stat.S_ISREG(mode):
        raise NotBesideError("is a directory" if stat.S_ISDIR(mode) else "is not a regular file")
    return path


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    return digest.hexdigest()
