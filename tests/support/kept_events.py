"""Events of an inbox file, as tests put them there."""

from __future__ import annotations

import sqlite3

from callsheet.listener.queue.sqlite import inbox_events


def add_event(connection: sqlite3.Connection, row: inbox_events.Row) -> int | None:
    """The key of one that is new."""
    (key,) = inbox_events.add_events(connection, [row])
    return key
