"""Serving the page in the loop that runs, by uvicorn's protocol."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

from uvicorn import Config
from uvicorn.server import ServerState

from ..ending import cancel_all
from .app import PageApp


class PageServer:
    """Serves on a socket that is bound already. `address` is what a person is told of it."""

    def __init__(self, app: PageApp, listening: socket.socket, address: str) -> None:
        self.address = address
        self._app = app
        self._socket = listening
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        config = Config(
            cast("Any", self._app), ws="none", lifespan="off", access_log=False, log_config=None, proxy_headers=False,
            server_header=False,
        )  # fmt: skip
        config.load()
        protocol: Any = config.http_protocol_class

        def make_protocol() -> asyncio.Protocol:
            made: asyncio.Protocol = protocol(config=config, server_state=self._state, app_state={})
            return made

        self._server = await asyncio.get_running_loop().create_server(make_protocol, sock=self._socket)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            cast("Any", connection).transport.abort()
        await cancel_all(self._state.tasks)
        content = self._app.content
        if content.kept is not None:
            content.thread.submit(content.kept.close)
        content.thread.shutdown()
