"""What each kind of definition may contain. A new kind is a line in `KINDS`."""

from __future__ import annotations

from typing import Any

from . import access, listener, richtext, steps
from .commands import Address, Command, Group, Program, View
from .rest import Operation, Paginator, Parameter, Product, Schema, Service

KINDS: dict[str, Any] = {
    "program": Program,
    "service": Service,
    "product": Product,
    "paginator": Paginator,
    "parameter": Parameter,
    "schema": Schema,
    "operation": Operation,
    "view": View,
    "group": Group,
    "command": Command,
    "address": Address,
    **access.KINDS,
    **listener.KINDS,
    **richtext.KINDS,
    **steps.KINDS,
}
