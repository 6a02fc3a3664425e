"""Webhooks and callbacks of a document as the events of a source, and methods that OpenAPI 3.2 has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.openapi import ImportResult, import_document

ANSWER = {"200": {"description": "ok"}}
EVENT = {"properties": {"event_id": {"type": "string"}, "at": {"type": "string", "format": "date-time"}}}


def hook(schema: Any, *parameters: Any) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": schema}}}
    return {"post": {"requestBody": body, "parameters": list(parameters), "responses": ANSWER}}


def with_type(value: Any) -> dict[str, Any]:
    return {"allOf": [{"$ref": "#/components/schemas/Event"}, {"properties": {"type": value}}]}


def imported(introduce: int | None = 1, callbacks: Any = None, **more: Any) -> ImportResult:
    operation = {"operationId": "good", "responses": ANSWER, **({"callbacks": callbacks} if callbacks else {})}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": {"/good": {"post": operation, **more.pop("good", {})}},
        "components": {"schemas": {"Event": EVENT}},
        **more,
    }
    return import_document(json.dumps(document), "pets", name="d", introduce=introduce)


def test_what_has_one_value_in_each_of_them_is_the_type() -> None:
    callbacks = {"ready": {"{$request.body#/url}": hook(with_type({"const": "pet.ready"}))}}
    found = imported(callbacks=callbacks, webhooks={"sold": hook(with_type({"enum": ["pet.sold"]}))})
    assert found.introduction["source"] == {
        "pets": {
            "title": "Pets",
            "path": "/pets",
            "type": "payload.type",
            "id": "payload.event_id",
            "time": "payload.at",
            "body": "payload",
            "sample": {"type": "{type}", "event_id": "{id}", "at": "{time}"},
        }
    }
    assert found.introduction["event"] == {
        "pets.pet.sold": {"source": "pets", "type": "pet.sold", "category": "Pets"},
        "pets.pet.ready": {"source": "pets", "type": "pet.ready", "category": "Pets"},
    }
    (note,) = found.notes
    assert "add hmac, public_key or token to [extend.source.pets]" in note


def test_a_header_may_say_it() -> None:
    header = {"name": "X-Event", "in": "header", "schema": {"enum": ["sold"]}}
    found = imported(webhooks={"sold": hook({"type": "object"}, header)}).introduction["source"]["pets"]
    assert found["type"] == 'headers."x-event"'
    assert found["sample_headers"] == {"x-event": "{type}"}


@pytest.mark.parametrize(
    "webhooks",
    [
        {"a": hook({}), "b": hook({})},
        {"a": hook(with_type({"const": "same"})), "b": hook(with_type({"const": "same"}))},
        {"a": hook(with_type({"enum": ["one", "two"]})), "b": hook(with_type({"enum": ["two", "one"]}))},
        {"a": hook(with_type({"const": "x y*"})), "b": hook(with_type({"type": "string"}))},
    ],
)
def test_what_cannot_be_told_apart_is_left_out(webhooks: Any) -> None:
    found = imported(webhooks=webhooks)
    assert not {"source", "event"} & found.introduction.keys()
    assert found.notes == ["webhooks and callbacks a, b are left out: nothing in all of them tells one from another"]


def test_those_that_a_place_tells_apart_are_taken_and_the_others_named() -> None:
    """An event may have several types, and a callback may say its own elsewhere."""
    webhooks = {
        "moved": hook(with_type({"enum": ["pet.sold", "pet.lent"]})),
        "born": hook(with_type({"const": "pet.born"})),
        "odd": hook(with_type({"const": "x y*"})),
        "paid": hook({"type": "object", "properties": {"event": {"const": "paid"}}}),
    }
    found = imported(webhooks=webhooks)
    assert found.introduction["source"]["pets"]["type"] == "payload.type"
    assert [each["type"] for each in found.introduction["event"].values()] == ["pet.sold", "pet.lent", "pet.born"]
    left_out = "webhooks and callbacks odd, paid are left out: payload.type does not tell them from others"
    assert found.notes[0] == left_out


def test_they_are_noted_where_the_product_is_there_already() -> None:
    assert imported(None, webhooks={"sold": hook({})}).notes == ["webhooks and callbacks sold are left out"]


def test_other_methods_are_operations_too_and_unknown_ones_are_noted() -> None:
    others = {"LINK": {"operationId": "tie", "responses": ANSWER}, "FROB": {}, "link": {}, "TRACE": {}}
    good = {"query": {"operationId": "find", "responses": ANSWER}, "additionalOperations": others}
    found = imported(openapi="3.2.0", good=good)
    assert {id: found.operations[id]["http"] for id in ("find", "tie")} == {
        "find": "QUERY /v1/good",
        "tie": "LINK /v1/good",
    }
    assert found.notes == [f"{method} /good is left out" for method in ("FROB", "link", "TRACE")]
