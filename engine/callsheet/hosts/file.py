"""A configuration file of another program: read whole, and replaced in one step with a copy of what it was."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..errors import CallsheetError, UsageError
from ..files import open_regular
from ..output_files import output_file

LARGEST = 16 << 20  # bytes
BACKUP = ".bak"
_PRIVATE = 0o600


class ForeignFile(NamedTuple):
    """`content` is None where there is no file yet."""

    path: str
    content: bytes | None

    @property
    def text(self) -> str:
        """Raises `UsageError` for what is not UTF-8."""
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.path} is not UTF-8: byte {error.start}") from None

    def replace(self, text: str) -> None:
        """Links, mode and owner stay. Raises `CallsheetError`, also where it changed since it was read."""
        content = text.encode()
        if read(self.path).content != self.content:
            raise CallsheetError(f"{self.path} was changed by another program meanwhile", hint="try again")
        target = os.path.realpath(self.path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the directory of {self.path}: {error.strerror}") from None
        if self.content is not None:
            mode = os.stat(target).st_mode & 0o777
            with output_file(target + BACKUP, named=False, mode=mode) as file:
                file.write(self.content)
        with output_file(self.path, mode=_PRIVATE) as file:
            file.write(content)


def read(path: str) -> ForeignFile:
    """Raises `UsageError` for a file that cannot be read."""
    if not os.path.lexists(path):
        return ForeignFile(path, None)
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if len(content) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST >> 20} MiB")
    return ForeignFile(path, content)
