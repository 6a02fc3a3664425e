"""The words of a command line, read as a run would read them, and what that run would do. Nothing is run."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..agents.invocations import Effect
from ..agents.shell_syntax import Unclear, Word
from ..commands.context import Context, ParameterValues
from ..commands.streams import Streams
from ..errors import CallsheetError, UsageError
from ..language.merge import check_available, deployment_variants, on_deployment
from ..language.safety import CHANGES, Safety, by_method, class_for_policies, class_of_operation, worst_safety
from ..policy.policy import Facts, Policy, PolicyVerdict
from .tree import DefinedCommand, root_group

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..client.request.http_request import Body, Request, RequestSite
    from ..language.shape.commands import CompiledCommand


# The request that the words of `api` describe.


TYPE = "content-type"


def request_of(context: Context, values: Mapping[str, Any], site: RequestSite) -> Request:
    """The request that the values of the command's parameters describe."""
    from ..client.request.build import Builder

    method, path = _method_and_path(context, values)
    headers = [_split_header(text) for text in values.get("header") or []]
    return Builder(context.catalog, site, context.program).build_raw_request(
        method,
        _path_below(context, path, values.get("product"), site.deployment),
        [_split_pair(text) for text in values.get("param") or []],
        [(name, text) for name, text in headers if name.lower() != TYPE],
        _request_body(context, values.get("data"), headers),
    )


def _method_and_path(context: Context, values: Mapping[str, Any]) -> tuple[str, str]:
    """A path alone is read. Whatever has a body says itself what it does."""
    word, path = values["method"], values.get("path")
    if path is not None:
        return word, path
    if word is None or "/" not in word:
        raise UsageError("missing argument 'PATH'", hint=f"see {context.program} api --help")
    if values.get("data") is not None:
        raise UsageError("a request with a body needs a method", hint=f"{context.program} api POST {word} -d ...")
    return "GET", word


def _path_below(context: Context, path: str, product: str | None, deployment: str) -> str:
    """With a product, a relative path stands below that product's base."""
    if product is None:
        return path
    definition = context.catalog.products.get(product)
    here = on_deployment(definition, deployment)
    check_available(here, product, deployment)
    base: str = here.get("base", "")
    return path if "://" in path or path.startswith(f"{base}/") else f"{base}/{path.lstrip('/')}"


def _split_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"-q expects NAME=VALUE, not {text!r}")
    return name, value


def _split_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"-H expects NAME: VALUE, not {text!r}")
    return name.strip(), value.strip()


def _request_body(context: Context, data: str | None, headers: list[tuple[str, str]]) -> Body | None:
    """Bytes of the given type; without a type they must be JSON."""
    if data is None:
        return None
    from ..client.request.http_request import Json, Raw
    from ..jsontext import JSONError, parse_json

    content = context.read_source(data)
    media = next((value for name, value in headers if name.lower() == TYPE), None)
    if media is not None:
        return Raw(content, media)
    try:
        return Json(parse_json(content))
    except JSONError as error:
        raise UsageError(f"the body is not JSON: {error}", hint="-H 'Content-Type: ...' sends it as it is") from None


# The words of a command line, read as a run would read them, and what that run would do. Nothing runs.


# Builtins that change what later commands may do, or as whom.
_SETTINGS = frozenset(
    {
        "agent guard",
        "alias remove",
        "alias set",
        "auth login",
        "auth logout",
        "config remove",
        "config set",
        "config use",
        "definitions import",
        "definitions upgrade",
        "init",
        "mcp disable",
        "mcp enable",
        "programs install",
        "programs link",
        "programs new",
        "webhook secret delete",
        "webhook secret set",
    }
)
# What else a person should know of before it runs.
_NOTES = {
    "mcp start": "does what its input asks for",
    "mcp stream": "does what its clients ask for",
    "mcp token": "prints a credential",
    "undo": "does what the journal says, which the line does not tell",
    **dict.fromkeys(_SETTINGS, "changes what later commands may do"),
}
# These do what their words say, and so are only known where all of those are.
_DOES_AS_TOLD = frozenset({"api", "programs run"})


