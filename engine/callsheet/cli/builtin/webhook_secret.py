"""`webhook secret set|delete`: secrets for `--secret-key`."""

from __future__ import annotations

from ...commands.context import Context, ParameterValues
from ...errors import UsageError
from ...listener.verify.secret_options import NamedSecrets


def put(context: Context, values: ParameterValues) -> None:
    from ...listener.verify.signature import check_secret

    secret = context.ask("Secret", hidden=True) if context.streams.input.isatty() else _read_line(context)
    check_secret(secret)
    secrets = _secrets(context)
    secrets.put(values["name"], secret)
    context.note(f"{values['name']} is in {secrets.location}: webhook listen --secret-key {values['name']}")


def delete(context: Context, values: ParameterValues) -> None:
    _secrets(context).delete(values["name"])


def _secrets(context: Context) -> NamedSecrets:
    return NamedSecrets(context.definition["prefix"], context.environ, context.program)


def _read_line(context: Context) -> str:
    """One line of standard input; its end is not part of the secret."""
    try:
        text = context.read_input().decode()
    except UnicodeDecodeError:
        raise UsageError("the secret is not valid UTF-8") from None
    lines = text.splitlines()
    if len(lines) > 1:
        raise UsageError("standard input holds several lines", hint="keep each secret under a name of its own")
    return lines[0] if lines else ""
