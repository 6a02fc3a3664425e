"""A text in a person's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping

from ...errors import CallsheetError, UsageError

_USUAL = ("sensible-editor", "nano", "vim", "vi") if os.name != "nt" else ("notepad",)


def edited(text: str, name: str, environ: Mapping[str, str]) -> str:
    """The text after the editor has ended. It lies in a file of this name that nobody else can read, for that time.

    Raises `UsageError` where there is no editor, `CallsheetError` where it fails.
    """
    command = editor(environ)
    with tempfile.TemporaryDirectory(prefix="callsheet-") as directory:
        path = os.path.join(directory, name)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        try:
            code = subprocess.run([*command, path], check=False).returncode
        except OSError as error:
            raise UsageError(f"cannot start the editor {command[0]}: {error.strerror}", hint="set EDITOR") from None
        if code != 0:
            raise CallsheetError(f"the editor {command[0]} ended with exit code {code}; nothing was sent")
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()


def editor(environ: Mapping[str, str]) -> list[str]:
    """Its command, by VISUAL or EDITOR, else the first of the usual ones that is installed."""
    if chosen := environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip():
        try:
            return shlex.split(chosen, posix=os.name != "nt")
        except ValueError as error:
            problem = f"cannot read the editor's command {chosen!r}: {str(error).lower()}"
            raise UsageError(problem, hint="set EDITOR to the command of your editor") from None
    found = next((name for name in _USUAL if shutil.which(name)), None)
    if found is None:
        raise UsageError("no editor was found", hint="set EDITOR to the command of your editor")
    return [found]


def keep_text(text: str, name: str) -> str:
    """The path of a file that keeps a text which could not be used."""
    stem, suffix = os.path.splitext(name)
    handle, path = tempfile.mkstemp(prefix=f"{stem}-", suffix=suffix, text=True)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return path
