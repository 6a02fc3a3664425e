"""`sandbox`: a local site to try everything on."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, UsageError, did_you_mean
from ...files import read_private
from ...installation import own_command
from ...sandbox import sandbox_server as process
from ...urls import base_url, is_loopback, refuse_login

NAME = "sandbox"
_METHOD = "none"


def start_sandbox(context: Context, values: ParameterValues) -> None:
    """In the background, unless `foreground`; the site is saved under its name, so that it can be used at once."""
    deployment = _choose_deployment(context, values)
    _check_values(values)
    _refuse_other_site(context)
    if context.only_tries(f"a sandbox ({deployment}) would start"):
        return
    if values["foreground"]:
        import asyncio

        _refuse_second(context)
        asyncio.run(_serve_sandbox(context, values, deployment))
        return
    with process.starting_lock(context.environ, context.program):
        _refuse_second(context)
        words = [*own_command(context.program), *_foreground_words(values)]
        running = process.start_detached(words, context.environ, context.program)
    context.note(f"use it with --site {NAME}; stop it with `{context.program} sandbox stop`")
    _report_running(context, running)


def stop_sandbox(context: Context, _values: ParameterValues) -> None:
    running = _running_sandbox(context)
    if context.only_tries(f"the sandbox at {running.address} would stop"):
        return
    if not process.ask_sandbox(running, "stop"):
        raise CallsheetError(f"the sandbox at {running.address} did not stop")
    process.forget_sandbox(context.environ, context.program)
    context.note(f"the sandbox at {running.address} has stopped")


def reset_sandbox(context: Context, _values: ParameterValues) -> None:
    running = _running_sandbox(context)
    if context.only_tries(f"the sandbox at {running.address} would be as new"):
        return
    context.confirm(f"put the sandbox at {running.address} back to its beginning?")
    if not process.ask_sandbox(running, "reset"):
        raise CallsheetError(f"the sandbox at {running.address} could not be reset")
    context.note(f"the sandbox at {running.address} has its initial data again")


def _refuse_second(context: Context) -> None:
    if running := process.running_sandbox(context.environ, context.program):
        raise UsageError(
            f"the sandbox is already running at {running.address}", hint="stop it with `{program} sandbox stop`"
        )


def _running_sandbox(context: Context) -> process.RunningSandbox:
    running = process.running_sandbox(context.environ, context.program)
    if running is None:
        raise UsageError("no sandbox is running", hint="start it with `{program} sandbox start`")
    return running


def _choose_deployment(context: Context, values: ParameterValues) -> str:
    known = context.catalog.deployments.ids()
    wanted = values.get("deployment")
    if wanted is not None and wanted not in known:
        raise UsageError(f"--deployment {wanted!r} is not one of {', '.join(known)}{did_you_mean(wanted, known)}")
    for product in values.get("product") or []:
        if product not in (products := context.catalog.products.ids()):
            raise UsageError(f"no product {product!r}{did_you_mean(product, products)}")
    return wanted or next(iter(known), "")


def _check_values(values: ParameterValues) -> None:
    from ...sandbox.simulated_site import parse_fault
    from ...sandbox.state import refuse_other_file

    for text in values.get("fail") or []:
        parse_fault(text)
    if values.get("state") is not None:
        refuse_other_file(values["state"])
    if values.get("webhooks") is not None:
        refuse_login(values["webhooks"], "--webhooks", "events are signed with what --webhook-secret-file names")
        base_url(values["webhooks"], "--webhooks")
    elif values.get("webhook-secret-file"):
        raise UsageError("--webhook-secret-file signs nothing without --webhooks")
    _read_secret(values)
    port, limit = values.get("port"), values.get("rate-limit")
    if port is not None and not 0 <= port <= 65535:
        raise UsageError(f"--port expects a number from 0 to 65535, not {port}")
    if limit is not None and limit < 1:
        raise UsageError(f"--rate-limit expects a number above 0, not {limit}")


def _read_secret(values: ParameterValues) -> str | None:
    """The only line of the file: a secret on a command line could be read in the list of processes."""
    path = values.get("webhook-secret-file")
    if path is None:
        return None
    secret: str = read_private(path, "the secret's file").decode("utf-8", "replace").strip()
    if not secret or "\n" in secret:
        raise UsageError(f"{path}: expected one secret on one line")
    return secret


def _foreground_words(values: ParameterValues) -> list[str]:
    """The same command again, in the foreground."""
    paths = ("state", "webhook-secret-file")
    given = {**values, **{name: os.path.abspath(values[name]) for name in paths if values.get(name)}}
    names = ("port", "deployment", "rate-limit", "webhooks", *paths)
    kept = [name for name in names if given.get(name) is not None]
    words = ["sandbox", "start", "--foreground", "--output=json", *(f"--{name}={given[name]}" for name in kept)]
    if values.get("latency") is not None:
        words.append(f"--latency={values['latency']}s")
    words += [f"--product={name}" for name in values.get("product") or []]
    return words + [f"--fail={text}" for text in values.get("fail") or []]


async def _serve_sandbox(context: Context, values: ParameterValues, deployment: str) -> None:
    import asyncio

    from ...sandbox.sandbox_server import Server
    from ...sandbox.simulated_site import Faults, SandboxSite, Webhooks, parse_fault

    faults = Faults(
        [parse_fault(text) for text in values.get("fail") or []],
        values.get("latency") or 0.0,
        values.get("rate-limit") or 0,
    )
    webhooks = Webhooks(values["webhooks"], _read_secret(values)) if values.get("webhooks") else None
    site = SandboxSite(context.catalog, deployment, values.get("state"), webhooks, values.get("product"))
    token = secrets.token_urlsafe(24)
    server = Server(site, faults, token)
    port = await _begin_serving(server, values.get("port"), _last_port(context))
    site.address = f"http://127.0.0.1:{port}"
    running = process.RunningSandbox(site.address, deployment, token, os.getpid())
    _save_site(context, running)
    process.remember_sandbox(context.environ, context.program, running)
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(number, server.stopped.set)
    context.note(f"sandbox ({deployment}) at {site.address}; use it with --site {NAME}")
    await server.stopped.wait()
    await server.end_listening()
    process.forget_sandbox(context.environ, context.program, running)
    site.close()


async def _begin_serving(server: Any, port: int | None, last: int) -> int:
    if port is None and last:
        with contextlib.suppress(OSError):  # somebody else has it now
            return int(await server.begin_listening(last))
    try:
        return int(await server.begin_listening(port or 0))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)  # the loop's own words repeat the address
        raise UsageError(f"cannot listen on port {port or 0}: {why}", hint="--port 0 takes a free one") from None


def _last_port(context: Context) -> int:
    """The one that it had before, 0 for none: its address stays the same, and nothing has to be saved again."""
    return urlsplit(_saved_settings(context).get("base_url", "")).port or 0


def _saved_settings(context: Context) -> Mapping[str, Any]:
    from ...sites.profiles.choose import read_profiles

    return read_profiles(context.catalog, context.environ).get("sites", {}).get(NAME) or {}


def _save_site(context: Context, running: process.RunningSandbox) -> None:
    """So that `--site sandbox` means it."""
    settings: dict[str, Any] = {"base_url": running.address, "deployment": running.deployment}
    if _METHOD in context.catalog.auth_methods.ids():
        settings["method"] = _METHOD
        services = context.catalog.services.all()
        if strict := [id for id, service in services.items() if _METHOD not in service.get("auth", [_METHOD])]:
            settings["services"] = {id: {"method": _METHOD} for id in strict}
    if _saved_settings(context) == settings:
        return
    from ...sites.profiles.edit import edit_profiles, put_site  # loads what checks the file

    with edit_profiles(context.catalog, context.environ) as document:
        put_site(document, NAME, settings)


def _refuse_other_site(context: Context) -> None:
    """A site of that name on another machine is somebody's own, and stays."""
    address = _saved_settings(context).get("base_url")
    if address is not None and not is_loopback(urlsplit(address).hostname or ""):
        raise UsageError(f"the site {NAME!r} is {address}", hint="give that site another name, then start the sandbox")


def _report_running(context: Context, running: process.RunningSandbox) -> None:
    row = {"name": NAME, "base_url": running.address, "deployment": running.deployment, "process": running.process}
    context.output(context.catalog.views.get("sandbox")).print_one(row)
