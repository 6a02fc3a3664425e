"""An operation as it is on one deployment, and the values of its parameters as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ...language.merge import check_available, on_deployment
from ...language.parameter_text import InvalidValue, checked_text, value_as_text
from ...language.safety import Safety, class_here
from .http_request import Placeholder

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import OperationDefinition, OperationParam, ProductDefinition


# An operation as it is on one deployment.


_HOLE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Call:
    """`path` has the deployment's base in the place of the product's, and its placeholders still in braces."""

    id: str
    operation: OperationDefinition
    product_id: str
    product: ProductDefinition
    method: str
    path: str

    @property
    def service(self) -> str:
        return self.operation.get("service") or self.product.get("service", self.product_id)

    @property
    def safety(self) -> Safety:
        return class_here(self.operation)

    @property
    def params(self) -> list[OperationParam]:
        return self.operation.get("params", [])

    @cached_property
    def documented_params(self) -> list[OperationParam]:
        """The parameters, and those that the path names without describing them."""
        described = {param["name"] for param in self.params if param.get("in") == "path"}
        bare = [name for name in _HOLE.findall(self.path) if name not in described]
        return [
            *(cast("OperationParam", {"name": name, "in": "path", "required": True}) for name in bare),
            *self.params,
        ]

    @cached_property
    def known_names(self) -> frozenset[str]:
        """The names of what is documented."""
        return frozenset(param["name"] for param in self.documented_params)


def call_of(catalog: Catalog, operation_id: str, deployment: str) -> Call:
    """The operation as it is on this deployment; `UsageError` where it does not exist there."""
    plain_operation = catalog.operations.get(operation_id)
    product_id = plain_operation["product"]
    plain = catalog.products.get(product_id)
    operation = on_deployment(plain_operation, deployment)
    product = on_deployment(plain, deployment)
    for table in (product, operation):
        check_available(table, operation_id, deployment)
    method, _, path = operation["http"].partition(" ")
    if operation["http"] == plain_operation["http"]:
        path = replace_base(path, plain.get("base", ""), product.get("base", ""))
    return Call(operation_id, operation, product_id, product, method, path)


def replace_base(path: str, base: str, here: str) -> str:
    """`path` with the base `here` in the place of its base; unchanged when it does not start with it."""
    if base != here and (path == base or path.startswith(base.rstrip("/") + "/")):
        return here.rstrip("/") + path[len(base.rstrip("/")) :]
    return path


# One parameter value: is it what the operation documents, and which text is sent for it.


def check_value(value: Any, type_: str, param: OperationParam) -> str:
    """The text to send for one value (of a list: for one item), or `InvalidValue`."""
    return value if isinstance(value, Placeholder) else checked_text(value, type_, param)


def _list_items(value: Any, style: str) -> list[Any]:
    if isinstance(value, Placeholder):
        return [value]
    if isinstance(value, str) and style == "comma":
        return value.split(",")
    return list(value) if isinstance(value, list | tuple) else [value]


JOINTS = {"comma": ",", "space": " ", "pipe": "|"}


def _joined_by_style(texts: list[str], style: str) -> str:
    joined = JOINTS[style].join(texts)
    return Placeholder(joined) if any(isinstance(text, Placeholder) for text in texts) else joined


def _array_pairs(value: Any, style: str, param: OperationParam) -> list[tuple[str, str]]:
    texts = [check_value(item, param.get("items", "string"), param) for item in _list_items(value, style)]
    if style in JOINTS:
        return [(param["name"], _joined_by_style(texts, style))] if texts else []
    name = f"{param['name']}[]" if style == "deep" else param["name"]
    return [(name, text) for text in texts]


def _object_pairs(value: Any, style: str, param: OperationParam) -> list[tuple[str, str]]:
    name = param["name"]
    if isinstance(value, str) and not isinstance(value, Placeholder) and value.lstrip().startswith("{"):
        value = _parsed_json(value)
    if not isinstance(value, Mapping):
        return [(name, value_as_text(value))]
    pairs = [(str(key), value_as_text(item)) for key, item in value.items()]
    if style == "deep":
        return [(f"{name}[{key}]", text) for key, text in pairs]
    if style in JOINTS:
        return [(name, _joined_by_style([word for pair in pairs for word in pair], style))]
    return pairs


def _parsed_json(text: str) -> Any:
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
        return _array_pairs(value, style, param)
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise InvalidValue(f"takes one value, {len(value)} were given")
        value = value[0]
    if type_ == "object":
        return _object_pairs(value, style, param)
    return [(param["name"], check_value(value, type_, param))]


def without_checks(param: OperationParam) -> OperationParam:
    """Only what says how a value is sent: any value passes."""
    shape = param.get("type", "string")
    kept = {key: value for key, value in param.items() if key in {"name", "in", "style"}}
    return cast("OperationParam", {**kept, "type": shape if shape in {"array", "object"} else "string"})


def undocumented_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """The same without a definition: a list is repeated."""
    values = value if isinstance(value, list | tuple) else [value]
    return [(name, item if isinstance(item, Placeholder) else value_as_text(item)) for item in values]
