"""How this copy was installed: the command that starts it again, and the command that adds a package to it."""

from __future__ import annotations

import os
import re
import sys

_EXTRA = r"""extra\s*==\s*['"]([^'"]+)['"]"""
# Files that tools leave at the root of the environments that they make.
_PIPX, _UV_TOOL = "pipx_metadata.json", "uv-receipt.toml"


def how_to_add(*requirements: str, extra: str | None = None) -> str:
    """The command that adds packages, or those of an `extra` of this distribution, to this installation.

    It is a line for a shell, quoted so that every usual shell reads it, those of Windows too. Where packages are added
    to what is there, they are named themselves: an index may have none of our name, or somebody else's.
    """
    named = requirements or (f"{distribution_name()}[{extra}]",)
    added_here = requirements or _requirements_of(extra)
    if is_single_file():
        return f"a program in a single file takes no packages; install it with: pipx install {_quoted_command(named)}"
    if _left_by(_PIPX):
        return f"install it with: pipx inject {distribution_name()} {_quoted_command(added_here)}"
    if _left_by(_UV_TOOL):
        added = " ".join(f"--with {_quoted_command([each])}" for each in requirements)
        target = f"{added} {distribution_name()}" if requirements else _quoted_command(named)
        return f"install it with: uv tool install --force {target}"
    if _is_managed_by_the_system():
        return f"install it in an environment of its own: pipx install {_quoted_command(named)}"
    if _has_pip():
        return f'install it with: "{sys.executable}" -m pip install {_quoted_command(added_here)}'
    return f'install it with: uv pip install --python "{sys.executable}" {_quoted_command(added_here)}'


def own_command(program: str) -> list[str]:
    """The words that start the running program again, whatever the PATH says and whatever lies in the directory."""
    if is_single_file():
        return [sys.executable, os.path.abspath(sys.argv[0])]
    return [sys.executable, "-P", "-c", start_code(program)]


def start_code(program: str) -> str:
    """Python that starts a program of this engine, and of no other package of its name."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    begun = f"from {distribution_name()}.cli.entry import start; start({program!r})"
    return f"import sys; sys.path.append({package!r}); {begun}"


def distribution_name() -> str:
    """The name under which this package is installed."""
    return __name__.partition(".")[0]


def is_single_file() -> bool:
    """Whether the program that runs is one file with everything in it (a zipapp)."""
    # Not zipfile, which takes longer to load than a person at the Tab key should wait.
    from zipimport import ZipImportError, zipimporter

    try:
        return os.path.isfile(sys.argv[0]) and zipimporter(sys.argv[0]) is not None
    except ZipImportError:
        return False


def _requirements_of(extra: str | None) -> list[str]:
    """What an extra consists of, by the distribution's own metadata; its name where that cannot be read."""
    from importlib import metadata

    try:
        listed = metadata.requires(distribution_name()) or []
    except metadata.PackageNotFoundError:
        listed = []
    found = [each.partition(";")[0].strip() for each in listed if extra in re.findall(_EXTRA, each)]
    return found or [f"{distribution_name()}[{extra}]"]


def _left_by(name: str) -> bool:
    return os.path.isfile(os.path.join(sys.prefix, name))


def _is_managed_by_the_system() -> bool:
    """Whether the system's package manager wants nobody else to install here (PEP 668)."""
    import sysconfig

    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.isfile(marker)


def _has_pip() -> bool:
    from importlib.util import find_spec

    return find_spec("pip") is not None


def _quoted_command(words: tuple[str, ...] | list[str]) -> str:
    return " ".join(f'"{word}"' if re.search(r"[^\w.-]", word) else word for word in words)
