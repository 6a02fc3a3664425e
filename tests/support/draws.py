"""What tests draw: the same every time, in any worker and on any machine; with `CALLSHEET_FUZZ_SEED`, of that seed.

`scripts/fuzz.py` sets it.
"""

from __future__ import annotations

import os
import random

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

SEED = int(os.environ.get("CALLSHEET_FUZZ_SEED", "0"))


def chance(usual: int) -> random.Random:
    """A source of a test that draws without Hypothesis; mark such a test with `draws`."""
    return random.Random(usual + SEED)


def load_profile() -> None:
    """To be called before a module with properties is imported. No limit of time makes a property fail."""
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=slow)
    settings.register_profile("fuzz", print_blob=True, deadline=None, suppress_health_check=slow)
    settings.load_profile("fuzz" if SEED else "fixed")
    if not SEED:
        # It likes to draw the constants of all modules that are loaded: of what a worker happened to run before.
        providers._get_local_constants = Constants
