"""Why a simulated service does not do what it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..language.shape.sandbox import Refusal


class RefusedError(Exception):
    """An answer that is an error; its body is written as the product writes its errors."""

    def __init__(
        self,
        status: int,
        message: str | None = None,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message or str(status))
        self.status = status
        self.message = message
        self.fields = dict(fields or {})
        self.headers = dict(headers or {})


def refused(rule: Refusal, scope: Mapping[str, Any]) -> RefusedError:
    """The refusal that a definition describes."""
    from .rendering import compile_render

    message = compile_render(rule["message"])(scope) if "message" in rule else None
    return RefusedError(rule["status"], message, compile_render(rule.get("fields", {}))(scope))
