"""A body in the media type that the operation documents."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...errors import UsageError, did_you_mean
from ...language.parameter_text import text_of
from .call import JOINTS
from .model import (
    OCTET_STREAM,
    Body,
    File,
    FileToSend,
    Form,
    Json,
    Multipart,
    MultipartPart,
    Placeholder,
    Raw,
    is_form,
    is_json,
    is_multipart,
    is_text,
    media_essence,
    media_type_for_file,
    media_type_of_file,
)
from .schema import BodyFault, UnfitBody, check_json, faults

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import Body as Documented
    from ...language.shape.rest import BodyPart
    from .call import Call

_NOTHING = object()


class BodyBuilder:
    """One operation's body; `data` is raw text (bytes) still to be read, or a value already.

    A value that fits the schema is not checked again where it is the very same one in the next request, as for many
    items at once: whoever gives a value does not change it any more.
    """

    def __init__(self, call: Call, catalog: Catalog, program: str, *, strict: bool) -> None:
        self.call = call
        self.catalog = catalog
        self.program = program
        self.strict = strict
        self.documented: Documented | None = call.operation.get("body")
        self.media = (self.documented or cast("Documented", {})).get("media", "application/json")
        self._fitting: Any = _NOTHING

    def build(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body | None:
        """`fields` are parts given by name. None when the request goes without a body."""
        if data is None and not fields and not files:
            return self._no_body()
        if self.documented is None and self.strict:
            raise self._error("takes no body")
        for kind, make in self._MAKERS:
            if kind(self.media):
                return make(self, data, fields, files)
        return self._raw(data, fields, files)

    def _error(self, problem: str) -> UsageError:
        return UsageError(f"{self.call.id} {problem}", hint=f"{self.program} op describe {self.call.id}")

    def _no_body(self) -> Body | None:
        if self.documented is None or not self.strict or self.documented.get("optional"):
            return None
        if is_multipart(self.media) and not any(p.get("required") for p in self.parts.values()):
            return None
        error = self._error(f"requires a body ({self._usage_hint()})")
        raise UnfitBody(error.message, self._lacking(), hint=error.hint)

    def _lacking(self) -> list[BodyFault]:
        """What must be there, of a body of which nothing is."""
        schema = (self.documented or cast("Documented", {})).get("schema")
        found = faults({}, schema, self.catalog) if schema else []
        required = [name for name, part in self.parts.items() if part.get("required")]
        return [*(fault for fault in found if fault.missing), *(BodyFault((), "", name) for name in required)]

    def _usage_hint(self) -> str:
        if is_multipart(self.media) or not (is_json(self.media) or is_text(self.media)):
            return "--file PATH"
        return f"{media_essence(self.media)}: -d TEXT, -d @file or -d @-"

    def _json(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        self._refuse_files(files)
        value = self._parsed(data)
        schema = (self.documented or cast("Documented", {})).get("schema")
        if schema and self.strict and value is not self._fitting:
            check_json(value, schema, self.catalog, self.call.id, self.program)
            self._fitting = value
        return Json(value, self.media)

    def _parsed(self, data: Any) -> Any:
        from ...jsontext import JSONError, parse_json

        try:
            return parse_json(data) if isinstance(data, bytes) else data
        except JSONError as error:
            raise self._error(f"takes a JSON body: {error}") from None

    def _refuse_files(self, files: Sequence[FileToSend]) -> None:
        if files:
            raise self._error(f"takes {media_essence(self.media)}, not files: use -d @{_path(files[0])}")

    def _text(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        if files:
            return self._raw(data, fields, files)
        return Raw(data if isinstance(data, bytes) else text_of(data).encode(), self.media)

    def _form(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        self._refuse_files(files)
        values = self._fields(data, fields)
        self._require(values)
        pairs = tuple(pair for name, value in values.items() for pair in form_pairs(name, value, self.parts.get(name)))
        return Form(pairs, self.media)

    def _multipart(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        values = self._fields(data, fields)
        parts = [
            MultipartPart(part, file=_check_file(path, media_type_of_file(name or path), name))
            for part, path, name in self._named_files(files)
        ]
        for name, value in values.items():
            part = self.parts.get(name, {})
            pairs = form_pairs(name, value, part)
            parts += [MultipartPart(each, text=text, media=part.get("media")) for each, text in pairs]
        self._require({**values, **{part.name: part for part in parts}})
        return Multipart(tuple(parts))

    def _require(self, given: Mapping[str, Any]) -> None:
        lacking = [name for name, part in self.parts.items() if part.get("required") and name not in given]
        if lacking and self.strict:
            files = " (--file PATH)" if any(self.parts[name].get("file") for name in lacking) else ""
            text = "requires the part " + ", ".join(f'"{name}"' for name in lacking) + files
            found = [BodyFault((), f'"{name}" is missing', name) for name in lacking]
            error = self._error(text)
            raise UnfitBody(error.message, found, hint=error.hint)

    @property
    def parts(self) -> dict[str, Any]:
        return cast("dict[str, Any]", (self.documented or cast("Documented", {})).get("parts", {}))

    def _fields(self, data: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
        values = {} if data is None else self._parsed(data)
        if not isinstance(values, dict):
            raise self._error("takes its fields as a JSON object")
        values = {**values, **fields}
        for name in values:
            if self.strict and name not in self.parts:
                raise self._error(f'has no part "{name}"{did_you_mean(name, self.parts)}')
        return values

    def _named_files(self, files: Sequence[FileToSend]) -> list[tuple[str, str, str]]:
        """Part, path and name of each file: `part=path` where it names a part, else the operation's file part."""
        file_parts = [name for name, part in self.parts.items() if part.get("file")] or ["file"]
        named: list[tuple[str, str, str]] = []
        for file in files:
            given, known_as = (file, "") if isinstance(file, str) else (str(file["path"]), str(file["name"]))
            name, equals, path = given.partition("=")
            if equals and not known_as and name in file_parts and not os.path.exists(given):
                named.append((name, path, ""))
            elif len(file_parts) == 1:
                named.append((file_parts[0], given, known_as))
            else:
                raise self._error(f"has several file parts: --file NAME={given}, NAME one of {', '.join(file_parts)}")
        self._check_repeats([part for part, _, _ in named])
        return named

    def _check_repeats(self, names: list[str]) -> None:
        for name in names:
            if self.strict and names.count(name) > 1 and not self.parts.get(name, {}).get("many", False):
                raise self._error(f'takes one file as "{name}", {names.count(name)} were given')

    def _raw(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        if len(files) + (data is not None) != 1:
            raise self._error(f"takes one body of type {media_essence(self.media)}: one --file")
        if files:
            path = _path(files[0])
            return _check_file(path, media_type_for_file(path, self.media))
        if "*" in self.media:
            return _guess_media(data)
        return Raw(data if isinstance(data, bytes) else text_of(data).encode(), self.media)

    _Maker = Callable[["BodyBuilder", Any, Mapping[str, Any], Sequence[FileToSend]], Body]
    _MAKERS: tuple[tuple[Callable[[str], bool], _Maker], ...] = (
        (is_json, _json),
        (is_multipart, _multipart),
        (is_form, _form),
        (is_text, _text),
    )


def _guess_media(data: Any) -> Body:
    """Where any type is taken: JSON when it is JSON, else bytes."""
    from ...jsontext import JSONError, parse_json

    try:
        return Json(parse_json(data) if isinstance(data, bytes) else data)
    except JSONError:
        return Raw(data, OCTET_STREAM)


def form_pairs(name: str, value: Any, part: BodyPart | None) -> Iterator[tuple[str, str]]:
    """What is sent for one part of a form, in the style that its definition says."""
    style = (part or cast("BodyPart", {})).get("style", "repeat")
    if style == "deep":
        yield from _deep(name, value)
    elif isinstance(value, list) and style in JOINTS:
        yield name, JOINTS[style].join(map(text_of, value))
    else:
        yield from ((name, text_of(item)) for item in (value if isinstance(value, list) else [value]))


def _deep(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """`name[key]=value` and `name[0]=value`, at any depth."""
    if isinstance(value, Mapping):
        yield from (pair for key, inner in value.items() for pair in _deep(f"{name}[{key}]", inner))
    elif isinstance(value, list):
        yield from (pair for place, inner in enumerate(value) for pair in _deep(f"{name}[{place}]", inner))
    else:
        yield name, text_of(value)


def _path(file: FileToSend) -> str:
    return file if isinstance(file, str) else str(file["path"])


def _check_file(path: str, media: str, name: str = "") -> File:
    """Found and readable now, so that a wrong path is told before anything is sent; and of a length that is known."""
    if isinstance(path, Placeholder):
        return File(path, media, name)
    try:
        os.path.basename(path).encode()
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _cannot_read(path)
        with open(path, "rb"):
            return File(path, media, name)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except ValueError:
        raise UsageError(f"{path!r}: the name is not valid UTF-8", hint="rename the file") from None


def _cannot_read(path: str) -> UsageError:
    if os.path.isdir(path):
        return UsageError(f"{path}: is a directory")
    return UsageError(f"{path}: not a regular file, so its length is not known", hint="write it to a file first")
