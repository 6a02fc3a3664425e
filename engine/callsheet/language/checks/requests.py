"""Whether commands call operations soundly: what each call gives, the bodies that are sent, and what can be reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import did_you_mean
from ...registry import EDITED
from ..merge import ON, deployment_variants
from ..parameters import REWRITING, is_required
from ..problem import Finding, Findings
from ..safety import Safety, asks_whatever_is_given, class_of_operation, has_plan, is_milder, worst_safety
from ..scopes import names_in, root_names
from ..source_file import Definition, Definitions, Path
from ..template import texts_in
from .body_schemas import (
    OPENING,
    WHOLE_CANDIDATE,
    body_faults,
    has_several,
    is_changed,
    is_whole_candidate,
    lacking_members,
    resolved_schema,
    written_values,
)
from .operations import argument_misfit, parameters_in_path, taken_parameters
from .references import pattern_fault, shape_places

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param, Start
    from ..shape.rest import OperationDefinition, OperationParam
    from ..shape.steps import Action, Edit


# Whether the constants of steps can be what the step makes of them.


Problems = Iterator[tuple[Any, ...]]  # as in a `Finding`


def format_problems(edit: Edit | Start, at: Path) -> Problems:
    name = edit["format"]
    if "{" not in name and name not in EDITED:
        yield (*at, "format"), f"no rich-text format {name!r}{did_you_mean(name, EDITED)}"


def value_problems(step: Action, at: Path) -> Problems:
    """How much is read, what is laid over the body, which files are sent."""
    limit = step.get("limit", 1)
    if not _is_template(limit) and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        yield (*at, "limit"), f"expected a whole number of at least 1, not {limit!r}"
    for each in written_values(limit, {}) if isinstance(limit, str) else ():
        if isinstance(each, int | float) and not isinstance(each, bool) and each < 1:
            yield (*at, "limit"), f"can be {each}, and at least 1 is expected"
    for place, layer in enumerate(step.get("over", ())):
        if not _is_template(layer) and not isinstance(layer, dict):
            yield (*at, "over", place), f"expected a table, not {layer!r}"
    files: Any = step.get("files", [])
    for file in files if isinstance(files, list) else [files]:
        if not isinstance(file, str):
            yield (*at, "files"), f"expected a path or a list of paths, not {file!r}"


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and "{" in value


# Whether a call gives its operation what it needs, and nothing that it does not take.


Names = set[str]
_WORDS = ("DEMO", "A-1", "abc", "x")
_WHOLE = {  # by the verb of the step that gave it
    "find": "what was found, with a value and a name: write .value behind it",
    "call": "the whole answer of an earlier step: write which member of it",
}
_FEW = 6  # members that are named in an error


class CallChecker:
    """`applies` tells for which deployments what is checked here holds."""

    sends_fields = True  # a call without a body gets one, of the fields of a thing

    def __init__(self, definitions: Definitions, operations: Mapping[str, str], applies: Callable[[str], bool]) -> None:
        self.definitions = definitions
        self.operations = operations
        self.applies = applies
        self.lists: frozenset[str] = frozenset()  # names of answers that are lists
        self.may_lack: frozenset[str] = frozenset()  # names of answers of steps that are not always taken
        self.answers: dict[str, str] = {}  # names of whole answers, and the verbs that gave them
        self.found: dict[str, Any] = {}  # what stands for it in an expression, and a parameter that would be the same
        self.always = frozenset[str]()  # names that always have a value
        self.params: dict[str, Param] = {}  # those of the command, by the names that expressions have for them

    def table_of(self, kind: str, id: str) -> Any:
        """The table of a definition, of the shape of its kind; None where there is no such definition."""
        found = self.definitions.get((kind, self.operations.get(id, id) if kind == "operation" else id))
        return found.table if found else None

    def argument_problems(self, calling: Any, at: Path) -> Problems:
        """What anything with a `call` gives its operation: nothing it does not take, everything it must have."""
        step: Action = calling
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if operation is None:
            return
        about = (("operation", self.operations.get(step["call"], step["call"])),)
        given = step.get("args", {})
        taken = taken_parameters(operation)
        everywhere = deployment_variants(operation)
        known = dict.fromkeys(chain(taken, *map(taken_parameters, everywhere.values())))
        variants = [*self._variants_that_matter(operation)]
        for name in given:
            if name not in known:
                yield (*at, "args", name), f"{step['call']} does not take it{did_you_mean(name, known)}", about
        if "when" not in calling and "each" not in at:  # whose own step may have a condition
            faults = self._argument_faults_there(taken, everywhere, step, at)
            yield from ((*found, about) for found in faults)
        yield from self._value_problems(variants[0] if variants else operation, step, at)
        bodies = [here.get("body") for here in variants if not here.get("unavailable")]
        for key in ("body", "over", "files"):
            if key in step and bodies and all(body is None for body in bodies):
                yield (*at, key), f"{step['call']} takes no body", about
        there = [body for body in bodies if body is not None]
        if (
            "files" in step
            and there
            and all("parts" not in body and "json" in body.get("media", "json") for body in there)
        ):
            yield (*at, "files"), f"{step['call']} takes no files", about
        yield from (((*at, *path), text, about) for path, text in self._part_problems(step, bodies))
        for key in ("body", "over"):
            yield from self._member_problems(step, key, at)
        # What is wrong on each deployment that has it: where only one takes it, the others never get it.
        judged = [list(self._body_problems(step, body, at)) for body in bodies if body and body.get("schema")]
        if judged and all(judged):
            yield from judged[0]
        for here in variants:
            needed = taken if here is operation else taken_parameters(here)
            missing = [name for name, required in needed.items() if required and name not in given]
            if missing and not here.get("unavailable"):
                yield (*at, "call"), f"{step['call']} requires {', '.join(missing)} in args", about

    def _argument_faults_there(
        self, taken: Collection[str], everywhere: Mapping[str, OperationDefinition], step: Action, at: Path
    ) -> Iterator[tuple[Path, str]]:
        """What is always given, and not taken on one of the deployments."""
        if not everywhere:
            return
        always = [name for name, value in step.get("args", {}).items() if self._is_always_given(value)]
        for word, here in everywhere.items():
            if not self.applies(word) or here.get("unavailable"):
                continue
            for name in always:
                if name in taken and name not in taken_parameters(here):
                    text = f"{step['call']} does not take it on {word}: name the call there again, with its arguments"
                    yield (*at, "args", name), text

    def _is_always_given(self, value: Any) -> bool:
        if not isinstance(value, str) or "{" not in value:
            return value is not None
        if value[1:-1] in self.always:
            return True
        param = self.params.get(value[1:-1].strip()) if _is_one_path(value) else None
        return param is not None and ("default" in param or param.get("required", param.get("kind") == "argument"))

    def _part_problems(self, step: Action, bodies: Sequence[Mapping[str, Any] | None]) -> Iterator[tuple[Path, str]]:
        """Files for a form that has no place for one, and a form whose file nobody gives."""
        forms = [body["parts"] for body in bodies if body and "parts" in body and not body.get("optional")]
        if not forms or len(forms) < len(bodies):
            return
        files = [part for parts in forms for part in parts.values() if part.get("file")]
        if "files" in step and not any(files):
            yield ("files",), f"{step['call']} takes no file: say file = true of one of {', '.join(forms[0])}"
        if files and not any(part.get("many") for part in files) and self._gives_several(step.get("files")):
            yield ("files",), f"{step['call']} takes one file: `many` of the part says that it may be several"
        needed = [[name for name, part in parts.items() if part.get("required")] for parts in forms]
        body: Any = step.get("body", {})
        given = {*step.get("args", {}), *(body if isinstance(body, dict) else ())}
        makes_body = bool({"over", "edit"} & step.keys()) or isinstance(body, str)
        for name in (name for name in needed[0] if all(name in each for each in needed)):
            if any(parts[name].get("file") for parts in forms):
                if "files" not in step:
                    yield ("call",), f"{step['call']} requires the file {name!r}: say `files`"
            elif name not in given and not self.sends_fields and not makes_body:
                yield ("call",), f"{step['call']} requires {name!r}, a part of its form, in args"

    def _gives_several(self, files: Any) -> bool:
        if isinstance(files, list):
            return len(files) > 1
        param = self.params.get(files[1:-1].strip()) if _is_one_path(files) else None
        return param is not None and has_several(param)

    def _body_problems(self, step: Action, body: Mapping[str, Any], at: Path) -> Problems:
        schema = {"ref": body["schema"]}
        given: list[tuple[Path, Any]] = [(("body",), step["body"])] if "body" in step else []
        given += [(("over", place), each) for place, each in enumerate(step.get("over", ())) if isinstance(each, dict)]
        found = {f"{{{name}}}" for name, verb in self.answers.items() if verb == "find"}
        for text in sorted(found.intersection(texts_in([value for _, value in given]))):
            yield (*at, "body"), f"{text} is {_WHOLE['find']}"
        for where, value in given:
            faults = body_faults(self.definitions, schema, value, params=self.params | self.found)
            yield from (((*at, *where, *path), text) for path, text in faults)
        if {"over", "files", "edit"} & step.keys():
            return
        given_members: Any = step.get("body", {})
        if "body" in step or not (self.sends_fields or body.get("optional")):
            needed = resolved_schema(self.definitions, schema).get("required", ())
            lacking = [name for name in needed if isinstance(given_members, dict) and name not in given_members]
            if not lacking and isinstance(given_members, dict):
                yield from self._unknown_members(step, resolved_schema(self.definitions, schema), given_members, at)
            if lacking:
                yield (*at, *(("body",) if "body" in step else ())), f"{step['call']} needs {', '.join(lacking)}"
            for path, names in lacking_members(self.definitions, schema, given_members):
                if path:
                    yield (*at, "body", *path), f"{step['call']} needs {', '.join(names)} here"

    def _unknown_members(self, step: Action, schema: Mapping[str, Any], body: Mapping[str, Any], at: Path) -> Problems:
        """A schema may not say all, but it hardly says nothing of what is sent."""
        known = schema.get("properties", {})
        is_open = bool({*OPENING, "additionalProperties"} & schema.keys())
        if known and body and not known.keys() & body.keys() and not is_open:
            some = ", ".join(list(known)[:_FEW])
            yield (*at, "body"), f"{step['call']} documents none of {', '.join(body)}: it takes {some}"

    def _member_problems(self, step: Action, key: str, at: Path) -> Problems:
        """A parameter for any member of a body, given to another operation than the one whose members it has."""
        given: Any = step.get(key, [])
        for value in given if isinstance(given, list) else [given]:
            param = self.params.get(value[1:-1].strip()) if isinstance(value, str) and value[:1] == "{" else None
            of = param.get("members") if param else None
            if of and self.operations.get(of, of) != self.operations.get(step["call"], step["call"]):
                yield (*at, key), f"{value}: its values are members of {of}, and not of {step['call']}"

    def amount_problems(self, step: Action, at: Path) -> Problems:
        """So many items can only be read of a list that comes in pages."""
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if "limit" in step and operation is not None:
            paged = any(here.get("paginate") for here in (operation, *deployment_variants(operation).values()))
            if not paged:
                about = (("operation", self.operations.get(step["call"], step["call"])),)
                yield (*at, "limit"), f"{step['call']} has no pages", about

    def answer_problems(self, step: Action, at: Path) -> Problems:
        """What is taken out of an answer, of a call that answers nothing."""
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if operation is not None and operation.get("reply") == "none":
            for key in ("save", "hold", "value"):
                if key in step:
                    text = f"{step['call']} answers nothing"
                    yield (*at, key), text, (("operation", self.operations.get(step["call"], step["call"])),)

    def _value_problems(self, here: OperationDefinition, step: Mapping[str, Any], at: Path) -> Problems:
        """Constants, and the choices of a parameter that is handed on, against what the operation documents."""
        given = step.get("args", {})
        params: dict[str, OperationParam] = {name: {"name": name, "in": "path"} for name in parameters_in_path(here)}
        params |= {param["name"]: param for param in here.get("params", ()) if not param.get("remove")}
        for name, value in given.items():
            taken = params.get(name)
            if taken is None:
                continue
            is_word = isinstance(value, str) and value in self.params and parameters_in_path(here) == [name]
            if is_word and value not in names_in([given, step.get("body")]):
                yield (*at, "args", name), f"is the word {value!r}: the value is written {{{value}}}"
                continue
            inside = value[1:-1].strip() if isinstance(value, str) else ""
            param = self.params.get(inside) if inside and value[0] == "{" else None
            is_path = _is_one_path(value)
            if param and taken.get("in") == "path" and "step" not in at and _can_be_missing(param):
                yield (*at, "args", name), f"cannot be left out, and {param['name']!r} can: say `required = true` of it"
            if self.may_lack and is_path and taken.get("required", taken.get("in") == "path") and "when" not in step:
                for each in sorted(self.may_lack.intersection(root_names(inside))):
                    text = (
                        f"cannot be left out, and {each!r} is there only where its step is taken: say the same `when`"
                    )
                    yield (*at, "args", name), text
            is_list = _is_list(param) if param else inside in self.lists
            whole = self.answers.get(inside) if is_path else None
            if whole is not None and (taken.get("in") == "path" or whole == "find"):
                yield (*at, "args", name), f"{value} is {_WHOLE[whole]}"
                continue
            if is_list and taken.get("type", "string") not in ("array", "object"):
                said = param["name"] if param else inside
                yield (*at, "args", name), f"takes one value, and {said!r} is a list of values"
                continue
            if param and is_whole_candidate(self.definitions, param) and taken.get("type", "string") != "object":
                yield (*at, "args", name), f"takes one value, and {param['name']!r} is {WHOLE_CANDIDATE}"
                continue
            if param and taken.get("type") in ("integer", "number") and self._takes_words(param):
                text = f"expected a number, and {param['lookup']!r} takes words for {param['name']!r} as they are"
                yield (*at, "args", name), text
                continue
            listed = [self.params.get(item[1:-1].strip()) for item in _texts_of_list(value) if _is_one_path(item)]
            if inner := next((each for each in listed if each and has_several(each)), None):
                yield (
                    (*at, "args", name),
                    f"{inner['name']!r} is a list, in a list here: leave out the brackets",
                )
                continue
            sent = [word for each in [param, *listed] if each for word in _sent_words(each)]
            if sent and taken.get("enum") == sent:
                continue
            for each in sent or (() if param else written_values(value, self.params)):
                if fault := argument_misfit(taken, each):
                    yield (*at, "args", name), fault
                    break

    def _takes_words(self, param: Param) -> bool:
        """Whether its look-up takes what is typed as it stands, and that may be something else than a number."""
        pattern = (self.table_of("lookup", param.get("lookup", "")) or {}).get("pattern", "")
        return pattern_fault(pattern) is None and any(re.fullmatch(pattern, word) for word in _WORDS)

    def _variants_that_matter(self, operation: OperationDefinition) -> Iterator[OperationDefinition]:
        """The operation as it is on each deployment that matters here; as it is elsewhere for those not named."""
        there = deployment_variants(operation)
        if self.applies("") or not any(self.applies(word) for word in there):
            yield operation
        yield from (table for word, table in there.items() if self.applies(word))


def whole_answers(definitions: Definitions, step: Mapping[str, Any]) -> dict[str, str]:
    """The name that a step gives a whole answer, an object of the site or what a look-up found, and its verb."""
    if not isinstance(step.get("as"), str) or {"value", "batch", "hold", "save"} & step.keys():
        return {}
    called = definitions.get(("operation", str(step.get("call"))))
    if called is not None and called.table.get("reply", "json") == "json" and not answers_list(definitions, step):
        return {step["as"]: "call"}
    return {step["as"]: "find"} if "find" in step else {}


def answers_list(definitions: Definitions, step: Mapping[str, Any]) -> bool:
    """Whether what a step names is a list on every deployment: the items of a call that comes in pages, or whole."""
    called = definitions.get(("operation", str(step.get("call"))))
    if called is None or not isinstance(step.get("as"), str) or {"value", "batch"} & step.keys():
        return False
    there = [called.table, *deployment_variants(called.table).values()]
    if all(here.get("paginate") or here.get("unavailable") for here in there):
        return True
    modelled = modelled_lists(definitions, called.id)
    return bool(modelled) and not any("envelope" in listing or "paginate" in called.table for listing in modelled)


def modelled_lists(definitions: Definitions, operation: str) -> list[Mapping[str, Any]]:
    """How the sandbox answers an operation that answers a list there, by deployment: none where it may be another."""
    tables = [each.table for each in definitions.of_kind("entity")]
    every = [here for table in tables for here in (table, *deployment_variants(table).values())]
    actions = [here["actions"][operation] for here in every if operation in here.get("actions", ())]
    return [action["list"] for action in actions] if all(_only_lists(action) for action in actions) else []


def _only_lists(action: Mapping[str, Any]) -> bool:
    return "list" in action and not {"cases", "repeat"} & action.keys()


_ONE_PATH = re.compile(r"\{\w+(?:\.\w+)*\}")


def _is_one_path(value: Any) -> bool:
    return isinstance(value, str) and _ONE_PATH.fullmatch(value) is not None


def _texts_of_list(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _can_be_missing(param: Param) -> bool:
    return (
        not is_required(param)
        and not {"default", "setting", "ask", "refuse"} & param.keys()
        and param.get("kind") != "flag"
    )


def _is_list(param: Param) -> bool:
    return has_several(param) and REWRITING.isdisjoint(param)


def _sent_words(param: Param) -> list[Any]:
    """What can be sent of a parameter, as far as it is written out."""
    if is_changed(param):
        return []
    words = [*param.get("choices", [True] if param.get("kind") == "flag" else [])]
    default: Any = param.get("default", [])
    return [*words, *(default if isinstance(default, list) else [default])]


# Which operations a command can reach, and so how bad it is.


# What may call something in its turn; a reference to anything else leads to no call of this command's.
_ON_THE_WAY = ("operation", "lookup", "assignment")


class Reached(NamedTuple):
    """An operation, and where in the command's table the way to it begins."""

    path: Path
    operation: str


