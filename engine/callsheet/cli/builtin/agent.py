"""`agent classify|hook|guard|skill`: what a command line of an agent would do, and who asks before it runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...agents.invocations import Ruling, effects_of_line, ruling_on_effects
from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, NotAllowed, UsageError
from ...language.safety import class_of_operation
from ..read_line import effect_of, effect_of_command

if TYPE_CHECKING:
    from ...agents.agent_files import Ruled
    from ...agents.invocations import Effect
    from ...agents.shell_syntax import Word
    from ...language.shape.agents import GuardDefinition


def classify_commands(context: Context, values: ParameterValues) -> None:
    """Without a line, the class of every command and operation."""
    words: list[str] = values.get("line") or []
    if not words:
        rows = [*_command_rows(context), *_operation_rows(context)]
        context.output(context.catalog.views.get("safety-class")).print_items(rows)
        return
    line = words[0] if len(words) == 1 else shlex.join(words)
    found = _line_effects(context, line)
    if not found:
        context.note("this line does not start any of these programs: " + ", ".join(_installed_programs(context)))
    rows = [_effect_row(effect) for effect in found]
    context.output(context.catalog.views.get("effect")).print_items(rows)


def _command_rows(context: Context) -> Iterator[dict[str, str]]:
    for id, command in context.catalog.commands.all().items():
        yield {"kind": "command", "id": id, "class": command["safety"]}


def _operation_rows(context: Context) -> Iterator[dict[str, str]]:
    for id, operation in context.catalog.operations.all().items():
        yield {"kind": "operation", "id": id, "class": class_of_operation(operation)}


def _effect_row(effect: Effect) -> dict[str, Any]:

    return {
        "line": effect.line,
        "command": effect.command,
        "class": effect.safety or "unknown",
        "operations": list(effect.operations),
        "policy": effect.verdict.decision,
        "rule": str(effect.verdict) if effect.verdict.source else None,
        "guard": ruling_on_effects([effect], all_writes=False).decision,
        "note": effect.note or None,
    }


def _line_effects(context: Context, line: str) -> list[Effect]:

    def read(program: str, words: Sequence[Word]) -> Effect:
        return effect_of(program, words, context.environ)

    return effects_of_line(line, _installed_programs(context), read)


def _installed_programs(context: Context) -> list[str]:
    """The programs of this engine that are installed here, by the scripts that start them."""
    from importlib.metadata import entry_points

    engine = f"{__package__.partition('.')[0]}.cli.entry"
    scripts = {script.name for script in entry_points(group="console_scripts") if script.module == engine}
    return sorted({context.program, *scripts})


def run_hook(context: Context, values: ParameterValues) -> None:
    """Whatever goes wrong here is a denial: the host takes exit code 2 for one."""
    from ...agents.guard_answer import NotUnderstood, Refused, answer_to_host

    try:
        guard = _guard_of(context, values["host"])
        if "payload" not in guard:
            raise UsageError(f"{values['host']} does not use hooks")
        said = answer_to_host(guard, context.read_input(), lambda line: _rule_on_line(context, line, values))
    except (NotUnderstood, Refused):
        raise
    except CallsheetError as error:
        raise NotUnderstood(f"denied, because the line cannot be judged: {error.message}", hint=error.hint) from None
    if said is not None:
        context.streams.out.write(said + "\n")


def _rule_on_line(context: Context, line: str, values: ParameterValues) -> Ruling:

    found = ruling_on_effects(_line_effects(context, line), all_writes=bool(values.get("all-writes")))
    named = [f"{name.upper().replace('-', '_')}_POLICY" for name in _installed_programs(context)]
    if found.decision == "allow" and any(name in line for name in named):
        return Ruling("ask", "the line names the variable that holds the policy")
    return found


def _guard_of(context: Context, name: str) -> GuardDefinition:
    host = context.catalog.hosts.get(name)
    if "guard" not in host:
        known = [id for id, each in context.catalog.hosts.all().items() if "guard" in each]
        raise UsageError(f"{host['title']} has no guard for shell commands (known: {', '.join(known)})")
    return host["guard"]


def write_guard(context: Context, values: ParameterValues) -> None:
    """Print what would be written; `write` it, or `check` whether what is there fits."""
    from ...agents.agent_files import hook_command, plan_guard_files
    from ...agents.shell_syntax import PACKAGE, shfmt_program
    from ...hosts import home_directory
    from ...installation import how_to_add

    name, all_writes = values["host"], bool(values.get("all-writes"))
    definition = _guard_of(context, name)
    hook_line = hook_command(context.program, name, _installed_programs(context), all_writes=all_writes)
    scope = {"program": context.program, "host": name, "hook": hook_line}
    directory = os.path.abspath(values.get("dir") or ".")
    at_home = os.path.realpath(directory) == os.path.realpath(home_directory(context.environ))
    if at_home and context.catalog.hosts.get(name).get("own"):
        raise UsageError(
            f"{name}: only a host that comes with the program has files in your home directory",
            hint="--dir names a project",
        )
    planned = list(
        plan_guard_files(definition, scope, lambda: _ruled_commands(context, all_writes=all_writes), directory)
    )
    if values.get("check"):
        _check_guard(context, [each.file.path for each in planned if not each.is_up_to_date], name)
        return
    for each in planned:
        path = each.file.path
        if not values.get("write"):
            context.streams.out.write(f"# {path}\n{each.text}\n")
        elif not each.is_up_to_date and not context.only_tries(f"{path} would be written"):
            each.file.replace_text(each.text)
            context.note(f"wrote {path}")
    if values.get("write") and all(each.is_up_to_date for each in planned):
        context.note("everything is in place already")
    if note := definition.get("note"):
        context.note(note)
    if "payload" in definition and shfmt_program() is None:
        context.note(f"without shfmt the guard asks about every line that is not plain words; {how_to_add(PACKAGE)}")


def _check_guard(context: Context, outdated: list[str], host: str) -> None:
    if outdated:
        hint = f"{context.program} agent guard --host {host} --write"
        raise CallsheetError("the installed guard is out of date", details=outdated, hint=hint)
    context.note("the installed guard is up to date")


def _ruled_commands(context: Context, *, all_writes: bool) -> Iterator[Ruled]:
    """Commands by the names that the tree knows them by, for hosts with rules of their own."""
    from ...agents.agent_files import Ruled

    for id, command in context.catalog.commands.all().items():
        if command["safety"] not in ("destroy", "write") or "builtin" in command:
            continue
        names = [_tree_names(context, id.split(" ")[: depth + 1]) for depth in range(id.count(" ") + 1)]
        effect = effect_of_command(context, command)._replace(line=f"{context.program} {id}")
        found = ruling_on_effects([effect], all_writes=all_writes)
        if found.decision != "allow":
            yield Ruled([context.program, *names], found.decision, found.reason)


def _tree_names(context: Context, words: list[str]) -> Any:
    aliases = next(
        child.aliases for child in context.catalog.children_of(" ".join(words[:-1])) if child.name == words[-1]
    )
    return [words[-1], *aliases] if aliases else words[-1]


def _reaches_service(context: Context, group: str) -> bool:
    """Whether the commands of a group are about what a service has, and not about this program."""
    ids = context.catalog.commands.ids(f"{group} ")
    return any("builtin" not in context.catalog.commands.get(id) for id in ids)


def write_skill(context: Context, values: ParameterValues) -> None:
    """A skill, or the paragraph for a project's notes, on standard output or in a directory."""
    from ...agents.agent_files import notes_for_agents, skill_file
    from ...hosts import read_foreign_file

    definition = context.definition
    if values.get("paragraph"):
        context.streams.out.write(notes_for_agents(context.program, definition))
        return
    groups = [child.name for child in context.catalog.children_of("") if child.kind == "group" and not child.hidden]
    reaching = [name for name in groups if _reaches_service(context, name)]
    text = skill_file(context.program, definition, reaching)
    if values.get("dir") is None:
        context.streams.out.write(text)
        return
    path = os.path.join(os.path.abspath(values["dir"]), context.program, "SKILL.md")
    there = read_foreign_file(path)
    if there.content is not None and not values.get("force"):
        raise NotAllowed(f"{path} already exists", hint="--force replaces it")
    if not context.only_tries(f"{path} would be written"):
        there.replace_text(text)
        context.note(f"wrote {path}")
