"""One parameter value: is it what the operation documents, and which text is sent for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ...language.parameter_text import InvalidValue, checked_text, text_of
from .model import Placeholder

if TYPE_CHECKING:
    from ...language.shape.rest import OperationParam


def check_value(value: Any, type_: str, param: OperationParam) -> str:
    """The text to send for one value (of a list: for one item), or `InvalidValue`."""
    return value if isinstance(value, Placeholder) else checked_text(value, type_, param)


def _items(value: Any, style: str) -> list[Any]:
    if isinstance(value, Placeholder):
        return [value]
    if isinstance(value, str) and style == "comma":
        return value.split(",")
    return list(value) if isinstance(value, list | tuple) else [value]


JOINTS = {"comma": ",", "space": " ", "pipe": "|"}


def _joined(texts: list[str], style: str) -> str:
    joined = JOINTS[style].join(texts)
    return Placeholder(joined) if any(isinstance(text, Placeholder) for text in texts) else joined


def _array(value: Any, style: str, param: OperationParam) -> list[tuple[str, str]]:
    texts = [check_value(item, param.get("items", "string"), param) for item in _items(value, style)]
    if style in JOINTS:
        return [(param["name"], _joined(texts, style))] if texts else []
    name = f"{param['name']}[]" if style == "deep" else param["name"]
    return [(name, text) for text in texts]


def _object(value: Any, style: str, param: OperationParam) -> list[tuple[str, str]]:
    name = param["name"]
    if isinstance(value, str) and not isinstance(value, Placeholder) and value.lstrip().startswith("{"):
        value = _parsed(value)
    if not isinstance(value, Mapping):
        return [(name, text_of(value))]
    pairs = [(str(key), text_of(item)) for key, item in value.items()]
    if style == "deep":
        return [(f"{name}[{key}]", text) for key, text in pairs]
    if style in JOINTS:
        return [(name, _joined([word for pair in pairs for word in pair], style))]
    return pairs


def _parsed(text: str) -> Any:
    from ...jsontext import JSONError, parse_json

    try:
        return parse_json(text)
    except JSONError as error:
        raise InvalidValue(f"expected a JSON object: {error}") from None


def pairs_of(value: Any, param: OperationParam) -> list[tuple[str, str]]:
    """What is sent for a parameter: name and text pairs, one for a plain value, several for a repeated one."""
    type_ = param.get("type", "string")
    style = param.get("style") or ("repeat" if param.get("in", "query") == "query" else "comma")
    if type_ == "array":
        return _array(value, style, param)
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise InvalidValue(f"takes one value, {len(value)} were given")
        value = value[0]
    if type_ == "object":
        return _object(value, style, param)
    return [(param["name"], check_value(value, type_, param))]


def without_checks(param: OperationParam) -> OperationParam:
    """Only what says how a value is sent: any value passes."""
    shape = param.get("type", "string")
    kept = {key: value for key, value in param.items() if key in {"name", "in", "style"}}
    return cast("OperationParam", {**kept, "type": shape if shape in {"array", "object"} else "string"})


def undocumented_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """The same without a definition: a list is repeated."""
    values = value if isinstance(value, list | tuple) else [value]
    return [(name, item if isinstance(item, Placeholder) else text_of(item)) for item in values]
