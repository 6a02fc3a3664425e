"""The last good key set on disk, so that a restart while its address is down loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from collections.abc import AsyncIterator

from ...errors import CallsheetError
from ...files import changeable, locked, make_private_directory, open_regular

LOCK_TIMEOUT = 1.5


class KeySetCache:
    """`is_shared`: several processes of one listener use it, and only one of them fetches at a time."""

    def __init__(self, directory: str, url: str, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        name = hashlib.sha256(url.encode()).hexdigest()[:16]
        self.path = os.path.join(directory, f"keys-{name}.json")
        self.url = url

    @contextlib.asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Wait while another process fetches, but not for long; nor where there is no place for a lock."""
        with contextlib.ExitStack() as stack:
            if self.is_shared:
                with contextlib.suppress(CallsheetError):
                    await asyncio.to_thread(stack.enter_context, locked(self.path, LOCK_TIMEOUT))
            yield

    def load(self) -> tuple[bytes, float] | None:
        """The text of the key set and when it was fetched. A copy that others could have written is not used."""
        try:
            if changeable(self.path) is not None:
                return None
            with open_regular(self.path) as file:
                cached = json.load(file)
            if cached["url"] != self.url:
                return None
            return str(cached["text"]).encode(), float(cached["fetched_at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, text: bytes, fetched_at: float) -> None:
        """Where nothing can be written there is no copy; that costs a later restart at most a fetch."""
        temporary = f"{self.path}.{os.getpid()}"
        with contextlib.suppress(OSError, CallsheetError):
            make_private_directory(os.path.dirname(self.path))
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump({"url": self.url, "fetched_at": fetched_at, "text": text.decode()}, file)
            os.replace(temporary, self.path)