def operations_reached(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Iterator[Reached]:
    """Every operation that a command can call on any deployment: steps, look-ups, what a conflict asks."""
    for path, kind, id in _references_of(command):
        yield from (Reached(path, each) for each in _operations_of(definitions, kind, id, aliases, frozenset()))


def _references_of(definition: Definition) -> list[tuple[Path, str, str]]:
    """Looked for once: whoever has changed a table since then asks of another definition."""
    if definition.references is None:
        definition.references = [
            (place.path, kind, place.value)
            for place in shape_places(definition.kind, definition.table, ("reference", _ON_THE_WAY))
            if (kind := place.schema.get("reference")) in _ON_THE_WAY and isinstance(place.value, str)
        ]
    return definition.references


def _operations_of(
    definitions: Definitions, kind: str, id: str, aliases: Mapping[str, str], seen: frozenset[tuple[str, str]]
) -> Iterator[str]:
    if kind == "operation":
        yield aliases.get(id, id)
        return
    found = definitions.get((kind, id))
    if found is not None and (kind, id) not in seen:
        for _, inner, name in _references_of(found):
            yield from _operations_of(definitions, inner, name, aliases, seen | {(kind, id)})


def class_of_command(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Safety:
    """What its definition says, or the worst class of all operations that it can reach, whichever is worse."""
    calls = (each.operation for each in operations_reached(definitions, command, aliases))
    classes = [
        class_of_operation(definitions["operation", id].table) for id in calls if ("operation", id) in definitions
    ]
    said: Safety | None = command.table.get("safety")
    return worst_safety([*classes, *([said] if said else [])])


def safety_findings(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Findings:
    """A class that is milder than what the command does; what destroys without asking."""
    said: Safety | None = command.table.get("safety")
    for path, id in operations_reached(definitions, command, aliases):
        operation = definitions.get(("operation", id))
        if operation is None:
            continue
        its = class_of_operation(operation.table)
        if said and is_milder(said, its):
            way = ".".join(map(str, path))
            text = f"{said!r} is milder than what {way} does: {id} is {its!r}"
            yield Finding(("safety",), text, (("operation", id),))
            return
        if its == "destroy" and not _asks_before(command.table, path):
            asked = any("confirm" in step for step in command.table.get("step", ()))
            beside = ", beside the question of its step" if asked else ""
            text = f"a command that destroys needs 'confirm'{beside} ({id} destroys)"
            yield Finding((), text, (("operation", id),))
            return
    if said == "destroy" and not asks_whatever_is_given(command.table) and "builtin" not in command.table:
        yield Finding((), "a command that destroys needs 'confirm'")


def _asks_before(command: CommandDefinition, path: Path) -> bool:
    """Whether a person is asked before the call at `path`, whatever was given: by the command, or by a plan."""
    if "confirm" in command:
        return True
    here = deployment_variants(command)[str(path[1])] if path[:1] == (ON,) else command
    path = path[2:] if path[:1] == (ON,) else path
    if path[:1] != ("step",) or not isinstance(path[1], int):
        return False
    steps = here["step"][: path[1] + 1]
    return has_plan(steps[-1]) or any(has_plan(step) and "when" not in step for step in steps)


_ASKED_BESIDE = {
    "lookup": "a look-up",
    "naming": "a naming",
    "snapshot": "a snapshot",
    "product": "a question about a product",
    "program": "a mention",
    "part": "a part of what a command shows",
}


def each_deployment(table: Any) -> Iterator[tuple[Callable[[str], bool], Any, Path]]:
    """What a table is where nothing else is said of the deployment, and what it is on each that it names."""
    there = deployment_variants(table)
    yield lambda word: word not in there, table, ()
    yield from ((word.__eq__, here, (ON, word)) for word, here in there.items())


def reading_findings(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Findings:
    """What is asked beside a command's own calls, and counts for the class of none, only reads."""
    for applies, here, at in each_deployment(definition.table) if definition.kind == "product" else ():
        checker = CallChecker(definitions, operations, applies)
        asked: list[tuple[Any, Path]] = [(here.get("probe", {}), (*at, "probe"))]
        asked += [(fact, (*at, "facts", place)) for place, fact in enumerate(here.get("facts", ()))]
        for asking, where in asked if "unavailable" not in here else ():
            if "call" in asking:
                yield from (Finding(*found) for found in checker.argument_problems(asking, where))
    for path, kind, id in _references_of(definition):
        for called in _operations_of(definitions, kind, id, operations, frozenset()):
            operation = definitions.get(("operation", called))
            if (
                operation is not None
                and class_of_operation(operation.table) != "read"
                and not {"undo", "suggest"} & {*path}
            ):
                text = f"{_ASKED_BESIDE[definition.kind]} only reads: {called} does not"
                yield Finding(path, text, (("operation", called),))
            elif operation is not None and operation.table.get("reply") == "none" and not {"undo", "suggest"} & {*path}:
                yield Finding(path, f"{called} answers nothing", (("operation", called),))
