"""A call that lacks a parameter, in the words of the person who gave the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...client.request.arguments import MissingArguments
from ...errors import CallsheetError, UsageError
from ...language.scopes import names_in


def explained(
    error: MissingArguments, arguments: Mapping[str, Any], scope: Mapping[str, Any], what: str
) -> CallsheetError:
    """What was not given, where an argument's template names it; else what an answer did not tell.

    `what` is done with it. An error that no template explains stays as it is.
    """
    templates = [arguments[name] for name in error.names if name in arguments]
    names = list(dict.fromkeys(name for template in templates for name in names_in(template)))
    given = scope.get("given", {})
    lacking = [f"--{name.replace('_', '-')}" for name in names if name in given and scope.get(name) is None]
    if lacking:
        return UsageError(f"{what} needs {' and '.join(lacking)}")
    if any(name in scope for name in names):
        told = ", ".join(str(template).strip("{}") for template in templates)
        return CallsheetError(f"an answer of the site is not as expected: it does not tell {told}, which {what} needs")
    return error
