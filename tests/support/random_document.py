"""Random documents that are valid by the vendor's schema, made from the schema itself."""

from __future__ import annotations

import random

from .document_schema import NAMES, document, problems

WORDS = [
    "plain",
    "two words",
    "a*b*c",
    "my_var_name",
    "2 * 3 * 4",
    "[x](y)",
    "1. one",
    "# no heading",
    "- dash",
    "`tick`",
    "a|b",
    "<b>no tag</b>",
    "&amp; entity",
    "日本語",
    "naïve",
    "~~x~~",
    "https://example.org/a?b=1",
    ":smile:",
    "---",
    "\\",
    "> q",
    " edge ",
    "tail*",
    "_lead",
    "!",
    "[ ] box",
    "{status:red|X}",
    "*",
    "a\\b",
    "=",
    "+ plus",
    "3) three",
    "@someone",
    "e.g. this",
]
MODES = ("a\nb", "\u00a0", "x" * 40)


class Maker:
    def __init__(self, seed: int, name: str = "adf-schema-52.2.2.json", deep: int = 7) -> None:
        self.random = random.Random(seed)
        self.definitions = document(name)["definitions"]
        self.deep = deep

    def document(self):
        made = self.make({"$ref": "#/definitions/doc_node"}, 0)
        return made if made["content"] else self.document()

    def make(self, schema, depth, key=""):
        schema = self.flat(schema, depth)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            return self.array(schema, depth, key)
        if kind == "string":
            return self.string(schema, key)
        if kind == "number":
            return self.random.randint(int(schema.get("minimum", 1)), int(schema.get("maximum", 6)))
        return self.random.random() < 0.5 if kind == "boolean" else {"k": "v"}

    def flat(self, schema, depth):
        while True:
            if "$ref" in schema:
                schema = self.definitions[schema["$ref"].rsplit("/", 1)[1]]
            elif "anyOf" in schema:
                schema = self.choice(schema["anyOf"], depth)
            elif "allOf" in schema:
                schema = self.merged([self.flat(part, depth) for part in schema["allOf"]])
            else:
                return schema

    def choice(self, options, depth):
        if depth > self.deep:
            leaves = [
                one
                for one in options
                if any(word in one.get("$ref", "") for word in ("paragraph_with_no", "text", "taskItem"))
            ]
            return self.random.choice(leaves or options)
        return self.random.choice(options)

    def merged(self, parts):
        properties = {}
        for part in parts:
            for name, said in part.get("properties", {}).items():
                properties[name] = {**properties.get(name, {}), **said}
        required = {name for part in parts for name in part.get("required", ())}
        return {"type": "object", "properties": properties, "required": sorted(required)}

    def object(self, schema, depth):
        result = {}
        for name, said in schema.get("properties", {}).items():
            if (
                name in schema.get("required", ())
                or self.random.random() < (0.15 if name == "localId" else 0.5)
                or (name == "content" and self.random.random() < 0.9)
            ):
                result[name] = self.make(said, depth + (name == "content"), name)
        if not result.get("marks", True) and self.random.random() < 0.7:
            del result["marks"]
        if result.get("attrs") == {} and "attrs" not in schema.get("required", ()) and self.random.random() < 0.7:
            del result["attrs"]
        return result

    def array(self, schema, depth, key):
        items = schema.get("items", {})
        if isinstance(items, list):
            return [
                self.make(part, depth)
                for part in items[: max(schema.get("minItems", 0), self.random.randint(1, len(items)))]
            ]
        least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
        made = [self.make(items, depth) for _ in range(self.random.randint(least, max(least, most)))] if items else []
        if key == "marks":
            return list({mark["type"]: mark for mark in made}.values())
        return made

    def string(self, schema, key):
        if "pattern" in schema:
            return "#a1b2c3" if "neutral" not in schema["pattern"] else "green"
        if key in ("href", "url"):
            return self.random.choice(
                ["https://example.org/x", "https://example.org/a_b?c=1&d=2", "mailto:a@example.org"]
            )
        if key == "timestamp":
            return self.random.choice(["1769817600000", "1700000000123"])
        if key == "text" and schema.get("minLength"):
            return self.random.choice(WORDS)
        return self.random.choice(["id-1", "Some words", "x"])


def documents(count: int, name: str = NAMES[1]):
    """The first `count` that the schema takes: a few of them combine what it forbids."""
    made, seed = [], 0
    while len(made) < count:
        one = Maker(seed, name).document()
        made += [] if problems(one, (name,)) else [one]
        seed += 1
    assert seed < count * 1.2
    return made
