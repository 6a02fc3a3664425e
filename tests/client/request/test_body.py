from __future__ import annotations

import os
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from callsheet.client.request.build import Builder
from callsheet.client.request.http_request import File, Form, Json, Multipart, MultipartPart, Placeholder, Raw, Request
from callsheet.client.request.json_body import members_of_words
from callsheet.errors import UsageError
from support.fakes import Definitions, FakeSite

DEFINITIONS = Definitions(
    """
[product.p]
title = "P"

[operation.json]
product = "p"
http = "POST /json"
body = { schema = "Issue" }

[operation.patch]
product = "p"
http = "PATCH /patch"
body = { media = "application/json-patch+json", optional = true }

[operation.text]
product = "p"
http = "PUT /text"
body = { media = "text/plain" }

[operation.form]
product = "p"
http = "POST /form"
body = { media = "application/x-www-form-urlencoded", parts = { name = { required = true }, tags = { many = true } } }

[operation.image]
product = "p"
http = "PUT /image"
body = { media = "image/*" }

[operation.any]
product = "p"
http = "PUT /any"
body = { media = "*/*" }

[operation.upload]
product = "p"
http = "POST /upload"
[operation.upload.body]
media = "multipart/form-data"
parts = { file = { file = true, required = true }, comment = {}, minor = { type = "boolean" } }

[operation.two]
product = "p"
http = "POST /two"
[operation.two.body]
media = "multipart/form-data"
parts = { front = { file = true }, back = { file = true, many = true } }

[operation.described]
product = "p"
http = "POST /described"
[operation.described.body]
media = "multipart/form-data"
parts.file = { file = true, required = true }
parts.about = { type = "object", schema = "About", media = "application/json" }
parts.each = { type = "object", schema = "About", media = "application/json", many = true }

[operation.none]
product = "p"
http = "GET /none"

[schema.Issue]
type = "object"
required = ["fields"]
additionalProperties = false
[schema.Issue.properties]
fields = { ref = "Fields" }
update = { type = ["object", "null"] }
ref = { type = "string" }
never = { ref = "Unreached" }

[[schema.Issue.properties.due.anyOf]]
type = "string"
pattern = "^[0-9-]+$"

[[schema.Issue.properties.due.anyOf]]
type = "object"
required = ["day"]
properties = { day = { type = "integer" } }

[schema.About]
type = "object"
properties = { summary = { type = "string" }, size = { type = "integer" }, on = { ref = "About" } }

[schema.Fields]
type = "object"
required = ["summary", "project"]
additionalProperties = false
[schema.Fields.properties]
summary = { type = "string", maxLength = 20 }
project = { type = "object", properties = { key = { type = "string" } }, additionalProperties = false }
labels = { type = "array", items = { type = "string" } }
priority = { enum = ["High", "Low"] }
points = { type = "number" }
sub = { ref = "Issue" }
"""
)
GOOD = {"fields": {"summary": "s", "project": {"key": "K"}}}


def build(operation: str, body: Any = None, files: Any = (), **rest: Any) -> Request:
    return Builder(DEFINITIONS, FakeSite(), "suite").build_request(operation, rest.pop("args", {}), body, files, **rest)


