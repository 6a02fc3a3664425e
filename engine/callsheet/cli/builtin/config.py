"""`config`: the sites of the profiles file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, UsageError
from ...sites.credentials.secrets import account_of_secret
from ...sites.credentials.stores import open_store
from ...sites.profiles.choose import Variables, site_settings
from ...sites.profiles.read_profiles import profiles_path, read_profiles
from ..completion import word_cache

if TYPE_CHECKING:
    from ...sites.profiles.model import Profiles, SiteProfile


def read_profiles_here(context: Context) -> Profiles:
    return read_profiles(context.catalog, context.environ)


def use(context: Context, values: ParameterValues) -> None:
    from ...sites.profiles.edit import edit_profiles, put_setting

    name = values["site"]
    site_settings(read_profiles_here(context), name)
    if context.only_tries(f"commands would use {name}"):
        return
    with edit_profiles(context.catalog, context.environ) as document:
        put_setting(document, ("site",), name)
    context.note(f"now using site {name}")


def list_sites(context: Context, values: ParameterValues) -> None:
    del values
    found = read_profiles_here(context)
    rows = []
    for name, site in found.get("sites", {}).items():
        addresses = [site.get("base_url"), *(s.get("base_url") for s in site.get("services", {}).values())]
        row = {"name": name, "active": name == found.get("site"), "base_url": [each for each in addresses if each]}
        rows.append({**row, "deployment": site.get("deployment"), "method": site.get("method")})
    context.output(context.catalog.get("view", "site")).items(rows)


def view(context: Context, values: ParameterValues) -> None:
    """The whole file, or one site of it. It holds no credential."""
    found = read_profiles_here(context)
    name = values.get("name") or context.option("site")
    shown = site_settings(found, name) if name else found
    if context.output_format in ("table", "id", "csv"):
        import tomlkit

        context.streams.out.write(tomlkit.dumps({"sites": {name: shown}} if name else shown))
    else:
        context.output().one(shown)


def path(context: Context, values: ParameterValues) -> None:
    del values
    context.streams.out.write(profiles_path(context.environ, context.program) + "\n")


def set_key(context: Context, values: ParameterValues) -> None:
    """`KEY VALUE`, where a key of the active site needs no `sites.NAME.` before it; an empty value takes it away."""
    from ...sites.profiles.edit import edit_profiles, put_setting, split_key, typed_setting

    keys = split_key(values["key"])
    if keys[0] not in ("site", "sites"):
        found = read_profiles_here(context)
        chosen = Variables(context.definition["prefix"], context.environ).get("SITE")
        name = context.option("site") or chosen or found.get("site")
        if not name:
            raise UsageError("no site selected", hint="name the key in full: sites.NAME.KEY")
        keys = ("sites", name, *keys)
    if keys[0] == "sites" and len(keys) > 1 and keys[-1] != "base_url":
        site_settings(read_profiles_here(context), keys[1])
    value = typed_setting(keys, values["value"])
    if context.only_tries(f"{'.'.join(keys)} would be set"):
        return
    with edit_profiles(context.catalog, context.environ) as document:
        put_setting(document, keys, None if values["value"] == "" else value)


def remove(context: Context, values: ParameterValues) -> None:
    """The site and what a store keeps for it."""
    from ...sites.profiles.edit import edit_profiles, remove_site

    name = values["site"]
    settings = site_settings(read_profiles_here(context), name)
    context.confirm(f"Remove site {name} and its credentials?")
    if context.only_tries(f"site {name} would be removed"):
        return
    for problem in delete_credentials(context, name, settings):
        context.note(problem)
    with edit_profiles(context.catalog, context.environ) as document:
        remove_site(document, name)
    context.note(f"removed site {name}")


def delete_credentials(context: Context, name: str, settings: SiteProfile) -> list[str]:
    """Delete the stored credentials of a site; what could not be deleted comes back, in words.

    Names that a shell was offered go with them: somebody else may sign in next.
    """
    word_cache.forget_words(context.environ, context.program, name)
    problems = []
    variables = Variables(context.definition["prefix"], context.environ)
    for service, access in [("", settings), *settings.get("services", {}).items()]:
        if access.get("store"):
            kept_as = account_of_secret(name, settings, service)
            try:
                open_store(access["store"], variables, context.environ, context.program).delete(kept_as)
            except CallsheetError as error:
                problems.append(f"the credential {kept_as!r} is still stored: {error.message}")
    return problems
