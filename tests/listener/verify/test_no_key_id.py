"""Tokens that name no key: meant for an only key, refused where there is a choice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support.keysets import jwk, key_server, private_key, token
from support.listening import listening

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

OTHER = private_key(1)


def claims(number: int) -> dict[str, Any]:
    return {"id": number, "event_type": "grade_change", "body": {}}


@pytest.mark.parametrize(
    "keys",
    [
        [jwk("k1")],
        [jwk(None)],
        [jwk("k1"), jwk("k2", OTHER, use="enc"), jwk("k3", OTHER, alg="RS512"), jwk("k4", OTHER, key_ops=["sign"])],
    ],
    ids=["a named key", "a nameless key", "others that are for something else"],
)
def test_an_only_key_proves_a_token_without_a_key_id(keys: list[dict[str, Any]], tmp_path: Path) -> None:
    with key_server(*keys) as served, listening(tmp_path, "--jwks-url", served.url) as listener:
        assert listener.post(token(claims(1), None).encode()).status == 200
        assert listener.post(token(claims(2), None, OTHER).encode()).status == 401
        listener.logged("401 token_wrong")


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        [jwk("k1"), jwk("k2", OTHER)],
        [jwk(None), jwk("k2", OTHER)],
        [jwk(None), jwk(None, OTHER)],
    ],
    ids=["two named", "one of them nameless", "two nameless"],
)
def test_where_several_keys_fit_a_token_must_name_its_own(keys: list[dict[str, Any]], tmp_path: Path) -> None:
    with key_server(*keys) as served, listening(tmp_path, "--jwks-url", served.url) as listener:
        for number, key in enumerate((private_key(), OTHER)):
            answer = listener.post(token(claims(number), None, key).encode())
            assert (answer.status, answer.body) == (401, b'{"error":"not genuine"}')
        listener.logged("401 token_key")
        if keys[1].get("kid"):
            assert listener.post(token(claims(3), "k2", OTHER).encode()).status == 200


def test_a_token_without_a_key_id_passes_only_until_the_set_has_a_second_key(tmp_path: Path) -> None:
    with key_server(jwk("k1")) as served, listening(tmp_path, "--jwks-url", served.url) as listener:
        assert listener.post(token(claims(1), None).encode()).status == 200
        served.keys = [jwk("k1"), jwk("k2", OTHER)]
        assert listener.post(token(claims(2), "k2", OTHER).encode()).status == 200
        assert listener.post(token(claims(3), None).encode()).status == 401
        assert listener.post(token(claims(4)).encode()).status == 200