def problem(operation: str, body: Any = None, files: Any = (), **rest: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        build(operation, body, files, **rest)
    return caught.value


def test_a_value_or_its_text() -> None:
    assert build("json", GOOD).body == Json(GOOD)
    assert build("json", b'{"fields": {"summary": "s", "project": {"key": "K"}}}').body == Json(GOOD)
    assert build("patch", b"[]").body == Json([], "application/json-patch+json")
    assert build("patch").body is None


def test_broken_json_says_where() -> None:
    assert (
        problem("json", b'{"fields": ').message == "json takes a JSON body: line 1 column 12: the text ends too early"
    )


def test_a_body_that_is_missing_or_not_taken() -> None:
    missing = problem("json")
    assert missing.message == "json requires a body (application/json: -d TEXT, -d @file or -d @-)"
    assert missing.hint == "suite op describe json"
    assert problem("image").message == "image requires a body (--file PATH)"
    assert problem("none", {"a": 1}).message == "none takes no body"
    assert build("none", {"a": 1}, strict=False).body == Json({"a": 1})
    assert build("json", strict=False).body is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, 'body: "fields" is missing'),
        ([], "body: expected an object, not []"),
        ({**GOOD, "feilds": 1}, "body: \"feilds\" is not documented, did you mean 'fields'?"),
        ({"fields": {"summary": 7, "project": {}}}, "body.fields.summary: expected a text, not 7"),
        (
            {"fields": {"summary": "s", "project": {"id": 1}}},
            'body.fields.project: "id" is not documented; known are key',
        ),
        (
            {"fields": {"summary": "s", "project": {}, "labels": ["a", 2]}},
            "body.fields.labels[1]: expected a text, not 2",
        ),
        (
            {"fields": {"summary": "s", "project": {}, "priority": "high"}},
            "body.fields.priority: \"high\" is not an allowed value, did you mean 'High'?",
        ),
        (
            {"fields": {"summary": "s", "project": {}, "priority": 3}},
            'body.fields.priority: 3 is not an allowed value: "High", "Low"',
        ),
        ({"fields": {"summary": "s", "project": {}, "sub": {}}}, 'body.fields.sub: "fields" is missing'),
        ({**GOOD, "update": 3}, "body.update: expected an object or null, not 3"),
        (
            {**GOOD, "due": "x"},
            "body.due: fits none of the 2 documented forms; nearest: 'x' does not match '^[0-9-]+$'",
        ),
        (
            {**GOOD, "due": {"day": "x"}},
            'body.due: fits none of the 2 documented forms; nearest: day: expected a whole number, not "x"',
        ),
    ],
)
def test_a_body_that_violates_its_schema(body: Any, words: str) -> None:
    error = problem("json", body)
    assert error.message == f"json: {words}"
    assert error.hint == "suite op skeleton json"


def test_every_fault_is_told() -> None:
    error = problem("json", {"fields": {"sumary": "s"}, "x": 1})
    assert error.message == "json: the body is not what it documents, in 4 places"
    assert set(error.details) == {
        'body.fields: "project" is missing',
        'body.fields: "summary" is missing',
        "body.fields: \"sumary\" is not documented, did you mean 'summary'?",
        'body: "x" is not documented; known are fields, update, ref, never, due',
    }


def test_many_faults_are_counted() -> None:
    error = problem("json", {"fields": {"summary": "s", "project": {}, "labels": list(range(30))}})
    assert len(error.details) == 11
    assert error.details[-1] == "and 20 more"


def test_schemas_are_read_only_as_they_are_reached_and_once() -> None:
    fresh = copy(DEFINITIONS)
    fresh.reached = []
    for _ in range(2):
        Builder(fresh, FakeSite(), "suite").build_request("json", {}, GOOD)
    assert fresh.reached.count(("schema", "Fields")) == 1
    assert ("schema", "Unreached") not in fresh.reached


def test_an_unvalidated_body_goes_as_it_is() -> None:
    assert build("json", {"x": 1}, strict=False).body == Json({"x": 1})


def test_placeholders_pass_the_schema() -> None:
    body = {
        "fields": {
            "summary": Placeholder("<s>"),
            "project": Placeholder("<p>"),
            "points": Placeholder("<n + 1>"),
            "priority": Placeholder("<x>"),
        }
    }
    assert build("json", body).body == Json(body)


def test_text_bodies() -> None:
    assert build("text", b"plain").body == Raw(b"plain", "text/plain")
    assert build("text", "plain").body == Raw(b"plain", "text/plain")


def test_form_bodies() -> None:
    assert build("form", {"name": "x", "tags": ["a", "b"]}).body == Form((("name", "x"), ("tags", "a"), ("tags", "b")))
    assert build("form", args={"name": "x"}).body == Form((("name", "x"),))
    assert problem("form", {"nam": "x"}).message == "form has no part \"nam\", did you mean 'name'?"
    assert problem("form", b"[]").message == "form takes its fields as a JSON object"


