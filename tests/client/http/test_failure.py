from __future__ import annotations

import tomllib
from typing import Any

import pytest

from support.places import CASES
from support.server import exchange, reply
from support.shop import DEFINITIONS, shop

CASES = tomllib.loads((CASES / "http/failures.toml").read_text(encoding="utf-8"))["case"]


def answered(case: dict[str, Any]) -> Any:
    body = {key: case[key] for key in ("json", "text") if key in case}
    return reply(case["status"], headers=case.get("headers"), **body)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_error_body_becomes_one_message(case: dict[str, Any]) -> None:
    errors = f"errors = '{case['errors']}'" if "errors" in case else ""
    text = DEFINITIONS.replace('errors = "[errorMessages, errors, message]"', errors)
    with shop([exchange("POST", "/api/3/find", answered(case))], text=text) as here:
        error = here.fail("findItems", body={})
    assert error.message == f"POST {here.server.url}/api/3/find: {case['message']}"
    assert list(error.details) == case.get("details", [])
    assert error.exit_code == case["exit"]
    assert error.status == case["status"]
    assert error.trace_id == case.get("trace")
    if "hint" in case:
        assert error.hint == case["hint"]


def test_a_success_may_report_a_failure() -> None:
    answer = reply(200, json={"ok": False, "message": "the shop is closed"})
    with shop([exchange("GET", "/api/3/item/1", answer)]) as here:
        assert here.fail("getItem", {"id": "1"}).message.endswith("/item/1: 200: the shop is closed")


def test_a_long_message_is_cut() -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(400, text="x" * 100_000))]) as here:
        assert len(here.fail("getItem", {"id": "1"}).message) < 700


def test_a_very_deep_body_does_no_harm() -> None:
    body = b"[" * 5000 + b"]" * 5000
    with shop([exchange("GET", "/api/3/item/1", reply(400, body=body))]) as here:
        message = here.fail("getItem", {"id": "1"}).message
    # How deep JSON may be depends on the Python: it is read and says nothing, or is shown as the text it is.
    assert ": 400: [[[" in message or message.endswith(": 400: bad request")
