"""The engine's own functions that definitions may mention: name → `module:function`, imported when first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BUILTINS: dict[str, str] = {
    "agent classify": "callsheet.cli.builtin.agent:classify",
    "agent guard": "callsheet.cli.builtin.agent:guard",
    "agent hook": "callsheet.cli.builtin.agent:hook",
    "agent skill": "callsheet.cli.builtin.agent:skill",
    "alias list": "callsheet.cli.builtin.alias:list_aliases",
    "alias remove": "callsheet.cli.builtin.alias:remove_alias",
    "alias set": "callsheet.cli.builtin.alias:set_alias",
    "api": "callsheet.cli.builtin.api:api",
    "auth login": "callsheet.cli.builtin.auth:login",
    "auth logout": "callsheet.cli.builtin.auth:logout",
    "auth status": "callsheet.cli.builtin.auth:status",
    "completion": "callsheet.cli.builtin.completion:completion",
    "config list-sites": "callsheet.cli.builtin.config:list_sites",
    "config path": "callsheet.cli.builtin.config:path",
    "config remove": "callsheet.cli.builtin.config:remove",
    "config set": "callsheet.cli.builtin.config:set_key",
    "config use": "callsheet.cli.builtin.config:use",
    "config view": "callsheet.cli.builtin.config:view",
    "convert": "callsheet.cli.builtin.convert:convert",
    "definitions check": "callsheet.cli.builtin.definitions:check",
    "definitions import": "callsheet.cli.builtin.definitions_import:import_definitions",
    "definitions path": "callsheet.cli.builtin.definitions:path",
    "definitions schema": "callsheet.cli.builtin.definitions:schema",
    "definitions show": "callsheet.cli.builtin.definitions:show",
    "definitions upgrade": "callsheet.cli.builtin.definitions:upgrade",
    "doctor": "callsheet.cli.builtin.doctor:doctor",
    "help": "callsheet.cli.builtin.help:show_help",
    "events": "callsheet.cli.builtin.events:events",
    "inbox dead": "callsheet.cli.builtin.inbox:dead",
    "inbox list": "callsheet.cli.builtin.inbox:list_events",
    "inbox purge": "callsheet.cli.builtin.inbox:purge",
    "inbox replay": "callsheet.cli.builtin.inbox:replay",
    "inbox show": "callsheet.cli.builtin.inbox:show",
    "init": "callsheet.cli.builtin.init:init",
    "listen": "callsheet.cli.builtin.listen:listen",
    "mcp disable": "callsheet.mcp.enable:disable",
    "mcp enable": "callsheet.mcp.enable:enable",
    "mcp list": "callsheet.mcp.enable:list_hosts",
    "mcp start": "callsheet.mcp.commands:start",
    "mcp stream": "callsheet.mcp.commands:stream",
    "mcp token": "callsheet.mcp.commands:print_token",
    "mcp tools": "callsheet.mcp.commands:tools",
    "op call": "callsheet.cli.builtin.op_call:call",
    "op describe": "callsheet.cli.builtin.op:describe",
    "op list": "callsheet.cli.builtin.op:list_operations_command",
    "op search": "callsheet.cli.builtin.op:search",
    "op skeleton": "callsheet.cli.builtin.op:skeleton",
    "sandbox reset": "callsheet.cli.builtin.sandbox:reset",
    "journals list": "callsheet.cli.builtin.journals:list_journals",
    "journals show": "callsheet.cli.builtin.journals:show_journal",
    "sandbox start": "callsheet.cli.builtin.sandbox:start",
    "sandbox stop": "callsheet.cli.builtin.sandbox:stop",
    "trigger": "callsheet.cli.builtin.trigger:trigger",
    "open": "callsheet.cli.builtin.open:open_in_browser",
    "programs check": "callsheet.cli.builtin.programs:check",
    "programs install": "callsheet.cli.builtin.programs_share:install",
    "programs link": "callsheet.cli.builtin.programs:link",
    "programs list": "callsheet.cli.builtin.programs:list_programs",
    "programs new": "callsheet.cli.builtin.programs:new",
    "programs remove": "callsheet.cli.builtin.programs:remove",
    "programs run": "callsheet.cli.builtin.programs:run_program",
    "programs share": "callsheet.cli.builtin.programs_share:share",
    "undo": "callsheet.cli.builtin.journals:undo_journal",
    "version": "callsheet.cli.builtin.version:version",
    "webhook check": "callsheet.cli.builtin.webhook_check:check",
    "work": "callsheet.cli.builtin.work:work",
    "webhook secret delete": "callsheet.cli.builtin.webhook_secret:delete",
    "webhook secret set": "callsheet.cli.builtin.webhook_secret:put",
}

# Those that agents may run as tools: nothing else of a program's own is offered to them, whatever definitions say.
FOR_AGENTS: frozenset[str] = frozenset({"op call", "op describe", "op search"})

# What can be done with an event: each is a class made from its table in a route.
HANDLERS: dict[str, str] = {
    "append": "callsheet.listener.handlers.append:Append",
    "command": "callsheet.listener.handlers.command:Command",
    "exec": "callsheet.listener.handlers.program:HandlerProgram",
    "forward": "callsheet.listener.handlers.forward:Forward",
    "python": "callsheet.listener.handlers.python:Python",
}

# Queues beyond this machine: each is a class that makes them, looks into them, and says what they promise.
QUEUES: dict[str, str] = {
    "jetstream": "callsheet.listener.queue.jetstream.driver:JetStream",
}

CONVERTERS: dict[str, str] = {
    "adf": "callsheet.commands.steps.rich_text:adf",
    "json": "callsheet.commands.steps.converters:from_json",
    "markdown": "callsheet.commands.steps.rich_text:markdown",
    "storage": "callsheet.commands.steps.rich_text:storage",
    "text": "callsheet.commands.steps.converters:plain",
    "wiki": "callsheet.commands.steps.rich_text:wiki",
    "wiki-of-adf": "callsheet.commands.steps.rich_text:wiki_of_adf",
}

# How a column shows its value.
COLUMN_FORMATS: dict[str, str] = {
    "adf": "callsheet.output.formats:document",
    "adf-line": "callsheet.output.formats:document_line",
    "age": "callsheet.output.formats:age",
    "bytes": "callsheet.output.formats:size",
    "count": "callsheet.output.formats:count",
    "date": "callsheet.output.formats:local_date",
    "duration": "callsheet.output.formats:duration",
    "hours": "callsheet.output.formats:hours",
    "line": "callsheet.output.formats:first_line",
    "list": "callsheet.output.formats:joined",
    "storage": "callsheet.output.formats:storage",
    "storage-line": "callsheet.output.formats:storage_line",
    "time": "callsheet.output.formats:local_time",
    "yes": "callsheet.output.formats:yes",
}

# What completes an option or argument besides the ids of a kind of definition.
COMPLETERS: dict[str, str] = {
    "alias": "callsheet.cli.completion.local:aliases",
    "definition": "callsheet.cli.completion.local:ids",
    "kind": "callsheet.cli.completion.local:kinds",
    "http-method": "callsheet.cli.completion.local:methods",
    "parameter-of-operation": "callsheet.cli.completion.local:parameters",
    "own-program": "callsheet.cli.completion.local:own_programs",
    "program-name": "callsheet.cli.completion.local:programs",
    "setting": "callsheet.cli.completion.local:settings",
    "setting-value": "callsheet.cli.completion.local:setting_values",
    "site": "callsheet.cli.completion.local:sites",
    "tag": "callsheet.cli.completion.local:tags",
}

# How a result is printed.
OUTPUT_FORMATS: dict[str, str] = {
    "table": "callsheet.output.render:TABLE",
    "json": "callsheet.output.render:JSON",
    "ndjson": "callsheet.output.render:NDJSON",
    "yaml": "callsheet.output.render:YAML",
    "csv": "callsheet.output.render:CSV",
    "id": "callsheet.output.render:ID",
}

# How a credential is presented to a service.
AUTH_SCHEMES: dict[str, str] = {
    "basic": "callsheet.sites.credentials.schemes:BASIC",
    "bearer": "callsheet.sites.credentials.schemes:BEARER",
    "key": "callsheet.sites.credentials.schemes:KEY",
    "all": "callsheet.sites.credentials.schemes:ALL",
    "oauth2": "callsheet.sites.credentials.schemes:OAUTH2",
    "none": "callsheet.sites.credentials.schemes:NONE",
}

# How the next page is asked for.
PAGINATION: dict[str, str] = {
    "offset": "callsheet.client.pagination.offset:OFFSET",
    "array": "callsheet.client.pagination.offset:ARRAY",
    "token": "callsheet.client.pagination.token:TOKEN",
    "link": "callsheet.client.pagination.link:LINK",
    "page": "callsheet.client.pagination.page:PAGE",
}


# What a simulated site does that no definition can say.
BEHAVIORS: dict[str, str] = {
    "rank": "callsheet.sandbox.behaviors:rank",
}

# Converters that read what a person writes as Markdown.
MARKDOWN: frozenset[str] = frozenset({"adf", "storage", "wiki", "markdown"})

# Constructs of rich text that readers and writers make themselves: definitions can change them, but not take them away.
NODES: frozenset[str] = frozenset(
    {
        *("doc", "paragraph", "heading", "quote", "bullets", "numbers", "item", "code", "rule"),
        *("table", "row", "cell", "header", "figure", "image", "text", "break", "macro", "expand"),
        *("strong", "em", "strike", "codespan", "link"),
    }
)

# Options of a whole program that mean something to the engine, and how it reads them. Others mean nothing to it.
OPTIONS: dict[str, str] = {
    **dict.fromkeys(("output", "jq", "query", "columns", "site", "base-url", "color", "template"), "text"),
    **dict.fromkeys(("dry-run", "resolve", "show-token", "yes", "quiet", "verbose", "no-input"), "flag"),
    **dict.fromkeys(("no-color", "no-headers", "raw", "web"), "flag"),
    "timeout": "duration",
    "rps": "number",
}
# Options that agree to something or show what is secret: no message suggests one to a person who did not write it.
UNSUGGESTED = frozenset({"yes", "force", "show-token", "insecure"})
# Settings of a site that expressions see as `site.<name>`.
SITE_SETTINGS = ("project", "board")
PAGING: dict[str, str] = {
    **dict.fromkeys(("limit", "max"), "integer"),
    **dict.fromkeys(("all", "resume"), "flag"),
    "page-token": "text",
    "out": "path",
}

# Options of commands that change each item of a list: where a journal is written, and one to go on with.
JOURNAL: dict[str, str] = {"journal": "path", "resume": "path"}

# The names of a registry are what definitions may say there; nothing lists them a second time.
REGISTRIES: dict[str, dict[str, str]] = {
    "builtin": BUILTINS,
    "handler": HANDLERS,
    "queue": QUEUES,
    "converter": CONVERTERS,
    "format": COLUMN_FORMATS,
    "output": OUTPUT_FORMATS,
    "scheme": AUTH_SCHEMES,
    "pagination": PAGINATION,
    "completer": COMPLETERS,
    "behavior": BEHAVIORS,
}


def resolve(entry: str) -> Callable[..., Any]:
    from importlib import import_module

    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def names() -> dict[str, set[str]]:
    """What each registry knows, for the check of definitions."""
    return {**{name: set(entries) for name, entries in REGISTRIES.items()}, "registry": set(REGISTRIES)}
