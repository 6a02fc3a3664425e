"""Alternatives that a document calls exclusive: taken by the letter only where it keeps them apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.openapi import import_document

TEXT, DAY, WHOLE = {"type": "string"}, {"type": "string", "format": "date"}, {"type": "integer"}


def form(needed: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": needed, "properties": properties}


def closed(needed: list[str], **properties: Any) -> dict[str, Any]:
    return {**form(needed, **properties), "additionalProperties": False}


def imported(forms: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of a body that has one of these forms."""
    schemas = {f"Form{place}": each for place, each in enumerate(forms)}
    references = [{"$ref": f"#/components/schemas/{name}"} for name in schemas]
    content = {"application/json": {"schema": {"properties": {"what": {"oneOf": references}}}}}
    operation = {"operationId": "make", "requestBody": {"content": content}, "responses": {}}
    head = {"openapi": "3.0.1", "info": {"title": "t", "version": "1"}, "components": {"schemas": schemas}}
    result = import_document(json.dumps({**head, "paths": {"/a": {"post": operation}}}), "shop", name="d")
    what: dict[str, Any] = result.schemas["shop.make"]["properties"]["what"]
    return what


@pytest.mark.parametrize(
    "forms",
    [
        [closed(["name"], name=TEXT, token=TEXT), closed(["name"], name=TEXT, price=WHOLE)],
        [closed(["name"], name=TEXT), form(["name"], name={**TEXT, "default": "d"}, kind=TEXT)],
        [{"type": "object", "properties": {"a": TEXT}}, {"type": "object", "properties": {"b": TEXT}}],
        [TEXT, DAY],
        [{"type": "number"}, WHOLE],
        [{"type": ["string", "null"]}, TEXT],
        [form(["a"], a=WHOLE), form(["a"], a={})],
    ],
)
def test_a_form_whose_least_fits_another_one_too_can_be_sent(forms: list[dict[str, Any]]) -> None:
    assert set(imported(forms)) == {"anyOf"}


@pytest.mark.parametrize(
    "forms",
    [
        [form(["a"], a=TEXT), form(["b"], b=TEXT)],
        [closed(["a"], a=TEXT), closed(["a", "b"], a=WHOLE, b=TEXT)],
        [closed(["a", "b"], a=TEXT, b=TEXT), closed(["a"], a=TEXT)],
        [form(["kind"], kind={"enum": ["x"]}), form(["kind"], kind={"enum": ["y"]})],
        [TEXT, WHOLE],
        [TEXT, {"type": "array", "items": TEXT}],
        [DAY, {"type": "string", "format": "email"}],
    ],
)
def test_forms_that_are_kept_apart_stay_exclusive(forms: list[dict[str, Any]]) -> None:
    assert set(imported(forms)) == {"oneOf"}


def test_only_a_name_in_the_document_is_a_word_that_decides() -> None:
    """Documents made out of several files refer to whatever place a schema came to stand at."""
    forms = {"Cat": form(["kind"], kind=TEXT), "Farm": {"properties": {"dog": form(["kind"], kind=TEXT)}}}
    references = [{"$ref": f"#/components/schemas/{where}"} for where in ("Cat", "Farm/properties/dog")]
    schema = {"anyOf": references, "discriminator": {"propertyName": "kind"}}
    content = {"application/json": {"schema": schema}}
    operation = {"operationId": "make", "requestBody": {"content": content}, "responses": {}}
    head = {"openapi": "3.0.1", "info": {"title": "t", "version": "1"}, "components": {"schemas": forms}}
    result = import_document(json.dumps({**head, "paths": {"/a": {"post": operation}}}), "shop", name="d")
    cat, dog = result.schemas["shop.make"]["anyOf"]
    assert cat == {"ref": "shop.Cat", "required": ["kind"], "properties": {"kind": {"const": "Cat"}}}
    assert set(dog) == {"ref"}
