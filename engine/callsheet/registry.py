"""The engine's own functions that definitions may mention: name → `module:function`, imported when first used.

Modules are named relative to the package, as everywhere in the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BUILTINS: dict[str, str] = {
    "agent classify": ".cli.builtin.agent:classify_commands",
    "agent guard": ".cli.builtin.agent:write_guard",
    "agent hook": ".cli.builtin.agent:run_hook",
    "agent skill": ".cli.builtin.agent:write_skill",
    "alias list": ".cli.builtin.alias:list_aliases",
    "alias remove": ".cli.builtin.alias:remove_alias",
    "alias set": ".cli.builtin.alias:set_alias",
    "api": ".cli.builtin.operations:send_api_request",
    "auth login": ".cli.builtin.auth:log_in",
    "auth logout": ".cli.builtin.auth:log_out",
    "auth status": ".cli.builtin.auth:show_signin_status",
    "completion": ".cli.builtin.information:print_completion_script",
    "config list-sites": ".cli.builtin.auth:list_sites",
    "config path": ".cli.builtin.auth:print_settings_path",
    "config remove": ".cli.builtin.auth:forget_site",
    "config set": ".cli.builtin.auth:set_key",
    "config use": ".cli.builtin.auth:use_site",
    "config view": ".cli.builtin.auth:view_settings",
    "convert": ".cli.builtin.convert:convert_text",
    "definitions check": ".cli.builtin.definitions:check_definitions",
    "definitions import": ".cli.builtin.definitions:import_definitions",
    "definitions path": ".cli.builtin.definitions:print_definition_paths",
    "definitions schema": ".cli.builtin.definitions:print_schema",
    "definitions show": ".cli.builtin.definitions:show_definition",
    "definitions upgrade": ".cli.builtin.definitions:upgrade_definitions",
    "doctor": ".cli.builtin.doctor:run_checkup",
    "help": ".cli.builtin.information:show_help",
    "events": ".cli.builtin.information:list_event_types",
    "inbox dead": ".cli.builtin.inbox:list_dead_events",
    "inbox list": ".cli.builtin.inbox:list_events",
    "inbox purge": ".cli.builtin.inbox:purge_events",
    "inbox replay": ".cli.builtin.inbox:replay_events",
    "inbox show": ".cli.builtin.inbox:show_event",
    "inbox ui": ".cli.builtin.inbox:inbox_ui",
    "init": ".cli.builtin.auth:init_site",
    "listen": ".cli.builtin.listen:listen_for_events",
    "apply": ".cli.builtin.apply:apply_changes",
    "plan": ".cli.builtin.apply:plan_changes",
    "pull": ".cli.builtin.apply:pull_files",
    "mirror": ".cli.builtin.mirror:mirror_site",
    "mcp disable": ".mcp.mcp_hosts:disable_host",
    "mcp enable": ".mcp.mcp_hosts:enable_host",
    "mcp list": ".mcp.mcp_hosts:list_hosts",
    "mcp start": ".mcp.mcp_commands:start_on_pipes",
    "mcp stream": ".mcp.mcp_commands:start_on_http",
    "mcp token": ".mcp.mcp_commands:print_token",
    "mcp tools": ".mcp.mcp_commands:list_tools",
    "op call": ".cli.builtin.operations:call_operation",
    "op describe": ".cli.builtin.operations:print_description",
    "op list": ".cli.builtin.operations:list_operations_command",
    "op search": ".cli.builtin.operations:search_catalog",
    "op skeleton": ".cli.builtin.operations:print_skeleton",
    "sandbox reset": ".cli.builtin.sandbox:reset_sandbox",
    "journals list": ".cli.builtin.journals:list_journals",
    "journals show": ".cli.builtin.journals:show_journal",
    "sandbox start": ".cli.builtin.sandbox:start_sandbox",
    "sandbox stop": ".cli.builtin.sandbox:stop_sandbox",
    "trigger": ".cli.builtin.trigger:trigger_event",
    "open": ".cli.builtin.open:open_in_browser",
    "programs check": ".cli.builtin.programs:check_programs",
    "programs install": ".cli.builtin.programs:install_shared_program",
    "programs link": ".cli.builtin.programs:link_program",
    "programs list": ".cli.builtin.programs:list_programs",
    "programs new": ".cli.builtin.programs:new_program",
    "programs remove": ".cli.builtin.programs:remove_program",
    "programs run": ".cli.builtin.programs:run_program",
    "programs stubs": ".library.stubs:write_stubs",
    "programs share": ".cli.builtin.programs:share_program",
    "programs update": ".cli.builtin.programs:update_program",
    "ui": ".screen.start:show_screen",
    "undo": ".cli.builtin.journals:undo_journal",
    "sql": ".cli.builtin.mirror:query_mirror",
    "version": ".cli.builtin.information:print_version",
    "watch": ".cli.builtin.watch:watch_things",
    "webhook check": ".cli.builtin.webhooks:check_webhooks",
    "work": ".cli.builtin.listen:work_on_queue",
    "webhook secret delete": ".cli.builtin.webhooks:delete_webhook_secret",
    "webhook secret set": ".cli.builtin.webhooks:set_webhook_secret",
}

# Those that agents may run as tools: nothing else of a program's own is offered to them, whatever definitions say.
FOR_AGENTS: frozenset[str] = frozenset(
    {"inbox list", "inbox replay", "inbox show", "op call", "op describe", "op search", "sql", "undo"}
)
# Those of them that answer with what definitions say: nothing that others wrote.
OF_DEFINITIONS: frozenset[str] = frozenset({"op describe", "op search"})
# The tool that reads the rest of an answer.
READ_MORE = "read_more"
# Those of them that are as harmless, or not, as the operation that they are called with.
OF_ANY_OPERATION: frozenset[str] = frozenset({"op call"})

# Those that talk to others over this process's own input and output, or its sockets, until these end.
TALKING: frozenset[str] = frozenset({"inbox ui", "mcp start", "mcp stream"})
# Those that read their files again at SIGHUP, by which any other command ends.
SERVING: frozenset[str] = frozenset({"listen", "watch", "work"})

# What can be done with an event: each is a class made from its table in a route.
HANDLERS: dict[str, str] = {
    "append": ".listener.handlers.append_handler:Append",
    "command": ".listener.handlers.command_handler:Command",
    "exec": ".listener.handlers.exec_handler:HandlerProgram",
    "forward": ".listener.handlers.forward_handler:Forward",
    "publish": ".listener.handlers.publish:Publish",
    "python": ".listener.handlers.python_handler:Python",
}

# What a function that handles events gets a program by, and what else wants one as a script has it.
LIBRARY = ".library.program:open_in"

# Queues beyond this machine: each is a class that makes them, looks into them, and says what they promise.
QUEUES: dict[str, str] = {
    "jetstream": ".listener.queue.jetstream.jetstream_driver:JetStream",
}

# Brokers that events are handed to: each is a class that is made for one address.
BROKERS: dict[str, str] = {
    "amqp": ".listener.handlers.brokers:Amqp",
    "kafka": ".listener.handlers.brokers:Kafka",
    "pubsub": ".listener.handlers.brokers:PubSub",
    "redis-stream": ".listener.handlers.brokers:RedisStream",
    "sqs": ".listener.handlers.brokers:Sqs",
}

CONVERTERS: dict[str, str] = {
    "adf": ".commands.steps.converters:to_adf",
    "json": ".commands.steps.converters:from_json",
    "markdown": ".commands.steps.converters:to_markdown",
    "storage": ".commands.steps.converters:to_storage",
    "text": ".commands.steps.converters:plain_text",
    "wiki": ".commands.steps.converters:to_wiki",
    "wiki-of-adf": ".commands.steps.converters:wiki_of_adf",
}

# How a column shows its value.
COLUMN_FORMATS: dict[str, str] = {
    "adf": ".output.columns:document_cell",
    "adf-line": ".output.columns:document_line",
    "age": ".output.columns:age_cell",
    "bar": ".output.columns:bar_cell",
    "bytes": ".output.columns:size_cell",
    "count": ".output.columns:count_cell",
    "date": ".output.columns:local_date",
    "duration": ".output.columns:duration_cell",
    "hours": ".output.columns:hours_cell",
    "line": ".output.columns:first_line",
    "list": ".output.columns:joined_cell",
    "storage": ".output.columns:storage_cell",
    "storage-line": ".output.columns:storage_line",
    "time": ".output.columns:local_time",
    "yes": ".output.columns:yes_or_no_cell",
}

# What completes an option or argument besides the ids of a kind of definition.
COMPLETERS: dict[str, str] = {
    "alias": ".cli.completion.complete_value:complete_aliases",
    "definition": ".cli.completion.complete_value:complete_ids",
    "journal": ".cli.completion.complete_value:complete_journals",
    "kind": ".cli.completion.complete_value:complete_kinds",
    "http-method": ".cli.completion.complete_value:complete_methods",
    "parameter-of-operation": ".cli.completion.complete_value:complete_parameters",
    "own-program": ".cli.completion.complete_value:complete_own_programs",
    "program-name": ".cli.completion.complete_value:complete_programs",
    "setting": ".cli.completion.complete_value:complete_settings",
    "setting-value": ".cli.completion.complete_value:complete_setting_values",
    "site": ".cli.completion.complete_value:complete_sites",
    "tag": ".cli.completion.complete_value:complete_tags",
}

# How a result is printed.
OUTPUT_FORMATS: dict[str, str] = {
    "table": ".output.output_formats:TABLE",
    "json": ".output.output_formats:JSON",
    "ndjson": ".output.output_formats:NDJSON",
    "yaml": ".output.output_formats:YAML",
    "csv": ".output.output_formats:CSV",
    "markdown": ".output.output_formats:MARKDOWN",
    "id": ".output.output_formats:ID",
    "svg": ".output.output_formats:SVG",
}

# How a credential is presented to a service.
AUTH_SCHEMES: dict[str, str] = {
    "basic": ".sites.credentials.secrets:BASIC",
    "bearer": ".sites.credentials.secrets:BEARER",
    "key": ".sites.credentials.secrets:KEY",
    "all": ".sites.credentials.secrets:ALL",
    "oauth2": ".sites.credentials.secrets:OAUTH2",
    "none": ".sites.credentials.secrets:NONE",
}

# How the next page is asked for.
PAGINATION: dict[str, str] = {
    "offset": ".client.pagination.page_walk:OFFSET",
    "array": ".client.pagination.page_walk:ARRAY",
    "token": ".client.pagination.page_walk:TOKEN",
    "link": ".client.pagination.page_walk:LINK",
    "page": ".client.pagination.page_walk:PAGE",
}


# What a simulated site does that no definition can say.
BEHAVIORS: dict[str, str] = {
    "rank": ".sandbox.simulated_site:rank_items",
}

# Converters that read what a person writes as Markdown.
MARKDOWN: frozenset[str] = frozenset({"adf", "storage", "wiki", "markdown"})
# Those that Markdown is edited in, by an `edit` step.
EDITED: frozenset[str] = MARKDOWN - {"markdown"}

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
    **dict.fromkeys(("all", "resume", "count"), "flag"),
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
    "broker": BROKERS,
    "converter": CONVERTERS,
    "format": COLUMN_FORMATS,
    "output": OUTPUT_FORMATS,
    "scheme": AUTH_SCHEMES,
    "pagination": PAGINATION,
    "completer": COMPLETERS,
    "behavior": BEHAVIORS,
}


def resolve_entry(entry: str) -> Callable[..., Any]:
    from importlib import import_module

    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(import_module(module, __package__), name)
    return function


def registered_names() -> dict[str, set[str]]:
    """What each registry knows, for the check of definitions."""
    return {**{name: set(entries) for name, entries in REGISTRIES.items()}, "registry": set(REGISTRIES)}
