"""Taking secrets out of everything that is printed."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from ...errors import CallsheetError

HIDDEN = "***"
_DERIVED_FROM = 6  # shorter secrets have encoded forms that occur by chance
_CREDENTIAL_HEADERS = re.compile(
    r"authorization$|cookie$|secret|password|api-?key|session-?id"
    r"|(auth|access|private|security|refresh|id|csrf|xsrf|session)-token",
    re.IGNORECASE,
)
# A pair of a query or fragment, in a URL or inside one that is itself the value of a parameter and so encoded.
_CREDENTIAL_PAIRS = re.compile(
    r"((?:[?&#;]|%3F|%26|%23)"
    r"(?:[^=&#;?%\s]{0,60}(?:token|secret|password|passwd|passphrase|passcode|signature|credential|jwt|assertion|bearer"
    r"|(?:api|access|private)[_-]?key|session_?id|authorization|hmac|[cx]srf|samlresponse)(?:\[\]|%5B%5D)?"
    r"|sig|code|auth|ticket|pwd|pass|otp|sid|session)"
    r"(?:=|%3D))(?:(?!%26|%23)[^&#;\s<>\"',])+",
    re.IGNORECASE,
)
_PAGE_TOKENS = re.compile(r"(?:[?&#;]|%3F|%26|%23)\w*(?:next|page|continuation)\w*token(?:=|%3D)", re.IGNORECASE)
_USER_IN_URL = re.compile(r"(?<=://)[^/?#@\s<>\"']+(?=@)")


class Redactor:
    """Replaces each secret, also in base64 and percent-encoded, by `***`. A library's words may come in lower case."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these too: a credential is known only when it is first asked for, and may be renewed."""
        known = self._secrets.union(secret for secret in secrets if secret)
        if known != self._secrets:
            longest_first = sorted(
                {form for secret in known for form in _forms_of_secret(secret)}, key=len, reverse=True
            )
            self._secrets, self._pattern = known, re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def text(self, text: str) -> str:
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def error(self, error: CallsheetError) -> None:
        """Clean what a person will read of an error."""
        error.message = self.url(error.message)
        error.hint = self.url(error.hint) if error.hint else error.hint
        error.details = tuple(map(self.url, error.details))
        error.args = (error.message,)

    def url(self, url: str) -> str:
        """Also hides who is named in it, and the values of parameters whose names say that they are credentials.

        Such as the signature of an address that works without any other credential. `url` may be a text with URLs.
        """
        return self.text(_CREDENTIAL_PAIRS.sub(_hide_pair, _USER_IN_URL.sub(HIDDEN, url)))

    def header(self, name: str, value: str) -> str:
        """The scheme of a credential stays, as in `Basic ***`."""
        if not _CREDENTIAL_HEADERS.search(name):
            return self.url(value)
        scheme, space, rest = value.partition(" ")
        if name.lower().endswith("authorization") and space and rest:
            return f"{scheme} {HIDDEN}"
        return HIDDEN


def _hide_pair(match: re.Match[str]) -> str:
    return match[0] if _PAGE_TOKENS.match(match[1]) else match[1] + HIDDEN


def _forms_of_secret(secret: str) -> set[str]:
    forms = {secret}
    if len(secret) >= _DERIVED_FROM:
        forms |= {quote(secret, safe=""), quote_plus(secret), secret.encode("unicode_escape").decode()}
        forms |= {form for shift in range(3) for form in _base64_forms(secret.encode(), shift)}
    return forms


def _base64_forms(secret: bytes, shift: int) -> set[str]:
    """The characters that stand for the secret alone when it starts `shift` bytes into a group of three."""
    padded = bytes(shift) + secret
    first = -(-shift * 4 // 3)
    last = len(padded) * 8 // 6
    return {encode(padded).decode()[first:last] for encode in (b64encode, urlsafe_b64encode)}
