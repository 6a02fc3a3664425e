"""What a dry run cannot know: the answer to a request that is not sent."""

from __future__ import annotations

from typing import Any, Self

from ...client.request.model import Placeholder


class Unknown(Placeholder):
    """An answer, or a part of one, under the name it has in the printed commands: `<title of page>`."""

    source: str
    path: tuple[str, ...]

    def __new__(cls, source: str, path: tuple[str, ...] = ()) -> Self:
        text = f"{'.'.join(path)} of {source}" if path else source
        made = super().__new__(cls, f"<{text}>")
        made.source, made.path = source, path
        return made

    def get(self, key: str, default: Any = None) -> Unknown:
        """A part of it; this is what expressions call."""
        del default
        return Unknown(self.source, (*self.path, key))

    def plus(self, other: Any) -> Unknown:
        return Unknown(f"{self[1:-1]} + {other}")
