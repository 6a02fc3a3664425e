"""What is said of a request that got no answer, and whether it may have had an effect."""

from __future__ import annotations

import ssl

import httpx
import pytest

from callsheet.client.http.connections import PROXY
from callsheet.client.http.retry import allowed_retries, explain_network_error, network_error, was_not_sent

REQUEST = httpx.Request("GET", "https://shop.example/x")


def caused(error: httpx.RequestError, cause: BaseException) -> httpx.RequestError:
    error.__cause__ = RuntimeError("between")
    error.__cause__.__context__ = cause
    return error


def distrusted() -> ssl.SSLError:
    error = ssl.SSLCertVerificationError(1, "no")
    error.verify_message = "self-signed certificate"
    return error


def other_protocol() -> ssl.SSLError:
    error = ssl.SSLError(1, "no")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


SEEN = [
    (httpx.ConnectTimeout("x"), "no connection to shop.example within 7 s", "see --timeout", True),
    (httpx.ReadTimeout("x"), "no answer within 7 s", "see --timeout", False),
    (
        httpx.ProxyError("407 no"),
        "the proxy refused: 407 no",
        "if it asks for credentials (407), put them into its address: http://USER:PASSWORD@HOST:PORT",
        True,
    ),
    (
        caused(httpx.ConnectError("x"), OSError(111, "Connection refused")),
        "cannot connect to shop.example: connection refused",
        "check the address, the network and the proxy",
        True,
    ),
    (
        caused(httpx.ConnectError("x"), ExceptionGroup("of each address", [OSError(111, "Connection refused")])),
        "cannot connect to shop.example: connection refused",
        "check the address, the network and the proxy",
        True,
    ),
    (
        caused(httpx.ConnectError("x"), distrusted()),
        "the certificate of shop.example is not trusted: self-signed certificate",
        "for a private certificate authority give the site its CA bundle, or set SSL_CERT_FILE",
        True,
    ),
    (
        caused(httpx.ConnectError("x"), other_protocol()),
        "no TLS connection to shop.example: wrong version number",
        "check that the address and port speak https",
        True,
    ),
    (httpx.DecodingError("Bad\nZip"), "the answer could not be decompressed: bad", None, False),
    (httpx.LocalProtocolError("Illegal"), "the request could not be sent: illegal", None, False),
    (
        httpx.LocalProtocolError("Illegal header value b'Bearer token'"),
        "the request could not be sent: illegal header value",
        None,
        False,
    ),
    (caused(httpx.ReadError(""), OSError(104, "Reset")), "the answer was cut off: reset", None, False),
    (caused(httpx.ReadError("x"), OSError("no number")), "the answer was cut off: x", None, False),
    (httpx.RemoteProtocolError(""), "the answer was cut off: remoteprotocolerror", None, False),
]


@pytest.mark.parametrize(("error", "text", "hint", "unsent"), SEEN, ids=lambda value: type(value).__name__)
def test_what_went_wrong_and_what_to_do(error: httpx.RequestError, text: str, hint: str | None, unsent: bool) -> None:
    error.request = REQUEST
    assert explain_network_error(error, 7.0) == (text, hint)
    safe = network_error(error, "GET", "URL", timeout=7.0, safe=True)
    assert (safe.message, safe.hint, safe.details, safe.exit_code) == (f"GET URL: {text}", hint, (), 7)
    assert was_not_sent(error) is unsent
    changing = network_error(error, "POST", "URL", timeout=7.0, safe=False)
    if unsent:
        assert (changing.hint, changing.details) == (hint, ("nothing was sent",))
    else:
        assert changing.details == ("it was sent once and not repeated: it may have been carried out",)
        assert changing.hint == "look whether it took effect before you send it again"


def test_an_address_of_another_protocol_is_a_usage_error() -> None:
    error = httpx.UnsupportedProtocol("x", request=REQUEST)
    assert network_error(error, "GET", "ftp://x", timeout=7.0, safe=True).exit_code == 2
    assert allowed_retries(error, 4, reached=True, begun=False) == 0


# Known host, answer not begun; known host, answer begun; unknown host.
@pytest.mark.parametrize(
    ("error", "times"),
    [
        (httpx.ReadTimeout("x"), [1, 1, 1]),
        (httpx.ConnectTimeout("x"), [1, 1, 1]),
        (httpx.ProxyError("x"), [0, 0, 0]),
        (httpx.ConnectError("x"), [4, 2, 0]),
        (caused(httpx.ConnectError("x"), distrusted()), [0, 0, 0]),
        (httpx.LocalProtocolError("x"), [0, 0, 0]),
        (httpx.ReadError("x"), [4, 2, 2]),
    ],
)
def test_how_often_it_is_tried_again(error: httpx.RequestError, times: list[int]) -> None:
    cases = [(True, False), (True, True), (False, False)]
    assert [allowed_retries(error, 4, reached=reached, begun=begun) for reached, begun in cases] == times
    assert [allowed_retries(error, 1, reached=reached, begun=begun) for reached, begun in cases] == [
        min(1, n) for n in times
    ]


def test_a_proxy_that_is_not_there_is_named_and_not_the_host() -> None:
    error = caused(httpx.ConnectError("x"), OSError(111, "Connection refused"))
    error.request = httpx.Request("GET", "https://shop.example/x", extensions={PROXY: "proxy.example:3128"})
    text, hint = explain_network_error(error, 7)
    assert text == "cannot connect to the proxy proxy.example:3128: connection refused"
    assert hint == "check the proxy's address and credentials"
