"""Where the shared secrets of a source come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import NotFound, UsageError


def gather(
    given: Sequence[str], files: Sequence[str], names: Sequence[str], variable: str | None, environ: Mapping[str, str]
) -> list[str]:
    """Secrets from options, from files and a variable (one a line), and by name from the system's key store."""
    found = list(given)
    for path in files:
        found += _lines(_read(path))
    found += [_kept(name) for name in names]
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


KEY_STORE = "callsheet-webhook"


def _kept(name: str) -> str:
    import keyring
    from keyring.errors import KeyringError

    try:
        secret = keyring.get_password(KEY_STORE, name)
    except KeyringError as error:
        raise UsageError(f"--secret-key: the key store cannot be read: {error}") from None
    if secret is None:
        raise NotFound(f"--secret-key: no secret {name!r} in the key store", hint=f"keyring set {KEY_STORE} {name}")
    return secret
