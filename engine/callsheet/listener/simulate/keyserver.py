"""A key set served on this host for as long as events are sent that it proves."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
from collections.abc import Iterator

from ..server.bind import ListenAddress, bind, urls

PATH = "/jwks.json"


@contextlib.contextmanager
def served(address: ListenAddress, text: bytes, option: str) -> Iterator[str]:
    """The address of the key set. Errors name the option that `address` was given by."""

    class KeySetRequestHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == PATH else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text) if self.path == PATH else 0))
            self.end_headers()
            if self.path == PATH:
                self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody asked."""

    sockets = bind(address, option)
    servers = [_server(opened, KeySetRequestHandler) for opened in sockets]
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield urls(sockets, "http")[0] + PATH
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def _server(
    opened: socket.socket, handler: type[http.server.BaseHTTPRequestHandler]
) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("", 0), handler, bind_and_activate=False)
    server.socket.close()
    opened.settimeout(None)
    server.socket = opened
    server.server_address = opened.getsockname()[:2]
    return server
