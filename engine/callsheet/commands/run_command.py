"""Where a command that is made of steps begins: a new run, or one that goes on with a journal."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from ..language.merge import check_available, on_deployment
from .steps.run_steps import Run

if TYPE_CHECKING:
    from ..language.shape.commands import CompiledCommand
    from .context import Context, ParameterValues


def run_steps(context: Context, command: CompiledCommand, values: ParameterValues) -> None:
    """Run a command that is made of calls. `values` are by the parameters' names in the definition."""
    deployment = context.site().deployment
    here = on_deployment(command, deployment)
    check_available(here, "this command", deployment)
    if "journal" not in here:
        Run(context, here, values).run()
        return
    from .made_things import MadeThings
    from .steps.resume import resume_run

    resumed = resume_run(context, here, values) if values.get("resume") else nullcontext(Run(context, here, values))
    with resumed as run:
        run.making = MadeThings(run)
        run.run()
