"""Groups, commands and views for the obvious operations of an API."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.safety import class_of_operation
from ..openapi.schemas import JSON, is_json
from .api_resources import (
    DATA,
    SET,
    Api,
    CommandValues,
    WordedCommand,
    add_resources,
    arguments_of,
    body_of,
    first_sentence,
    jmespath_field,
    option_identifier,
    option_name,
    options_of,
    resources_of,
    view_of,
)
from .naming import CommandWords, NamedCommand, command_word, named_commands

if TYPE_CHECKING:
    from ..language.shape.rest import Body, OperationDefinition

Tables = dict[str, dict[str, Any]]
_DATA = {
    "name": DATA,
    "short": "d",
    "metavar": "JSON|@FILE|@-",
    "convert": "json",
    "help": "the body of the request, or more of it, as JSON",
}
_SET = {
    "name": SET,
    "multiple": True,
    "metavar": "NAME=VALUE",
    "help": "any member of the body: address.city=Bonn, tags=a tags=b, size:=JSON",
}
_DONE = {
    "columns": [{"name": "ID", "value": "id"}, {"name": "DONE", "value": "done"}],
    "id": "id",
}
_CHANGED, _SAVED = "done", "saved"
_FILE = {"kind": "argument", "type": "path", "metavar": "FILE"}
_TO = {"name": "to", "type": "path", "metavar": "FILE", "help": "file to write; - is standard output"}
_FILES = {
    "columns": [{"name": "FILE", "value": "file"}, {"name": "SIZE", "value": "bytes", "format": "bytes"}],
    "id": "file",
}
_SHARED = {_CHANGED: _DONE, _SAVED: _FILES}
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_LIMIT = "limit"


class TakenNames(NamedTuple):
    """Names that mean something already: words at the top, options of every command and of lists, views, resources."""

    name: str
    words: set[str]
    options: set[str]
    paging: set[str]
    views: set[str]
    resources: set[str]
    naming: CommandWords


def everyday_definitions(api: Api, program: TakenNames) -> dict[str, dict[str, Tables]]:
    """Group → the definitions of its resources and commands, by kind."""
    made: dict[str, dict[str, Tables]] = {}
    found, commands, groups = resources_of(api.operations, api.replies), dict[str, WordedCommand](), dict[str, str]()
    homes = dict.fromkeys(program.views, "")  # view → the group that has it
    tags = {id: table.get("tag") or "" for id, table in api.operations.items()}
    for named in named_commands(api.operations, api.replies, program.words, program.name, program.naming):
        command = _everyday_command(api, program, named)
        if command is None:
            continue
        kinds = made.setdefault(named.words[0], {"group": {}, "resource": {}, "view": {}, "command": {}})
        for length in range(1, len(named.words)):
            tag = tags[named.operation]
            is_named_so = length == 1 and command_word(tag) == named.words[0]
            words = tag if is_named_so else named.words[length - 1].replace("-", " ")
            kinds["group"].setdefault(" ".join(named.words[:length]), {"help": words[:1].upper() + words[1:]})
        _add_view(kinds["view"], homes, api, program, named, command)
        kinds["command"][" ".join(named.words)] = command
        commands[named.operation], groups[named.operation] = (
            WordedCommand(" ".join(named.words), command),
            named.words[0],
        )
    for resource, id, table in add_resources(found, api, commands, program.resources):
        group = next(groups[operation] for operation in resource.verbs.values() if operation in groups)
        made[group]["resource"][id] = table
    return made


def _everyday_command(api: Api, program: TakenNames, named: NamedCommand) -> dict[str, Any] | None:
    operation = api.operations[named.operation]
    has_pages = named.verb == "list"
    taken = program.options | (_taken_by_paging(program, operation) if has_pages else program.paging)
    arguments = arguments_of(operation, taken)
    if arguments is None:
        return None
    taken = taken | {param["name"] for param in arguments.params}
    options = options_of(operation, taken, _sent_by_paging(api, operation) if has_pages else ())
    sent = (
        _body_options(api, operation, named, taken | {param["name"] for param in options.params}) if options else None
    )
    if options is None or sent is None:
        return None
    help = first_sentence(str(operation.get("title", ""))) or _command_help(named)
    templates = {**arguments.templates, **options.templates}
    command: dict[str, Any] = {"help": help, "params": [*arguments.params, *options.params, *sent.pop("params", [])]}
    command |= {"call": named.operation, **({"args": templates} if templates else {}), **sent}
    if operation.get("reply") == "binary":
        saved = _save_step(named, arguments, taken)
        return {**command, **saved, "params": [*command["params"], *saved["params"]]} if saved else None
    return _complete_command(command, api, operation, named, arguments)


def _save_step(named: NamedCommand, arguments: CommandValues, taken: Collection[str]) -> dict[str, Any] | None:
    """Where the file goes that is answered."""
    if _TO["name"] in taken:
        return None
    names = [option_identifier(param["name"]) for param in arguments.params[-1:]]
    default = f"join('-', ['{named.noun}', {names[0]}])" if names else f"'{named.noun}'"
    return {"params": [_TO], "save": f"{{to || filename({default})}}", "view": _SAVED}


def _taken_by_paging(program: TakenNames, operation: OperationDefinition) -> set[str]:
    """Where pages are not known, a number of items that the operation takes is what `--limit` means."""
    params = operation.get("params", ())
    own = any(command_word(each["name"]) == _LIMIT and each.get("type") == "integer" for each in params)
    return program.paging - {_LIMIT} if own and "paginate" not in operation else program.paging


def _sent_by_paging(api: Api, operation: OperationDefinition) -> Collection[str]:
    paginator = api.paginators.get(operation["paginate"]["using"]) if "paginate" in operation else None
    return [paginator[key] for key in ("send", "size") if key in paginator] if paginator else []


def _body_options(
    api: Api, operation: OperationDefinition, named: NamedCommand, taken: set[str]
) -> dict[str, Any] | None:
    """The body: options for its members, and one for the whole of it. None where it takes files or other media."""
    body = operation.get("body")
    if body is None or operation["http"].startswith("GET "):
        return None if body is not None and not body.get("optional") else {}
    media = body.get("media", JSON)
    files = _file_parameters(body, taken)
    if files is None or not (is_json(media) or media in _FORMS):
        return files
    taken = taken | {param["name"] for param in files.get("params", ())}
    members = body_of(body, api.schemas, taken, named.noun)
    whole = [_DATA, {**_SET, "members": named.operation}]
    templates = {"body": members.templates} if members is not None else {}
    return {
        **files,
        "params": [*files.get("params", ()), *(members.params if members else ()), *whole],
        **templates,
        "over": [f"{{{DATA}}}", f"{{{SET}}}"],
    }


def _file_parameters(body: Body, taken: Collection[str]) -> dict[str, Any] | None:
    """Parameters for the files of a body; None where one has no name."""
    parts = body.get("parts")
    media = body.get("media", JSON)
    if parts is None and not is_json(media) and not media.startswith("text/"):
        return {"params": [{**_FILE, "name": "file"}], "files": "{file}"} if "file" not in taken else None
    files = {name: part for name, part in (parts or {}).items() if part.get("file")}
    params: list[dict[str, Any]] = []
    templates: list[str] = []
    for name, part in sorted(files.items(), key=lambda each: not each[1].get("required")):
        named = option_name(name, "", {*taken, *(param["name"] for param in params)})
        if named is None:
            return None
        many = {"multiple": True} if part.get("many") else {}
        is_first = not params and (part.get("required") or len(files) == 1)
        kind = (
            {**_FILE, "name": named, **many} if is_first else {"name": named, "type": "path", "metavar": "FILE", **many}
        )
        params.append({**kind, **({"help": first_sentence(part["help"])} if "help" in part else {})})
        seen = option_identifier(named)
        each = f"{seen}[].join('=', ['{name}', @])" if many else f"{seen} && join('=', ['{name}', {seen}])"
        templates.append(each)
    if not files:
        return {}
    if len(files) == 1:
        return {"params": params, "files": f"{{{option_identifier(params[0]['name'])}}}"}
    return {"params": params, "files": f"{{[{', '.join(templates)}][]}}"}


def _command_help(named: NamedCommand) -> str:
    noun = named.noun.replace("-", " ")
    if {named.noun, named.words[-2]} & {*named.words[-1].split("-")}:
        return _spoken_name(named)
    if named.verb == "list" or "-" in named.words[-1]:
        return f"{_spoken_name(named)} {named.words[-2].replace('-', ' ')}"
    return f"{_spoken_name(named)} {'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _spoken_name(named: NamedCommand) -> str:
    return named.words[-1].replace("-", " ").capitalize()


def _complete_command(
    command: dict[str, Any], api: Api, operation: OperationDefinition, named: NamedCommand, arguments: CommandValues
) -> dict[str, Any]:
    """What is asked before, printed afterwards, and an example where nothing has to be known for one."""
    reply = api.replies.get(named.operation)
    if named.verb == "list" and reply is not None and reply.items and "paginate" not in operation:
        command["items"] = jmespath_field(reply.items)
    last = option_identifier(arguments.params[-1]["name"]) if arguments.params else ""
    if class_of_operation(operation) == "destroy":
        thing = "" if "-" in named.words[-1] else f" {named.noun.replace('-', ' ')}"
        command["confirm"] = f"{_spoken_name(named)}{thing}{f' {{{last}}}' if last else ''}?"
    if operation.get("reply") == "none" and last:
        done = {"create": "created", "update": "changed", "delete": "deleted"}.get(named.verb, "done")
        command |= {"result": {"id": f"{{{last}}}", "done": done}, "view": _CHANGED}
    needed = [param for param in command["params"] if param.get("required")]
    words = " ".join(named.words)
    if named.verb in ("list", "get") and not needed and not arguments.params:
        command["examples"] = [words, *([f"{words} --all -o ndjson"] if "paginate" in operation else [])]
    return {key: value for key, value in command.items() if value or key == "help"}


def _add_view(
    views: Tables, homes: dict[str, str], api: Api, program: TakenNames, named: NamedCommand, command: dict[str, Any]
) -> None:
    """One view for all that shows the same thing; the list's is the one that counts."""
    if "view" in command:
        views[command["view"]] = _SHARED[command["view"]]
        return
    reply = api.replies.get(named.operation)
    view = view_of(reply.fields, named.noun) if reply is not None else None
    if view is None:
        return
    group = named.words[:-1] if named.words[-1] == named.verb else named.words
    name = "-".join(group)
    for before in (program.name, group[0]):  # another program has it, or `checkout sessions` beside `checkout-sessions`
        if homes.get(name, group[0]) != group[0]:
            name = f"{before}-{name}"
    if name in views and views[name] != view:
        name = f"{name}-{named.verb}"
    views[name] = view
    homes[name] = group[0]
    command["view"] = name


def shared_views(made: Mapping[str, Mapping[str, Tables]]) -> Tables:
    """The views that several groups have, taken out of all of them."""
    found: Tables = {}
    for kinds in made.values():
        found |= {id: kinds["view"].pop(id) for id in _SHARED if id in kinds["view"]}
    return found
