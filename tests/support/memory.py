"""What something takes of memory, in a process where no other thread takes any."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

from support.places import TESTS

_PROGRAM = "from support.memory import answer_alone; answer_alone()"


def call_alone(module: str, function: str, *arguments: Any) -> Any:
    """What a function of a module of the tests gives in a process of its own; all of it has to fit into JSON."""
    asked = json.dumps([module, function, arguments])
    called = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(TESTS)!r}); {_PROGRAM}"]
    done = subprocess.run(called, input=asked, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answer_alone() -> None:
    module, function, arguments = json.load(sys.stdin)
    found = getattr(importlib.import_module(module), function)(*arguments)
    sys.stdout.write(json.dumps(found))


def peak_of(call: Callable[[], object]) -> int:
    """The most bytes that are taken while it runs."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
