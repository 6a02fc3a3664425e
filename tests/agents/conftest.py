"""The home of what an agent starts, without a site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from callsheet.agents.invocations import Effect
from callsheet.cli.read_line import effect_of
from support.cases import environment

Reader = Callable[[str, Sequence[str]], Effect]


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    environ = environment(tmp_path_factory.mktemp("agents") / "x" / "home", "")
    kept = {name: text for name, text in environ.items() if not name.startswith("SUITE_")}
    return {**kept, "CALLSHEET_CACHE": str(Path(tmp_path_factory.getbasetemp()) / "shared-cache")}


@pytest.fixture
def reader(variables: dict[str, str]) -> Callable[[str], Reader]:
    """What reads words under a policy."""

    def under(policy: str) -> Reader:
        environ = {**variables, "SUITE_POLICY": policy}
        return lambda program, words: effect_of(program, words, environ)

    return under
