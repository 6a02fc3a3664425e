"""The credentials of all tests. They carry a mark, which is searched for in everything that any test wrote or sent.

A test puts what a person would have given (a token's file, a password's) into a folder called `given`, which is not
searched. Whatever else holds the mark fails the test that was running, in clear or in one of the forms below.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

CANARY = "canary-5f2e"
TOKEN = f"{CANARY}-token"
PASSWORD = f"{CANARY}-password"
CLIENT_SECRET = f"{CANARY}-client-secret"
WEBHOOK_SECRET = f"{CANARY} webhook secret"
COOKIE = f"session={CANARY}-cookie"

GIVEN = "given"
LARGEST = 32 * 1024 * 1024
SITES: set[str] = set()  # the addresses of servers that a test named as its site
PRESENTED = frozenset({"authorization", "proxy-authorization"})  # the headers that a credential belongs in

_MARK = CANARY.encode()


def _in_base64(before: int) -> bytes:
    """The mark after so many bytes, without the characters that also depend on what stands beside it.

    All others are kept: four characters alone turn up in random data now and then.
    """
    whole = base64.b64encode(b"x" * before + _MARK)
    return whole[-(-before * 8 // 6) : (before + len(_MARK)) * 8 // 6]


_FORMS = (_MARK, CANARY.encode("utf-16-le"), *map(_in_base64, range(3)))
_FORMS_IN_ANY_CASE = (_MARK.hex().encode(), b"".join(b"%%%02x" % byte for byte in _MARK))


def basic(user: str, secret: str = TOKEN) -> str:
    """The value of an Authorization header."""
    return "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()


def leaks(data: bytes) -> bool:
    """Whether the mark stands in some bytes: as it is, percent-encoded, in base64, in hexadecimal or in UTF-16."""
    if any(form in data for form in _FORMS):  # a search for each is faster than one pattern: most data is large
        return True
    folded = data.lower()
    return any(form in folded for form in _FORMS_IN_ANY_CASE)


def text_leaks(text: str) -> bool:
    return leaks(text.encode("utf-8", "surrogatepass"))


def file_leaks(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
            return leaks(path.read_bytes())
    return False


def given_file(folder: Path, text: str, name: str = "secret") -> Path:
    """A private file of the person, as `--token-file` and `--secret-file` want it."""
    path = folder / GIVEN / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def leaking_files(root: Path) -> list[Path]:
    """Files below a folder that hold the mark, but for what was given."""
    return [path for path in root.rglob("*") if GIVEN not in path.parts and file_leaks(path)]


def nothing_leaked(received: Iterable[bytes], who: str) -> None:
    """Fail when a stranger was sent the mark."""
    for data in received:
        assert not leaks(data), f"{who} received a secret: {data[:2000]!r}"


def holding(method: str, target: str, headers: Mapping[str, str], body: bytes) -> list[str]:
    """The parts of a request that hold the mark: `method`, `address`, `body` and the names of headers."""
    found = [name for name, text in {"method": method, "address": target, **headers}.items() if text_leaks(text)]
    return [*found, *(["body"] if leaks(body) else [])]
