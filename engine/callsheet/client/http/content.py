"""A request's body as httpx takes it; files are read while they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any
from urllib.parse import urlencode

from ...errors import UsageError
from ...jsontext import dump_json
from ..request.model import Body, File, Form, Json, Multipart, MultipartPart, Raw


@contextmanager
def request_content(body: Body | None) -> Iterator[dict[str, Any]]:
    """Keyword arguments for one attempt at sending; files are open inside the block only."""
    with ExitStack() as stack:
        yield _arguments(body, stack)


def _arguments(body: Body | None, stack: ExitStack) -> dict[str, Any]:
    match body:
        case None:
            return {}
        case Multipart(parts):
            return {"files": [(part.name, _part(part, stack)) for part in parts]}
        case File(path=path, media=media):
            return {"content": stack.enter_context(_open(path)), "headers": {"Content-Type": media}}
        case _:
            headers = {"Content-Type": body.media} if body.media else {}
            return {"content": data_of(body), "headers": headers}


def data_of(body: Json | Raw | Form) -> bytes:
    match body:
        case Json(value):
            return dump_json(value).encode()
        case Raw(data):
            return data
        case Form(pairs):
            return urlencode(pairs).encode()


def _part(part: MultipartPart, stack: ExitStack) -> tuple[str | None, Any, str | None]:
    file = part.file
    if file is None:
        return (None, (part.text or "").encode(), part.media)
    from os.path import basename

    return (file.name or basename(file.path), stack.enter_context(_open(file.path)), file.media)


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
