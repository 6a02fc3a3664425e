"""Media types: which of them are JSON, and which type a file is sent as."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ...errors import UsageError

ANY = "application/octet-stream"
FORM = "application/x-www-form-urlencoded"


def media_essence(media: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return media.partition(";")[0].strip().lower()


def is_json(media: str) -> bool:
    kind = media_essence(media)
    return kind.endswith(("/json", "+json"))


def is_text(media: str) -> bool:
    return media_essence(media).startswith("text/")


def is_form(media: str) -> bool:
    return media_essence(media) == FORM


def is_multipart(media: str) -> bool:
    return media_essence(media).startswith("multipart/")


def of_file(path: str) -> str:
    """By the file's name."""
    import mimetypes

    kind, coding = mimetypes.guess_type(path)
    return kind if kind and not coding else ANY


def for_file(path: str, documented: str) -> str:
    """The type a raw body is sent as: the documented one, or where that is a wildcard, the file's own."""
    pattern = media_essence(documented)
    if "*" not in pattern:
        return documented
    own = of_file(path)
    if not fnmatchcase(own, pattern):
        raise UsageError(f"{path}: expected a file of type {pattern}, its name says {own}")
    return own
