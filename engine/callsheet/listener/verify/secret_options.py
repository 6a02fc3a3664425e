"""Where the shared secrets of a source come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import UsageError


def gather(
    given: Sequence[str],
    files: Sequence[str],
    names: Sequence[str],
    variable: str | None,
    environ: Mapping[str, str],
    prefix: str,
) -> list[str]:
    """Secrets from options, from files and a variable (one a line), and from the store of credentials by name.

    `prefix` is that of the variables which say what that store is.
    """
    found = list(given)
    for path in files:
        found += _lines(_read(path))
    if names:
        from .named_secrets import KeptSecrets

        found += map(KeptSecrets(prefix, environ).get, names)
    if variable:
        found += _lines(environ.get(variable, ""))
    return found


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"--secret-file: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--secret-file: {path}: not text in UTF-8") from None
    if not _lines(text):
        raise UsageError(f"--secret-file: {path}: holds no secret", hint="one secret a line")
    return text
