"""The policy that holds for a run, from the machine, the site and the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import NotAllowed, UsageError
from .policy import Policy, PolicySource, read_only
from .read import KnownNames, from_short, from_table, from_text, is_short
from .system import read_system_file, system_file, why_not_administrators

LARGEST = 1 << 20  # bytes


def load_policy(
    variable: str,
    environ: Mapping[str, str],
    names: KnownNames,
    *,
    own: Iterable[PolicySource] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> Policy:
    """The machine's file, `own` sources such as those of the site, and what `variable` of the environment says.

    Raises `UsageError` for a policy that is not understood and `NotAllowed` for one that cannot be read: what it
    forbids is not known then. `warn` is told of a file of the machine that is ignored.
    """
    sources = [*_of_machine(names, warn), *own]
    if given := environ.get(variable, "").strip():
        sources.append(from_variable(given, variable, names))
    return Policy(sources)


def _of_machine(names: KnownNames, warn: Callable[[str], None]) -> list[PolicySource]:
    path = system_file()
    if not os.path.lexists(path):
        return []
    try:
        doubt = why_not_administrators(path)
    except OSError as error:
        raise NotAllowed(f"the policy {path} cannot be read: {error.strerror}", hint="nothing was sent") from None
    if doubt is not None:
        warn(f"the policy {path} is ignored: {doubt}")
        return []
    return [from_text(read_system_file(path), path, names)._replace(strict=True)]


def from_variable(text: str, variable: str, names: KnownNames) -> PolicySource:
    """A policy on one line, TOML, or the path of a file."""
    if is_short(text):
        return from_short(text, variable, names)
    if "\n" in text or "=" in text:
        return from_text(text, variable, names)
    return from_text(_read(text, variable), f"{text} ({variable})", names)


def of_site(name: str, settings: Mapping[str, Any], names: KnownNames) -> list[PolicySource]:
    """What a site's own settings allow: `policy`, a text on one line or a table, and `read_only`."""
    sources = [read_only(f"the settings of site {name!r}", "read_only = true")] if settings.get("read_only") else []
    if written := settings.get("policy"):
        read = from_short if isinstance(written, str) else from_table
        sources.append(read(written, f"the policy of site {name!r}", names))
    return sources


def _read(path: str, variable: str) -> str:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        hint = f"expected a file, or something like {variable}=read-only or {variable}=destroy=deny,write=ask"
        raise UsageError(f"{variable}: cannot read {path}: {problem}", hint=hint) from None
    if len(content) > LARGEST:
        raise UsageError(f"{variable}: {path} is larger than {LARGEST >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{variable}: {path} is not UTF-8: byte {error.start}") from None
