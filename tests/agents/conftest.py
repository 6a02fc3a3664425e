"""The home of what an agent starts, without a site."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from callsheet.agents.invocations import Effect
from callsheet.agents.shell_syntax import Unclear, Word
from callsheet.cli.read_line import effect_of
from support.cases import environment

Reader = Callable[[str, Sequence[Word]], Effect]


class OnceReader:
    """What words do in an environment. Each is read once, since many lines come down to the same."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._known: dict[tuple[str, ...], Effect | Unclear] = {}

    def __call__(self, program: str, words: Sequence[Word]) -> Effect:
        key = (program, *map(repr, words))
        if key not in self._known:
            try:
                self._known[key] = effect_of(program, words, self._environ)
            except Unclear as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, Unclear):
            raise found
        return found


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    environ = environment(tmp_path_factory.mktemp("agents") / "x" / "home", "")
    kept = {name: text for name, text in environ.items() if not name.startswith("SUITE_")}
    return {**kept, "CALLSHEET_CACHE": str(Path(tmp_path_factory.getbasetemp()) / "shared-cache")}


@pytest.fixture(scope="session")
def read(variables: dict[str, str]) -> Reader:
    return OnceReader(variables)


@pytest.fixture(scope="session")
def reader(variables: dict[str, str]) -> Callable[[str], Reader]:
    """What reads words under a policy."""
    return cache(lambda policy: OnceReader({**variables, "SUITE_POLICY": policy}))
