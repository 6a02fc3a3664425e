"""Where a path of the profiles file leads."""

from __future__ import annotations

import os

import pytest

from callsheet.sites.credentials.secrets import absolute

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
    assert absolute(path, ENVIRON) == expected
