"""Uploaded files and fields of a form."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

File = tuple[str, str, bytes]  # name, media type, content


def uploaded(media: str, body: bytes) -> tuple[list[File], dict[str, Any]]:
    """The files and the other fields of a form; nothing of any other body."""
    if media.startswith("application/x-www-form-urlencoded"):
        return [], dict(parse_qsl(body.decode("utf-8", "replace")))
    if not media.startswith("multipart/form-data"):
        return [], {}
    message = BytesParser(policy=HTTP).parsebytes(
        b"Content-Type: " + media.encode("latin-1", "replace") + b"\r\n\r\n" + body
    )
    files: list[File] = []
    fields: dict[str, Any] = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        content = part.get_payload(decode=True) or b""
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None:
            files.append((str(part.get_filename()), part.get_content_type(), bytes(content)))
        elif name:
            fields[str(name)] = bytes(content).decode("utf-8", "replace")
    return files, fields
