"""Changes that are no request to a site: the policy of machine and environment judges them by their class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..language.safety import Safety

if TYPE_CHECKING:
    from .context import Context


def check_change(context: Context, safety: Safety, what: str) -> None:
    """Raise `NotAllowed` for what is denied; ask where the policy wants a person to agree. `what` names it."""
    from ..client.request.gate import policy_error, unasked_error
    from ..errors import NotAllowed
    from ..policy.policy import Facts
    from ..sites.profiles.choose import Variables
    from ..sites.site import policy_here

    policy = policy_here(
        context.catalog,
        Variables(context.definition["prefix"], context.environ),
        context.environ,
        restrictions=context.restrictions,
        warn=lambda text: context.say(f"warning: {text}"),
    )
    verdict = policy.judge_request(Facts(safety))
    if verdict.decision == "deny":
        raise policy_error(what, verdict)
    if verdict.decision == "ask" and (answer := context.ask_person(f"{what}? ({verdict})")) is not True:
        raise unasked_error(what, verdict) if answer is None else NotAllowed(f"{what}: not confirmed")
