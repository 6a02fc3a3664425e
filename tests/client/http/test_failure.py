from __future__ import annotations

import tomllib
from typing import Any

import pytest

from callsheet.client.http import reply as replies
from callsheet.client.http.failure import texts_in
from callsheet.errors import CallsheetError, Conflict, NotAllowed, NotFound, RateLimited
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


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        (400, CallsheetError, None),
        (401, NotAllowed, "the credential was not accepted"),
        (403, NotAllowed, "ask the shopkeeper"),
        (404, NotFound, "it does not exist, or this account may not see it"),
        (405, CallsheetError, "the site does not offer this call"),
        (407, CallsheetError, "the proxy asks for credentials"),
        (409, Conflict, "it was changed meanwhile, or its state"),
        (410, NotFound, "it was removed for good"),
        (412, Conflict, "it was changed meanwhile, or the call"),
        (413, CallsheetError, "the request is larger"),
        (415, CallsheetError, "the site does not take this media type"),
        (422, CallsheetError, "the values were understood and refused"),
        (500, CallsheetError, "the failure is on the site's side"),
    ],
)
def test_a_status_has_its_class_and_its_hint(status: int, kind: type[CallsheetError], hint: str | None) -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(status, text="no"), repeat=None)]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert type(error) is kind
    assert (error.hint or "").startswith(hint) if hint else error.hint is None


@pytest.mark.parametrize(
    ("status", "headers", "body", "denied", "lacks_scope"),
    [
        (401, {}, "unauthorized", None, False),
        (401, {}, '{"message": "scope does not match"}', None, True),
        (401, {}, "scope, but not as JSON", None, False),
        (401, {"X-Denied": "CAPTCHA"}, "{}", "CAPTCHA", False),
        (403, {}, "{}", None, True),
    ],
)
def test_a_refusal_tells_what_was_refused(
    status: int, headers: dict[str, str], body: str, denied: str | None, *, lacks_scope: bool
) -> None:
    text = DEFINITIONS.replace('trace = "X-Trace"', 'trace = "X-Trace"\nlacks_scope = "contains(message, \'scope\')"')
    with shop([exchange("GET", "/api/3/item/1", reply(status, text=body, headers=headers))], text=text) as here:
        error = here.fail("getItem", {"id": "1"})
    assert (error.denied, error.lacks_scope) == (denied, lacks_scope)
    assert ("X-Denied: CAPTCHA" in error.details) == (denied is not None)


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


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        (None, []),
        (7, []),
        ("a", ["a"]),
        (["a", " b ", "a", "", "  ", None, 7], ["a", "b"]),
        ({"message": "m", "title": "t"}, ["m"]),
        ({"message": " ", "title": "t"}, ["t"]),
        ({"message": "m", "errors": ["e"], "data": {"x": "y"}}, ["m", "e", "x: y"]),
        ({"errors": [{"text": "e"}, {"name": "n"}], "other": "o"}, ["e", "n"]),
        (
            {"summary": "is required", "labels": ["no", "never"]},
            ["summary: is required", "labels: no", "labels: never"],
        ),
        ({"error": "e", "error_description": "d"}, ["d"]),
        ({"message": 7, "x": "y"}, ["x: y"]),
        ([[[[[["deep"]]]]]], ["deep"]),
        ([[[[[[["too deep"]]]]]]], []),
        ({"a": {"b": {"c": "x"}}}, ["a: b: c: x"]),
        ("x" * 501, ["x" * 500]),
    ],
)
def test_texts_are_found_wherever_a_body_holds_them(found: Any, texts: list[str]) -> None:
    assert texts_in(found) == texts


@pytest.mark.parametrize(
    ("status", "text"), [(400, "bad request"), (404, "not found"), (599, "no reason given"), (418, "i'm a teapot")]
)
def test_without_words_the_status_speaks(status: int, text: str) -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(status), repeat=None)]) as here:
        assert here.fail("getItem", {"id": "1"}).message.endswith(f"/item/1: {status}: {text}")


@pytest.mark.parametrize(("length", "shown"), [(500, "x" * 500), (501, "x" * 500 + "…")])
def test_a_text_that_is_cut_says_so(length: int, shown: str) -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(400, text="x" * length))]) as here:
        assert here.fail("getItem", {"id": "1"}).message.endswith(f": {shown}")


@pytest.mark.parametrize("size", [99, 100, 101])
def test_an_answer_that_is_too_large_is_refused(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "LARGEST", 100)
    with shop([exchange("GET", "/api/3/item/1", reply(json="x" * (size - 2)))]) as here:
        if size <= 100:
            assert here.send("getItem", {"id": "1"}).status == 200
        else:
            error = here.fail("getItem", {"id": "1"})
            assert (error.hint, error.status) == ("--out FILE saves an answer of any length", 200)
            assert error.message.endswith("the answer is larger than 0 MiB; only a download can be as large")


def test_only_a_short_answer_reports_a_failure_with_success() -> None:
    """What is longer is a result, and is not read twice."""
    for padding, fails in ((65536, True), (65537, False)):
        body = '{"ok": false, "message": "shut"}'.ljust(padding).encode()
        answer = reply(200, body=body, headers={"Content-Type": "application/json"})
        with shop([exchange("GET", "/api/3/item/1", answer)]) as here:
            if fails:
                assert here.fail("getItem", {"id": "1"}).message.endswith("shut")
            else:
                assert here.send("getItem", {"id": "1"}).status == 200


@pytest.mark.parametrize(("status", "said"), [(499, False), (500, True), (501, False), (503, True)])
def test_a_change_that_failed_on_the_sites_side_may_have_been_carried_out(status: int, said: bool) -> None:
    with shop([exchange("POST", "/api/3/item", reply(status, text="no"))]) as here:
        error = here.fail("makeItem", body={"a": 1})
    assert ("it was sent once and not repeated: it may have been carried out" in error.details) is said


def test_too_many_requests_is_a_class_of_its_own() -> None:
    with shop([exchange("POST", "/api/3/item", reply(429, text="no"))]) as here:
        error = here.fail("makeItem", body={"a": 1})
    assert (type(error), error.exit_code) == (RateLimited, 6)
