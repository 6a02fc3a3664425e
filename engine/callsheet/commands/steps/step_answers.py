"""What a step is about: the operations that it calls, and what its answer is called further down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...client.listed import part_of
from ...language.scopes import root_names
from ...language.template import Scope
from .overlay import Unknown

if TYPE_CHECKING:
    from ...language.shape.steps import Each, ItemStep, StepDefinition

NOT_SENT = object()  # the answer to a request that was printed instead of sent


def step_acts(step: StepDefinition) -> bool:
    return "call" in step or "each" in step


def calls_of(step: StepDefinition, *, certain: bool = False) -> list[str]:
    """The operations that a step calls, for items too; the `certain` ones are called whatever is given."""
    parts: list[ItemStep] = [step, *(step["each"]["step"] if "each" in step else ())]
    return [part["call"] for part in parts if "call" in part and not (certain and "when" in part)]


def item_name(each: Each) -> str:
    return each.get("item", "item")


def answers_of_sent(answers: list[Any]) -> Any:
    """The answers to what was sent; `NOT_SENT` where nothing was."""
    if answers and all(answer is NOT_SENT for answer in answers):
        return NOT_SENT
    return [answer for answer in answers if answer is not NOT_SENT and answer is not None]


def is_open(step: ItemStep, scope: Scope) -> bool:
    """Whether only an answer that a dry run does not have can decide the condition of a step."""
    return "when" in step and any(isinstance(scope.get(name), Unknown) for name in root_names(step["when"]))


def bound_answer(step: ItemStep, answer: Any, scope: Scope) -> dict[str, Any]:
    """What a step's answer is called further down, and its value there; `scope` is what the step itself saw."""
    name = step.get("as")
    if isinstance(name, dict):
        return {key: Unknown(key) if answer is NOT_SENT else part_of(part, answer, scope) for key, part in name.items()}
    return {name: Unknown(name) if answer is NOT_SENT else answer} if name else {}
