"""An operation as it is on one deployment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ...language.deployment import check_available, on_deployment
from ...language.safety import Safety, class_here

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import OperationDefinition, OperationParam, ProductDefinition


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
    def documented(self) -> list[OperationParam]:
        """The parameters, and those that the path names without describing them."""
        described = {param["name"] for param in self.params if param.get("in") == "path"}
        bare = [name for name in _HOLE.findall(self.path) if name not in described]
        return [
            *(cast("OperationParam", {"name": name, "in": "path", "required": True}) for name in bare),
            *self.params,
        ]

    @cached_property
    def known(self) -> frozenset[str]:
        """The names of what is documented."""
        return frozenset(param["name"] for param in self.documented)


def call_of(catalog: Catalog, operation_id: str, deployment: str) -> Call:
    """The operation as it is on this deployment; `UsageError` where it does not exist there."""
    plain_operation = catalog.get("operation", operation_id)
    product_id = plain_operation["product"]
    plain = catalog.get("product", product_id)
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
