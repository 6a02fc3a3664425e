"""Where the shared secrets of a source come from."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence

from ...errors import NotFound, UsageError
from ...files import read_private_if_there
from ...sites.credentials.secrets import FILE, Store, chosen_name, open_store
from ...sites.profiles.choose import Variables
from ...urls import SITE_NAME

# Files of secrets, keys and certificates that an editor began with a byte-order mark: nothing would match them.

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def refuse_byte_order_mark(data: bytes, where: str) -> None:
    """Raises `UsageError` that names `where`, and none of the content."""
    if data.startswith(_MARKS):
        raise UsageError(f"{where} begins with a byte-order mark (BOM)", hint="save it as plain UTF-8, without a BOM")


class NamedSecrets:
    """Raises `CallsheetError` where the store cannot be used."""

    def __init__(self, prefix: str, environ: Mapping[str, str], program: str) -> None:
        self._variables = Variables(prefix, environ)
        self._environ = environ
        self._program = program

    @property
    def location(self) -> str:
        return "the encrypted file" if chosen_name(self._variables) == FILE else "the key store"

    def get_secret(self, name: str) -> str:
        """Raises `NotFound`."""
        record = self._open_store().get(_account_of_secret(name))
        if record is None:
            raise self._missing_secret(name)
        return str(record["secret"])

    def put_secret(self, name: str, secret: str) -> None:
        self._open_store().put(_account_of_secret(name), {"secret": secret})

    def delete_secret(self, name: str) -> None:
        """Raises `NotFound`."""
        if not self._open_store().delete(_account_of_secret(name)):
            raise self._missing_secret(name)

    def _open_store(self) -> Store:
        return open_store(chosen_name(self._variables), self._variables, self._environ, self._program)

    def _missing_secret(self, name: str) -> NotFound:
        return NotFound(f"no secret {name!r} in {self.location}", hint=f"put it there: webhook secret set {name}")


def _account_of_secret(name: str) -> str:
    """No site is called so: there is no colon in the names of sites."""
    if not re.fullmatch(SITE_NAME, name):
        raise UsageError(f"{name!r}: a secret's name may contain only letters, digits, '.', '_' and '-'")
    return f"webhook:{name}"


def collect_secrets(
    values: Sequence[str],
    files: Sequence[str],
    names: Sequence[str],
    variable: str | None,
    environ: Mapping[str, str],
    prefix: str,
    program: str,
) -> list[str]:
    """Secrets from options, from files and a variable (one a line), and from the store of credentials by name.

    `prefix` is that of the variables which say what that store is, `program` the one whose store it is. Raises
    `UsageError` for a file or a variable that holds none, and `NotAllowed` for a file that others can read.
    """
    if "" in values:
        raise UsageError("--secret is empty", hint="give it a value, or omit it")
    secrets = list(values)
    for path in files:
        secrets += _secrets_in_lines(_read_secret_file(path))
    if names:
        secrets += map(NamedSecrets(prefix, environ, program).get_secret, names)
    if variable is not None and variable in environ:
        secrets += _from_variable(variable, environ[variable])
    return secrets


def _from_variable(name: str, text: str) -> list[str]:
    """A variable that was meant to hold a secret and does not must not be taken for none."""
    refuse_byte_order_mark(text.encode("utf-8", "surrogateescape"), name)
    secrets = _secrets_in_lines(text)
    if not secrets:
        raise UsageError(f"{name} is set, but contains no secret", hint=f"put the secret into it, or: unset {name}")
    return secrets


def _secrets_in_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def _read_secret_file(path: str) -> str:
    try:
        data = read_private_if_there(path, "--secret-file:")
        if data is None:
            raise UsageError(f"--secret-file: {path}: No such file or directory")
        refuse_byte_order_mark(data, f"--secret-file: {path}")
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"--secret-file: {path}: not valid UTF-8") from None
    if not _secrets_in_lines(text):
        raise UsageError(f"--secret-file: {path}: contains no secret", hint="one secret a line")
    return text