def effect_of(program: str, words: Sequence[Word], environ: Mapping[str, str]) -> Effect:
    """Raises `Unclear` for what is no command, or not one whose words tell what it does."""
    texts = [word.text for word in words]
    silent = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    context = Context(program, environ, silent)
    try:
        found = _read_command(context, texts)
        _check_known(context, words, found)
        if found is None:  # help, or a version
            return Effect("", "local")
        command, values = found
        path = click_path(context, texts)
        effect = _command_effect(context, command, values)._replace(command=path)
        if effect.operations and context.option("dry-run") and all(word.fixed for word in words):
            effect = effect._replace(
                safety="read", verdict=PolicyVerdict()
            )  # "$KEY" could take the option for its value
    finally:
        context.close()
    note = "prints a credential" if context.option("show-token") else effect.note
    return effect._replace(note=note)


def effect_of_command(context: Context, command: CompiledCommand) -> Effect:
    """Of a command of the tree, whatever its arguments are."""
    return _command_effect(context, command, None)


Found = tuple["CompiledCommand", "dict[str, Any] | None"]


def _read_command(context: Context, words: Sequence[str]) -> Found | None:
    """The command and its values; no values where its arguments do not fit, which a variable may still mend."""
    found: list[Found] = []
    group = root_group(context, lambda _context, command, values: found.append((command, values)))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            group.main([*words], prog_name=context.program, standalone_mode=False, obj=context)
    except click.exceptions.NoArgsIsHelpError:
        return None
    except click.UsageError as error:
        if error.ctx is not None and isinstance(error.ctx.command, DefinedCommand):
            return error.ctx.command.definition, None
        raise Unclear(error.format_message()) from None
    except CallsheetError as error:
        raise Unclear(error.message) from None
    return found[0] if found else None


def _check_known(context: Context, words: Sequence[Word], found: Found | None) -> None:
    """Raises `Unclear` unless the words whose text is certain tell which command it is, whatever the others become."""
    unknown = [word.text for word in words if not word.fixed]
    if not unknown:
        return
    place = next((place for place, word in enumerate(words) if word.several), None)
    before = found if place is None else _read_command(context, [word.text for word in words[:place]])
    if found is None or before is None or before[0] != found[0]:
        raise Unclear("which command it is is only known when the line runs")
    builtin, values = found[0].get("builtin"), found[1] or {}
    if builtin in _DOES_AS_TOLD or (builtin == "op call" and (place is not None or values.get("id") in unknown)):
        raise Unclear("what it does is only known when the line runs")


def click_path(context: Context, words: Sequence[str]) -> str:
    """The words that name the command, without the program."""
    names: list[str] = []
    children = {child.name: child for child in context.catalog.children_of("")}
    for word in words:
        child = children.get(word) or next((each for each in children.values() if word in each.aliases), None)
        if child is not None:
            names.append(child.name)
            children = {each.name: each for each in context.catalog.children_of(" ".join(names))}
    return " ".join(names)


def _command_effect(context: Context, command: CompiledCommand, values: ParameterValues | None) -> Effect:
    builtin = command.get("builtin")
    if builtin in ("api", "op call"):
        if values is None:
            raise Unclear("its arguments do not fit")
        return _of_request(context, values) if builtin == "api" else _of_operation(context, values)
    if builtin == "programs run":
        return _of_program(context, values)
    safety, note = command["safety"], _NOTES.get(str(builtin), "")
    if safety == "local":
        return Effect("", safety, note=note)
    operations = tuple(
        dict.fromkeys(
            call for here in (command, *deployment_variants(command).values()) for call in _called_operations(here)
        )
    )
    verdict = _certain_verdict(context, safety, operations)
    return Effect("", safety, operations=operations, verdict=verdict, note=note)


