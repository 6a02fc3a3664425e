"""What an authorization server gives out for a sign-in on another device (RFC 8628, section 3.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.errors import CallsheetError, NotAllowed
from callsheet.sites.credentials.oauth import DeviceCode, device_code

GIVEN = {"user_code": "WDJB-MJHT", "device_code": "d", "verification_uri": "https://a.example/d"}


class Answer:
    """As much of a reply as is read."""

    def __init__(self, body: Any, status: int = 200) -> None:
        self.status = status
        self.ok = status < 400
        self.text = json.dumps(body)
        self._body = body

    def json(self) -> Any:
        return self._body


def code(body: Any, status: int = 200) -> DeviceCode:
    answer: Any = Answer(body, status)
    return device_code(answer)


@pytest.mark.parametrize("interval", [None, 0, -1, True, "soon", [5]])
def test_an_interval_that_is_none_is_the_usual_one(interval: Any) -> None:
    found = code({**GIVEN, "interval": interval, "expires_in": interval})
    assert (found.pause, found.life) == (5.0, 1800.0)


def test_times_are_taken_as_they_are_told_within_bounds() -> None:
    found = code({**GIVEN, "interval": 2, "expires_in": 60.5})
    assert (found.pause, found.life) == (2.0, 60.5)
    patient = code({**GIVEN, "interval": 1e9, "expires_in": 1e9})
    assert (patient.pause, patient.life) == (60.0, 1800.0)


def test_another_name_of_the_address_is_known() -> None:
    body = {**GIVEN, "verification_url": "https://b.example/d"}
    del body["verification_uri"]
    assert code(body).address == "https://b.example/d"


@pytest.mark.parametrize("missing", sorted(GIVEN))
def test_what_is_no_code_is_refused(missing: str) -> None:
    with pytest.raises(CallsheetError, match="without a valid device code"):
        code({name: text for name, text in GIVEN.items() if name != missing})
    with pytest.raises(CallsheetError, match="without a valid device code"):
        code(["a"])


def test_a_refusal_says_its_status() -> None:
    with pytest.raises(NotAllowed, match=r"refused to give out a code \(401\)"):
        code({"error": "invalid_client"}, 401)
