"""Where a path of the profiles file leads, and where a server sends a browser back to."""

from __future__ import annotations

import os
from typing import Any

import pytest

from callsheet.sites.credentials.oauth import Authority
from callsheet.sites.credentials.secrets import absolute_path

ENVIRON = {"HOME": "/home/robin", "CALLSHEET_HOME": "/settings"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~", "/home/robin"),
        ("~/token", "/home/robin/token"),
        ("token", "/settings/token"),
        ("keys/token", "/settings/keys/token"),
        ("/run/token", "/run/token"),
        ("~robin/token", "/settings/~robin/token"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the paths of another system")
def test_a_path_starts_at_home_at_the_root_or_beside_the_file(path: str, expected: str) -> None:
    assert absolute_path(path, ENVIRON, "suite") == expected


def test_a_redirect_url_has_the_port_that_is_asked_for_or_that_of_the_definition() -> None:
    """It must be the one that is registered with the server, to the letter."""
    consent: Any = {"authorize": "https://h/a", "token": "https://h/t", "port": 8990, "path": "/callback"}
    web: Any = None
    authority = Authority(consent, "app", "", web)
    assert authority.redirect_url() == "http://127.0.0.1:8990/callback"
    assert authority.redirect_url(9000) == "http://127.0.0.1:9000/callback"
    named: Any = {**consent, "host": "localhost"}
    assert Authority(named, "app", "", web).redirect_url() == "http://localhost:8990/callback"
