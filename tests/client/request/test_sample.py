"""Samples fit what they are samples of."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.client.request.json_body import check_json
from callsheet.client.request.operation_call import pairs_of
from callsheet.client.request.sample_values import body_sample, parameter_sample
from support.cases import nobody
from support.fakes import Definitions

SCHEMAS = """
[schema.node]
type = "object"
required = ["title", "kind"]
properties.note = { type = "string", minLength = 8 }
properties.title = { type = "string", maxLength = 3 }
properties.kind = { enum = ["b", "a"] }
properties.parent = { ref = "node" }
properties.children = { type = "array", items = { ref = "node" } }
properties.seen = { type = "string", readOnly = true }
properties.pair = { prefixItems = [{ const = 1 }, { type = ["null", "boolean"] }], type = "array", minItems = 3 }
properties.share = { type = "number", exclusiveMinimum = 0, maximum = 0.5 }
properties.step = { type = "integer", multipleOf = 5, minimum = 7 }
properties.code = { type = "string", pattern = "^[A-Z]+-\\\\d+$" }
properties.more = { type = "object", minProperties = 1, additionalProperties = { type = "integer" } }

[schema.choice]
required = ["type"]
oneOf = [
  { ref = "left", properties = { type = { const = "left" } } },
  { ref = "right", properties = { type = { const = "right" } } },
]

[schema.left]
type = "object"
required = ["size"]
properties = { type = { type = "string" }, size = { type = "integer" } }

[schema.right]
type = "object"
properties = { type = { type = "string" } }

[schema.endless]
type = "object"
required = ["again"]
properties = { again = { ref = "endless" } }

[schema.both]
allOf = [{ ref = "left" }, { required = ["extra"], properties = { extra = { format = "date" , type = "string"} } }]
"""


def sample(schema: str, **options: Any) -> Any:
    return body_sample(Definitions(SCHEMAS), schema, **options)


def test_only_what_is_required() -> None:
    assert sample("node", required_only=True) == {"title": "str", "kind": "b"}


def test_required_properties_come_first_and_recursion_ends() -> None:
    value = sample("node")
    assert list(value)[:3] == ["title", "kind", "note"]
    assert not {"parent", "children", "seen"} & set(value)
    assert value["note"] == "stringxx"
    assert value["share"] == 0.5
    assert value["step"] == 10
    assert value["code"] == "DEMO-1"
    assert value["more"] == {"key": 1}


def test_alternatives_and_combinations() -> None:
    assert sample("choice") == {"type": "left", "size": 1}
    assert sample("both", required_only=True) == {"size": 1, "extra": "2026-01-31"}


def test_what_requires_itself_ends_too() -> None:
    value = sample("endless")
    assert value == {"again": {"again": {}}}


@pytest.mark.parametrize("schema", ["node", "choice", "both"])
@pytest.mark.parametrize("only", [True, False])
def test_samples_pass_the_check_of_bodies(schema: str, only: bool) -> None:
    check_json(sample(schema, required_only=only), schema, Definitions(SCHEMAS), "op", "suite")


@pytest.mark.parametrize(
    ("param", "text"),
    [
        ({"name": "issueId"}, "10000"),
        ({"name": "colour"}, "COLOUR"),
        ({"name": "key", "example": "DEMO-1"}, "DEMO-1"),
        ({"name": "x", "type": "integer", "example": "no number"}, "1"),
        ({"name": "x", "enum": ["a"], "example": "b"}, "a"),
        ({"name": "x", "pattern": "^[0-9]+$", "example": "att1"}, "1"),
        ({"name": "x", "type": "array", "example": "b"}, "b"),
        ({"name": "x", "type": "integer"}, "1"),
        ({"name": "x", "type": "integer", "minimum": 5}, "5"),
        ({"name": "x", "type": "boolean"}, "true"),
        ({"name": "x", "enum": ["b", "a"]}, "b"),
        ({"name": "x", "type": "boolean", "enum": [False]}, "false"),
        ({"name": "x", "type": "array", "items": "integer"}, "1"),
        ({"name": "x", "type": "object"}, '{"key": "value"}'),
        ({"name": "x", "format": "date"}, "2026-01-31"),
        ({"name": "x", "pattern": "^[0-9]+$"}, "1"),
    ],
)
def test_parameters(param: dict[str, Any], text: str) -> None:
    assert parameter_sample(param) == text
    assert pairs_of([text] if param.get("type") == "array" else text, param)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    opened = open_catalog("suite", nobody(tmp_path_factory))
    yield opened
    opened.close()


@pytest.mark.parametrize("only", [True, False], ids=["required", "all"])
def test_the_skeleton_of_every_json_body_in_the_catalog_fits(catalog: Any, only: bool) -> None:
    checked = 0
    for id, operation in catalog.operations.all().items():
        schema = operation.get("body", {}).get("schema")
        if schema:
            check_json(body_sample(catalog, schema, required_only=only), schema, catalog, id, "suite")
            checked += 1
    assert checked >= 360
