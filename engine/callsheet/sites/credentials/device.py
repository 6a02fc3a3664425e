"""The device authorisation grant of OAuth 2.0 (RFC 8628): a person agrees on another device, by typing a code there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...client.http.redact import Redactor
from ...errors import CallsheetError, NotAllowed

if TYPE_CHECKING:
    from ...client.http.reply import Reply

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
WAITING = ("authorization_pending", "slow_down")
_USUAL_PAUSE = 5.0
_LONGEST_PAUSE = 60.0
_LONGEST_LIFE = 1800.0


class Pending(Exception):
    """The person has not agreed yet; `slower`: ask less often from now on."""

    def __init__(self, *, slower: bool) -> None:
        super().__init__("pending")
        self.slower = slower


class DeviceCode(NamedTuple):
    """`address` and `user_code` are for the person, `secret` for the server; `pause` and `life` are seconds."""

    address: str
    user_code: str
    secret: str
    pause: float
    life: float

    def __repr__(self) -> str:
        return f"DeviceCode({self.address!r}, ...)"


def device_code(reply: Reply) -> DeviceCode:
    """What the server gave out; raises `NotAllowed` or `CallsheetError` for anything else."""
    if not reply.ok:
        shown = Redactor().url(reply.text[:300]).strip()
        raise NotAllowed(
            f"the authorization server refused to give out a code ({reply.status}): {shown}",
            hint="check the client id; the app must be allowed to use device codes",
            status=reply.status,
        )
    body = reply.json()
    table = body if isinstance(body, dict) else {}
    texts = [table.get(name) for name in ("user_code", "device_code")]
    address = table.get("verification_uri") or table.get("verification_url")  # the second is Google's
    if not isinstance(address, str) or not address.startswith(("https://", "http://")) or not all(texts):
        raise CallsheetError("the authorization server answered without a valid device code")
    pause, life = _seconds(table.get("interval"), _USUAL_PAUSE), _seconds(table.get("expires_in"), _LONGEST_LIFE)
    return DeviceCode(address, str(texts[0]), str(texts[1]), min(pause, _LONGEST_PAUSE), min(life, _LONGEST_LIFE))


def _seconds(value: object, usual: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    return float(value) if value > 0 else usual
