"""The engine's own functions that definitions may mention: name → `module:function`, imported when first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BUILTINS: dict[str, str] = {
    "alias list": "callsheet.builtin.alias:list_aliases",
    "alias remove": "callsheet.builtin.alias:remove_alias",
    "alias set": "callsheet.builtin.alias:set_alias",
    "api": "callsheet.builtin.api:api",
    "auth login": "callsheet.builtin.auth:login",
    "auth logout": "callsheet.builtin.auth:logout",
    "auth status": "callsheet.builtin.auth:status",
    "completion": "callsheet.builtin.completion:completion",
    "config list-sites": "callsheet.builtin.config:list_sites",
    "config path": "callsheet.builtin.config:path",
    "config remove": "callsheet.builtin.config:remove",
    "config set": "callsheet.builtin.config:set_key",
    "config use": "callsheet.builtin.config:use",
    "config view": "callsheet.builtin.config:view",
    "convert": "callsheet.builtin.convert:convert",
    "definitions check": "callsheet.builtin.definitions:check",
    "definitions import": "callsheet.builtin.definitions_import:import_definitions",
    "definitions path": "callsheet.builtin.definitions:path",
    "definitions schema": "callsheet.builtin.definitions:schema",
    "definitions show": "callsheet.builtin.definitions:show",
    "doctor": "callsheet.builtin.doctor:doctor",
    "events": "callsheet.builtin.events:events",
    "inbox dead": "callsheet.builtin.inbox:dead",
    "inbox list": "callsheet.builtin.inbox:list_events",
    "inbox purge": "callsheet.builtin.inbox:purge",
    "inbox replay": "callsheet.builtin.inbox:replay",
    "inbox show": "callsheet.builtin.inbox:show",
    "init": "callsheet.builtin.init:init",
    "listen": "callsheet.builtin.listen:listen",
    "op call": "callsheet.builtin.op_call:call",
    "op describe": "callsheet.builtin.op:describe",
    "op list": "callsheet.builtin.op:list_operations_command",
    "op search": "callsheet.builtin.op:search",
    "op skeleton": "callsheet.builtin.op:skeleton",
    "trigger": "callsheet.builtin.trigger:trigger",
    "open": "callsheet.builtin.open:open_in_browser",
    "version": "callsheet.builtin.version:version",
    "webhook check": "callsheet.builtin.webhook_check:check",
    "webhook secret delete": "callsheet.builtin.webhook_secret:delete",
    "webhook secret set": "callsheet.builtin.webhook_secret:put",
}

# What can be done with an event: each is a class made from its table in a route.
HANDLERS: dict[str, str] = {
    "append": "callsheet.listener.handlers.append:Append",
    "command": "callsheet.listener.handlers.command:Command",
    "exec": "callsheet.listener.handlers.program:Program",
    "forward": "callsheet.listener.handlers.forward:Forward",
    "python": "callsheet.listener.handlers.python:Python",
}

CONVERTERS: dict[str, str] = {
    "adf": "callsheet.richtext.converters:adf",
    "json": "callsheet.steps.convert:from_json",
    "markdown-of-storage": "callsheet.richtext.converters:markdown_of_storage",
    "storage": "callsheet.richtext.converters:storage",
    "text": "callsheet.steps.convert:plain",
    "wiki": "callsheet.richtext.converters:wiki",
    "wiki-of-adf": "callsheet.richtext.converters:wiki_of_adf",
}

# What completes an option or argument besides the ids of a kind of definition.
COMPLETERS: dict[str, str] = {
    "alias": "callsheet.completers:aliases",
    "definition": "callsheet.completers:ids",
    "kind": "callsheet.completers:kinds",
    "http-method": "callsheet.completers:methods",
    "parameter-of-operation": "callsheet.completers:parameters",
    "site": "callsheet.completers:sites",
    "tag": "callsheet.completers:tags",
}


def resolve(entry: str) -> Callable[..., Any]:
    from importlib import import_module

    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def names() -> dict[str, set[str]]:
    """What each registry knows, for the check of definitions."""
    from .output.formats import FORMATS

    return {"builtin": set(BUILTINS), "handler": set(HANDLERS), "converter": set(CONVERTERS), "format": set(FORMATS)}
