"""The answer to a host that asks before an agent runs a shell command. What is not understood is denied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError
from ..jsontext import JSONError, dump_json, parse_json
from ..language.template import evaluate, fill_template
from .invocations import Ruling

if TYPE_CHECKING:
    from ..language.shape.agents import GuardDefinition

Judge = Callable[[str], Ruling]


class Refused(CallsheetError):
    """For a host that takes the exit code for a denial, and shows what is on standard error."""

    exit_code = 2
    code = "denied"


class NotUnderstood(CallsheetError):
    """The payload is not what this host sends: nothing is known of what it is about to run."""

    exit_code = 2
    code = "payload"


def answer_to_host(guard: GuardDefinition, payload: bytes, judge: Judge) -> str | None:
    """What is printed for the host; None where the line may run, or the agent does something else.

    Raises `NotUnderstood`, and `Refused` where a host has no other answer; it takes the exit code for a denial.
    """
    line = shell_line(guard, payload)
    if line is None:
        return None
    ruling = judge(line)
    if ruling.decision == "allow":
        return None
    if "answer" not in guard:
        raise Refused(ruling.reason)
    if ruling.decision == "ask" and not guard.get("asks"):
        ruling = Ruling("deny", f"{ruling.reason}; nobody can be asked here: ask the person to run it")
    return dump_json(fill_template(guard["answer"], ruling._asdict()))


def shell_line(guard: GuardDefinition, payload: bytes) -> str | None:
    try:
        told = parse_json(payload)
    except JSONError as error:
        raise NotUnderstood(f"the payload is not JSON: {error}") from None
    if not isinstance(told, Mapping):
        raise NotUnderstood("the payload is not a JSON object")
    told = {name: _object_of_text(value) for name, value in told.items()}
    if not evaluate(guard["payload"], told):
        raise NotUnderstood("the payload is not what this host sends: check --host")
    line = evaluate(guard["command"], told)
    if line is None:
        return None
    if isinstance(line, list) and all(isinstance(word, str) for word in line):
        from shlex import join

        return join(line)
    if not isinstance(line, str):
        raise NotUnderstood("the command in the payload is not a text")
    return line


def _object_of_text(value: Any) -> Any:
    """An object that is sent as a text, as that object."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return parse_json(value)
    except JSONError:
        return value
