"""The answers a sender can get, as they are written."""

from __future__ import annotations

import pytest

from callsheet.listener.server import responses

DATE = b"Tue, 15 Nov 1994 08:12:31 GMT"
EMPTY = b"HTTP/1.1 200 OK\r\ndate: " + DATE + b"\r\ncontent-length: 0\r\n\r\n"


def written(response: responses.Response) -> tuple[bytes, dict[bytes, bytes], bytes]:
    head, _, body = response.with_date(DATE).partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    return first, dict(line.split(b": ", 1) for line in lines), body


def test_what_went_well_is_short() -> None:
    assert responses.DONE.with_date(DATE) == responses.success_response(200).with_date(DATE) == EMPTY
    assert responses.BY_STATUS[200] is responses.DONE
    assert written(responses.success_response(202))[0] == b"HTTP/1.1 202 Accepted"
    assert responses.success_response(202)[0]["status"] == 202


@pytest.mark.parametrize("status", [400, 401, 404, 405, 408, 413, 415, 431, 500, 503])
def test_a_refusal_is_json_of_its_length(status: int) -> None:
    first, headers, body = written(responses.BY_STATUS[status])
    assert first.startswith(b"HTTP/1.1 %d " % status)
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"content-length"] == str(len(body)).encode()
    assert body.startswith(b'{"error":"')
    assert (headers.get(b"retry-after") == b"5") is (status == 503)
    start, end = responses.BY_STATUS[status]
    assert (start["status"], end["body"]) == (status, body)
    assert start["type"] == "http.response.start"


def test_health_and_readiness() -> None:
    for response, status, more in (
        (responses.HEALTHY, 200, set()),
        (responses.READY, 200, set()),
        (responses.NOT_READY, 503, {b"retry-after"}),
        (responses.DRAINING, 503, {b"retry-after", b"connection"}),
    ):
        first, headers, _ = written(response)
        assert first.startswith(b"HTTP/1.1 %d " % status)
        assert headers.keys() == {b"date", b"content-length", b"content-type", *more}


def test_a_date_is_written_anew_when_it_changes_and_a_last_answer_says_so_once() -> None:
    response = responses.make_response(404)
    other = b"Tue, 15 Nov 1994 08:12:32 GMT"
    assert DATE in response.with_date(DATE)
    assert other in response.with_date(other)
    assert DATE not in response.with_date(other)
    assert response.with_close(DATE).count(b"connection: close\r\n") == 1
    assert response.with_date(DATE).count(b"connection: close\r\n") == 0
    assert responses.DRAINING.with_close(DATE).count(b"connection: close\r\n") == 1
    assert (responses.DRAINING.closes, response.closes) == (True, False)


def test_what_is_shown_to_a_sender_is_no_page() -> None:
    first, headers, body = written(responses.challenge_response(b"<b>", b"text/plain"))
    assert (first, body) == (b"HTTP/1.1 200 OK", b"<b>")
    assert headers[b"content-type"] == b"text/plain"
    assert headers[b"x-content-type-options"] == b"nosniff"
    first, headers, body = written(responses.challenge_response(b"", b"text/plain"))
    assert (first, body) == (b"HTTP/1.1 204 No Content", b"")
    assert headers.keys() == {b"date"}


def test_other_methods_and_what_is_no_request() -> None:
    assert written(responses.not_allowed(b"POST, GET"))[1][b"allow"] == b"POST, GET"
    busy = responses.connection_close_response(503, b"Service Unavailable")
    assert busy == (
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: 16\r\n"
        b'retry-after: 5\r\nconnection: close\r\n\r\n{"error":"busy"}'
    )
    assert b"retry-after" not in responses.connection_close_response(408, b"Request Timeout")


def test_a_body_is_of_one_type() -> None:
    """JSON unless it is said otherwise; written in the order of the headers, once."""
    plain = responses.make_response(200, b"x", ((b"content-type", b"text/plain"),))
    assert plain.with_date(DATE).count(b"content-type") == 1
    assert written(plain)[1][b"content-type"] == b"text/plain"
    assert written(responses.make_response(200, b"{}"))[1][b"content-type"] == b"application/json"
    assert b"content-type" not in written(responses.make_response(200))[1]


def test_the_last_answer_of_a_connection_says_so_once() -> None:
    for response in (responses.DONE, responses.DRAINING):
        assert response.with_close(DATE).count(b"connection: close\r\n") == 1
        assert response.with_close(DATE).partition(b"\r\n\r\n")[2] == response[1]["body"]
    assert b"connection" not in responses.DONE.with_date(DATE)


def test_the_date_is_that_of_the_moment() -> None:
    assert responses.DONE.with_date(DATE) is responses.DONE.with_date(DATE)
    assert b"date: later\r\n" in responses.DONE.with_date(b"later")
