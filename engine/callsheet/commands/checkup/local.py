"""Checks of a site that ask nobody, and the rows in which a check-up is shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from ...errors import CallsheetError, counted
from ...files import changeable_by_others, is_shared_with_others
from ...language.layers import files_of
from ...paths import cache_directory, own_definitions, settings_directory
from ...sites.credentials.stores import FILE, chosen_name, open_store
from ...sites.profiles.choose import Variables, profiles_path, read_profiles
from ..context import Context

# One line of a check-up.


Status = Literal["ok", "warn", "fail", "skip"]


class Row(NamedTuple):
    """`remedy` says what to do, and is empty where nothing has to be done."""

    check: str
    status: Status
    detail: str
    remedy: str = ""


Check = Callable[[], Iterator[Row]]


def guarded_rows(name: str, check: Check) -> Iterator[Row]:
    """The rows of a check; a failure of the check itself is one of them."""
    try:
        yield from check()
    except CallsheetError as error:
        yield failed_row(name, error)
    except Exception as error:  # noqa: BLE001 - a check-up has to survive what it looks at
        yield Row(name, "fail", f"unexpected: {type(error).__name__}: {error}", "report this as a bug")


def failed_row(name: str, error: CallsheetError, status: Status = "fail") -> Row:
    detail = "; ".join([error.message, *error.details[:3]])
    return Row(name, status, detail, error.hint or "see the message")


# Checks that send nothing: files, rights, definitions, the key store.


def check_configuration(context: Context) -> Iterator[Row]:
    path = profiles_path(context.environ, context.program)
    if not os.path.exists(path):
        yield Row("configuration", "ok", f"no {path}: only options and environment variables are used")
        return
    found = read_profiles(context.catalog, context.environ)
    sites = ", ".join(found.get("sites", {})) or "none"
    yield Row("configuration", "ok", f"{path}; sites: {sites}; active: {found.get('site', 'none')}")


def check_permissions(context: Context) -> Iterator[Row]:
    """Secrets that others can read, and files by which others could lead requests elsewhere."""
    directory = settings_directory(context.environ, context.program)
    aliases_path = os.path.join(directory, "aliases.toml")
    problems = 0
    for path in [os.path.join(directory, "credentials.enc"), *_password_files(context)]:
        if os.path.exists(path) and is_shared_with_others(os.stat(path)):
            problems += 1
            yield Row("permissions", "fail", f"{path} can be read by others", f"chmod 600 {path}")
    obeyed = (
        profiles_path(context.environ, context.program),
        aliases_path,
        own_definitions(context.environ, context.program),
    )
    for doubt in dict.fromkeys(filter(None, map(changeable_by_others, obeyed))):
        problems += 1
        yield Row("permissions", "fail", str(doubt), doubt.remedy)
    cache = changeable_by_others(cache_directory(context.environ))
    if cache is not None:
        problems += 1
        yield Row("permissions", "warn", f"{cache}, so what is kept there is not used", cache.remedy)
    if not problems:
        there = os.path.exists(directory)
        yield Row("permissions", "ok", f"{directory} {'can be changed only by you' if there else 'does not exist yet'}")


def _password_files(context: Context) -> list[str]:
    variables = Variables(context.definition["prefix"], context.environ)
    file = variables.get("KEYRING_PASSWORD_FILE")
    return [file] if file else []


def check_definition_files(context: Context) -> Iterator[Row]:
    if context.broken is not None:
        yield failed_row("definitions", context.broken)._replace(
            remedy=context.broken.hint or "fix the file, or move it away"
        )
        return
    files = sum(len(files_of(layer)) for layer in context.layers)
    kinds = context.catalog.kinds()
    ((offered,),) = context.catalog.query("SELECT count(*) FROM operation")
    yield Row(
        "definitions", "ok", f"{sum(kinds.values())} in {counted(files, 'file')}, {counted(offered, 'operation')}"
    )


def check_catalog(context: Context) -> Iterator[Row]:
    path = context.catalog.path
    if os.path.exists(path):
        yield Row("catalog", "ok", path)
    else:
        remedy = f"make {os.path.dirname(path)} writable, or name another directory in CALLSHEET_CACHE"
        yield Row("catalog", "warn", "compiled again at every start, because it cannot be written", remedy)


def key_store(context: Context) -> Iterator[Row]:
    """The store in use; not having one only matters where a site keeps its credential there."""
    from ...sites.credentials.keychain import Keychain

    variables = Variables(context.definition["prefix"], context.environ)
    store = open_store(chosen_name(variables), variables, context.environ, context.program)
    if isinstance(store, Keychain):
        yield Row("key store", "ok", store.check())
    else:
        store.get("")
        yield Row("key store", "ok", f"encrypted file in {settings_directory(context.environ, context.program)}")


def needs_store(context: Context) -> bool:
    return any(
        place in (FILE, "keyring")
        for site in read_profiles(context.catalog, context.environ).get("sites", {}).values()
        for place in [site.get("store"), *(access.get("store") for access in site.get("services", {}).values())]
    )
