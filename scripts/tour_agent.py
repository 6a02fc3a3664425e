"""An agent's session: a server of tools is started, and a few of them are called, as programs that run agents do it."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tour_processes import INTERRUPTS, Ended, Place, found

PROTOCOL = "2025-06-18"
PATIENCE = 120.0  # seconds for the whole session


class Server:
    """One process that speaks the Model Context Protocol, a line of JSON for each message."""

    def __init__(self, words: Sequence[str], place: Place) -> None:
        self.process = subprocess.Popen(
            found(words, place),
            cwd=place.folder,
            env=place.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._number = 0

    def tell(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        """Raises `BrokenPipeError` when the server has ended."""
        assert self.process.stdout
        self._number += 1
        self.tell(id=self._number, method=method, params=params)
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                return message.get("result") or {"content": [{"text": json.dumps(message["error"])}]}
        raise BrokenPipeError


def session(
    words: Sequence[str],
    calls: Sequence[dict[str, Any]],
    place: Place,
    show: Callable[[str], None],
    *,
    styled: bool = False,
) -> Ended:
    """Call the tools one after another; what is shown is what the agent sees."""
    shown: list[str] = []

    def tell(text: str) -> None:
        shown.append(text)
        show(text)

    with INTERRUPTS.held():
        server = Server(words, place)
    killer = threading.Timer(PATIENCE, server.process.kill)
    killer.start()
    try:
        server.ask("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo={"name": "tour", "version": "1"})
        server.tell(method="notifications/initialized")
        for call in calls:
            said = f"agent: {call['tool']} {json.dumps(call['arguments'])}"
            tell(f"\x1b[1m{said}\x1b[0m\n" if styled else f"{said}\n")
            answer = server.ask("tools/call", name=call["tool"], arguments=call["arguments"])
            for part in answer["content"]:
                tell("".join(f"  {line}\n" for line in part["text"].splitlines() if line))
    except BrokenPipeError:
        pass  # it has ended by itself; what it said of that is in its errors
    finally:
        killer.cancel()
        _, errors = server.process.communicate(timeout=30)
    if errors:
        tell(errors)
    return Ended(server.process.returncode, "".join(shown))
