"""Operations as methods: their parameters and bodies, and what they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...language.safety import CHANGES, class_of_operation
from ..arguments import python_name
from .annotations import ANY, FLAG, NUMBER, PATH, TABLE, TEXT, WHOLE, is_name, literal_annotation, several_annotation

if TYPE_CHECKING:
    from ...language.shape.rest import CompiledOperation, OperationParam
    from .bodies import BodyTypes

_PLAIN = {"integer": WHOLE, "number": NUMBER, "boolean": FLAG, "object": TABLE}


def operation_stub(id: str, operation: CompiledOperation, bodies: BodyTypes) -> str:
    """The method of an operation, inside the class of all of them."""
    lines = [_given(param) for param in operation.get("params", ()) if is_name(python_name(param["name"]))]
    taken = {python_name(param["name"]) for param in operation.get("params", ())}
    beside = {"params": TABLE, **_beside(operation, bodies)}
    needs_body = "body" in operation and "schema" in operation["body"] and not operation["body"].get("optional")
    for name, type in beside.items():
        if name not in taken:
            lines.append(f"{name}: {type}" if name == "body" and needs_body else f"{name}: {type} = ...")
    lines.sort(key=lambda line: line.endswith("..."))
    decorator = "_paged" if "paginate" in operation else "_called"
    parameters = ", ".join(["self", "*", *lines])
    return f"    @{decorator}\n    def {id}({parameters}) -> {_result(operation)}: ...\n"


def _given(param: OperationParam) -> str:
    name, type = python_name(param["name"]), _type(param)
    return f"{name}: {type}" if param.get("required") and "default" not in param else f"{name}: {type} | None = ..."


def _type(param: Mapping[str, Any]) -> str:
    words = literal_annotation(param["enum"]) if "enum" in param else ""
    if param.get("type") == "array":
        item = param.get("items", {})
        return several_annotation(words or (_type(item) if isinstance(item, Mapping) else TEXT))
    return words or _PLAIN.get(str(param.get("type")), TEXT)


def _beside(operation: CompiledOperation, bodies: BodyTypes) -> dict[str, str]:
    found = {}
    body = operation.get("body")
    if body is not None:
        media = str(body.get("media", "application/json"))
        if "schema" in body:
            found["body"] = bodies.type_of(body["schema"])
        elif media.endswith("json"):
            found["body"] = ANY
        else:
            found["files"] = several_annotation(PATH)
    if operation.get("reply") == "binary":
        found["out"] = f"{PATH} | None"
    found["strict"] = FLAG
    if class_of_operation(operation) in CHANGES:
        found["yes"] = FLAG
    return found


def _result(operation: CompiledOperation) -> str:
    if "paginate" in operation:
        return "_Rows"
    return {"none": "None", "binary": "bytes", "location": "str"}.get(str(operation.get("reply")), ANY)
