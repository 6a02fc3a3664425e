"""The vendor's JSON Schemas of the document format, where they are present, made fast enough for deep documents.

The plain validator tries every alternative of an `anyOf` to the bottom, which doubles the work with every level of
nesting. Here an alternative whose `type` cannot be the node's is left out first; nothing else differs.
"""

from __future__ import annotations

import json
import os
from functools import cache

import jsonschema

from support.places import SHARED

FOLDER = str(SHARED / "richtext")
NAMES = ("adf-schema.json", "adf-schema-52.2.2.json")


def present() -> bool:
    return os.path.exists(os.path.join(FOLDER, NAMES[0]))


@cache
def document(name: str):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


@cache
def validator(name: str):
    schema = document(name)
    types = {key: _types(definition, schema["definitions"]) for key, definition in schema["definitions"].items()}

    def any_of(checker, branches, instance, _schema):
        said = instance.get("type") if isinstance(instance, dict) else None
        left = [b for b in branches if said is None or _may_be(b, said, types)]
        found = []
        for index, branch in enumerate(left):
            errors = list(checker.descend(instance, branch, schema_path=index))
            if not errors:
                return
            found.extend(errors)
        message = f"{json.dumps(instance)[:300]}: no alternative fits ({'; '.join(e.message[:200] for e in found[:3])})"
        yield jsonschema.ValidationError(message, context=found)

    return jsonschema.validators.extend(jsonschema.Draft4Validator, {"anyOf": any_of})(schema)


def _types(definition, definitions):
    if "$ref" in definition:
        return _types(definitions[definition["$ref"].rsplit("/", 1)[1]], definitions)
    for part in definition.get("allOf", ()):
        if found := _types(part, definitions):
            return found
    if "anyOf" in definition:
        found = [_types(part, definitions) for part in definition["anyOf"]]
        return set().union(*found) if all(found) else None
    said = definition.get("properties", {}).get("type", {}).get("enum")
    return set(said) if said else None


def _may_be(branch, said, types):
    found = types.get(branch["$ref"].rsplit("/", 1)[1]) if "$ref" in branch else None
    return found is None or said in found


def problems(value, names=NAMES):
    """What the schemas find wrong with a document."""
    return [f"{name}: {error.message[:400]}" for name in names for error in validator(name).iter_errors(value)]