def _of_program(context: Context, values: Mapping[str, Any] | None) -> Effect:
    """What the program would do that another one runs."""
    if values is None:
        raise Unclear("its arguments do not fit")
    try:
        words = [Word(str(word)) for word in values["words"] or ()]
        return effect_of(str(values["program"]), words, context.environ)
    except CallsheetError as error:
        raise Unclear(error.message) from None


def _called_operations(table: Any) -> Iterator[str]:
    """What the steps of a command call, also those inside others."""
    if isinstance(table, Mapping):
        if isinstance(call := table.get("call"), str):
            yield call
        table = table.get("step", [value for key, value in table.items() if key not in ("args", "body", "call")])
    for item in table if isinstance(table, list) else ():
        yield from _called_operations(item)


def _of_operation(context: Context, values: Mapping[str, Any]) -> Effect:
    id = context.catalog.canonical_id("operation", values["id"])
    operation = context.catalog.operations.find(id)
    if operation is None:
        raise Unclear(f"unknown operation {values['id']!r}")
    safety = class_of_operation(operation)
    return Effect("", safety, operations=(id,), verdict=_certain_verdict(context, safety, (id,)))


def _of_request(context: Context, values: Mapping[str, Any]) -> Effect:
    """`api`: judged as it would be sent, with a place to stand in for the site where none is configured."""
    from ..client.request.gate import Gate

    policy, site = _policy_here(context)
    data = values.get("data")
    shown = data if data is not None and not data.startswith(("@", "-")) else None
    try:
        request = request_of(context, {**values, "data": shown}, site)
    except CallsheetError as error:
        raise Unclear(error.message) from None
    gate = Gate(policy, context.catalog, site=site.name, known_as=site.known_as)
    facts = gate.facts_of(request)
    return Effect(
        "", facts.safety, operations=tuple(sorted(facts.operations or ())), verdict=policy.judge_request(facts)
    )


def _policy_here(context: Context) -> tuple[Policy, Any]:
    """The policy here, and the site; without a site what machine and environment say."""
    from ..sites.profiles.choose import Variables
    from ..sites.site import policy_here

    try:
        site = context.site()
    except UsageError:  # none is configured, or this is no way to name one; a broken policy is broken there too
        variables = Variables(context.definition["prefix"], context.environ)
        deployment = next(iter(context.catalog.deployments.ids()), "")
        return policy_here(context.catalog, variables, context.environ), Nowhere(deployment)
    return site.policy, site


class Nowhere:
    """Stands for a site where none is configured: no request could be sent, but its class can be told."""

    name = ""
    known_as: frozenset[str] = frozenset()

    def __init__(self, deployment: str) -> None:
        self.deployment = deployment

    def base_url(self, _service: str) -> str:
        return "https://site.invalid"


def _certain_verdict(context: Context, safety: Safety, operations: Sequence[str]) -> PolicyVerdict:
    """What is certain whatever the arguments are. The rest is judged when the requests are there."""
    policy, _ = _policy_here(context)
    if not policy:
        return PolicyVerdict()
    found = [_operation_facts(context.catalog, id) for id in operations] or [
        Facts(safety, None, None, None, None, None)
    ]
    if safety in CHANGES and (verdict := policy.denies_changes()) is not None:
        return verdict
    for facts in found:
        if (verdict := policy.certainly_denies(facts)) is not None:
            return verdict
    asking = [verdict for facts in found if (verdict := policy.judge_request(facts)).decision == "ask"]
    return asking[0] if asking else PolicyVerdict()


def _operation_facts(catalog: Catalog, id: str) -> Facts:
    operation = catalog.operations.get(id)
    method = str(operation["http"]).partition(" ")[0]
    safety = worst_safety(class_for_policies(table) for table in (operation, *deployment_variants(operation).values()))
    unbelieved = worst_safety([safety, by_method(method)]) if operation.get("own") else safety
    known = frozenset({id}), frozenset({method})
    return Facts(safety, *known, paths=None, sites=None, named=None, unbelieved=unbelieved)
