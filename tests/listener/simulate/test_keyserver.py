"""The key set that is served while events are sent."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

from callsheet.listener.server.listening_sockets import parse_address
from callsheet.listener.simulated_deliveries import served_key_set


def test_the_set_is_at_its_path_alone_and_a_silent_client_holds_up_nobody() -> None:
    with served_key_set(parse_address("127.0.0.1:0"), b"[]", "--keys-addr") as url:
        with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0)), urllib.request.urlopen(url) as answer:
            assert (answer.status, answer.read()) == (200, b"[]")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{url}/other")
        assert (refused.value.code, refused.value.read()) == (404, b"")
        refused.value.close()
