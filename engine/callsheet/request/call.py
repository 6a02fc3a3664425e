"""An operation as it is on one deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..errors import UsageError

if TYPE_CHECKING:
    from ..shape.rest import Operation, OperationParam, Product
    from .model import Safety

_SAFETY: dict[str, Safety] = {"GET": "read", "HEAD": "read", "OPTIONS": "read", "DELETE": "destroy"}


class Definitions(Protocol):
    def get(self, kind: str, id: str) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Call:
    """`path` has the deployment's base in the place of the product's, and its placeholders still in braces."""

    id: str
    operation: Operation
    product_id: str
    product: Product
    method: str
    path: str

    @property
    def service(self) -> str:
        return self.product.get("service", self.product_id)

    @property
    def safety(self) -> Safety:
        return self.operation.get("safety") or _SAFETY.get(self.method, "write")

    @property
    def params(self) -> list[OperationParam]:
        return self.operation.get("params", [])


def call_of(catalog: Definitions, operation_id: str, deployment: str) -> Call:
    """The operation with what differs on this deployment merged in; `UsageError` where it does not exist there."""
    operation = cast("Operation", catalog.get("operation", operation_id))
    product_id = operation["product"]
    plain = catalog.get("product", product_id)
    product = cast("Product", {**plain, **plain.get("on", {}).get(deployment, {})})
    here = cast("dict[str, Any]", operation.get("on", {}).get(deployment, {}))
    for reason in (product.get("unavailable"), here.get("unavailable")):
        if reason:
            raise UsageError(f"{operation_id} does not exist on {deployment}: {reason}")
    merged = _merge(operation, here)
    method, _, path = merged["http"].partition(" ")
    if "http" not in here:
        path = rebased(path, plain.get("base", ""), product.get("base", ""))
    return Call(operation_id, merged, product_id, product, method, path)


def _merge(operation: Operation, here: dict[str, Any]) -> Operation:
    """Parameters are merged by name, every other key replaces the operation's."""
    if not here:
        return operation
    merged: dict[str, Any] = {**operation, **here}
    if "params" in here:
        by_name: dict[str, Any] = {param["name"]: param for param in operation.get("params", [])}
        for param in here["params"]:
            by_name[param["name"]] = {**by_name.get(param["name"], {}), **param}
        merged["params"] = [param for param in by_name.values() if not param.get("remove")]
    return cast("Operation", merged)


def rebased(path: str, base: str, here: str) -> str:
    """`path` with the base `here` in the place of its base; unchanged when it does not start with it."""
    if base != here and (path == base or path.startswith(base.rstrip("/") + "/")):
        return here.rstrip("/") + path[len(base.rstrip("/")) :]
    return path
