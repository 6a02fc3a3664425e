"""A request as one curl command for a POSIX shell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from shlex import quote

from ...jsontext import dump_json
from ..request.http_request import File, Form, Json, Multipart, MultipartPart, Raw, Request
from .redact import Redactor
from .reply import with_query


def curl_command(
    request: Request, headers: Mapping[str, str], query: tuple[tuple[str, str], ...], redactor: Redactor | None
) -> str:
    """`headers` and `query` are sent besides the request's own. Without a redactor the credential is shown."""
    text, header = _masking_functions(redactor)
    url = with_query(request.url, query)
    words = ["curl", *_method_options(request), quote(redactor.url(url) if redactor else url)]
    named = {**headers, **_content_type(request), **dict(request.headers)}
    for name, value in named.items():
        words += ["-H", quote(f"{name}: {header(name, value)}")]
    before, body = _body_options(request, text)
    return before + " ".join([*words, *body])


def _masking_functions(redactor: Redactor | None) -> tuple[Callable[[str], str], Callable[[str, str], str]]:
    if redactor is None:
        return (lambda text: text), (lambda _name, value: value)
    return redactor.text, redactor.header


def _method_options(request: Request) -> list[str]:
    follow = ["-L"] if request.reply == "binary" and request.method == "GET" else []
    if request.method == "HEAD":
        return ["--head"]
    if request.method == "GET" and request.body is None:
        return follow
    return [*follow, "-X", request.method]


def _content_type(request: Request) -> dict[str, str]:
    match request.body:
        case Json() | File() | Form():
            return {"Content-Type": request.body.media}
        case Raw(_, media) if media:
            return {"Content-Type": media}
        case _:
            return {}


def _body_options(request: Request, text: Callable[[str], str]) -> tuple[str, list[str]]:
    """What stands before the command, and its options for the body."""
    match request.body:
        case Json(value):
            return "", ["--data-raw", quote(text(dump_json(value)))]
        case File(path):
            return "", ["--data-binary", quote(f"@{path}")]
        case Raw(data):
            return _raw_body_option(data, text)
        case Form(pairs):
            return "", [word for name, value in pairs for word in ("--data-urlencode", quote(text(f"{name}={value}")))]
        case Multipart(parts):
            return "", [word for part in parts for word in _form_part_option(part, text)]
        case _:
            return "", []


def _raw_body_option(data: bytes, text: Callable[[str], str]) -> tuple[str, list[str]]:
    """Text as it is; other bytes through printf, whose octal escapes every shell knows."""
    try:
        plain = data.decode()
    except UnicodeDecodeError:
        plain = "\0"
    if "\0" not in plain:
        return "", ["--data-raw", quote(text(plain))]
    escaped = "".join(f"\\{byte:03o}" for byte in data)
    return f"printf '{escaped}' | ", ["--data-binary", "@-"]


def _form_part_option(part: MultipartPart, text: Callable[[str], str]) -> list[str]:
    if part.file is None and part.media:
        return ["-F", quote(text(f"{part.name}={_shell_quoted(part.text or '')};type={part.media}"))]
    if part.file is None:
        return ["--form-string", quote(text(f"{part.name}={part.text}"))]
    name = f";filename={_shell_quoted(part.file.name)}" if part.file.name else ""
    return ["-F", quote(f"{part.name}=@{_shell_quoted(part.file.path)};type={part.file.media}{name}")]


def _shell_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