def test_multipart_bodies(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.touch()
    file = MultipartPart("file", file=File(str(path), "image/png"))
    assert build("upload", files=[str(path)]).body == Multipart((file,))
    assert build("upload", files=[f"file={path}"]).body == Multipart((file,))
    parts = (file, MultipartPart("minor", text="true"), MultipartPart("comment", text="c"))
    assert build("upload", {"minor": True}, [str(path)], args={"comment": "c"}).body == Multipart(parts)


def test_multipart_faults(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.touch()
    absent = tmp_path / "absent"
    assert problem("upload").message == "upload requires a body (--file PATH)"
    assert problem("upload", {"comment": "c"}).message == 'upload requires the part "file" (--file PATH)'
    assert problem("upload", files=[str(path)] * 2).message == 'upload takes one file as "file", 2 were given'
    assert problem("upload", files=[str(absent)]).message == f"{absent}: no such file or directory"
    assert "is a directory" in problem("upload", files=[str(tmp_path)]).message
    assert problem("two", files=[str(path)]).message.startswith("two has several file parts: --file NAME=")
    assert len(build("two", files=[f"front={path}", f"back={path}", f"back={path}"]).body.parts) == 3  # type: ignore[union-attr]
    assert problem("json", GOOD, [str(path)]).message == f"json takes application/json, not files: use -d @{path}"


def test_members_of_a_part_that_is_json_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.touch()
    made = build("described", {"about": {"summary": "s"}, "each": [{"summary": "a"}, {"summary": "b"}]}, [str(path)])
    assert [(part.name, part.text, part.media) for part in made.body.parts[1:]] == [  # type: ignore[union-attr]
        ("about", '{"summary": "s"}', "application/json"),
        ("each", '{"summary": "a"}', "application/json"),
        ("each", '{"summary": "b"}', "application/json"),
    ]
    wrong = problem("described", {"about": {"summary": 5}}, [str(path)])
    assert wrong.message == "described: body.about.summary: expected a text, not 5"
    wrong = problem("described", {"each": [{"summary": "a"}, {"summary": 5}]}, [str(path)])
    assert wrong.message == "described: body.each[1].summary: expected a text, not 5"
    assert build("described", {"about": '{"summary": 5}'}, [str(path)]).body  # a text goes as it was given
    body = DEFINITIONS.operations.get("described")["body"]
    typed = members_of_words(
        ["about.size=3", "about.on.summary=4"], body, DEFINITIONS, "--set", is_foreign=lambda word: False
    )
    assert typed == {"about": {"size": 3, "on": {"summary": "4"}}}


def test_raw_bodies(tmp_path: Path) -> None:
    picture, text, odd = tmp_path / "a.png", tmp_path / "a.txt", tmp_path / "a.zzz"
    for path in (picture, text, odd):
        path.touch()
    assert build("image", files=[str(picture)]).body == File(str(picture), "image/png")
    assert (
        problem("image", files=[str(text)]).message
        == f"{text}: expected a file of type image/*, its name says text/plain"
    )
    assert build("any", files=[str(odd)]).body == File(str(odd), "application/octet-stream")
    assert build("any", b'{"a": 1}').body == Json({"a": 1})
    assert build("any", b"\x00").body == Raw(b"\x00", "application/octet-stream")
    assert problem("image", files=[str(picture)] * 2).message == "image takes one body of type image/*: one --file"


def test_bodies_are_checked_without_a_package_of_grammars(tmp_path: Path) -> None:
    """jsonschema imports it wherever it is installed, which takes longer than most commands."""
    (tmp_path / "rfc3987_syntax.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    code = """
import sys
from callsheet.catalog.records import Records
from callsheet.client.request.json_body import check_json
from callsheet.errors import UsageError

class Catalog(Records):
    def record(self, kind, id):
        return {"type": "object"}

catalog = Catalog()
check_json({}, "any", catalog, "op", "suite")
try:
    check_json([], "any", catalog, "op", "suite")
except UsageError as error:
    print(error.message, "rfc3987_syntax" in sys.modules)
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout == "op: body: expected an object, not [] False\n"
