"""A port for what cannot be given one by the system."""

from __future__ import annotations

import random
import socket

# Below those that systems give to connections: one of these could be taken before the test's own server begins to
# listen, or a client that waits for the server could be connected to itself.
_PORTS = range(20_000, 32_000)


def free_port() -> int:
    chance = random.SystemRandom()  # not the same in each worker, whatever a test seeded
    while True:
        port = chance.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
