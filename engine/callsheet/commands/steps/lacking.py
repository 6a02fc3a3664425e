"""A call that lacks a parameter, in the words of the person who gave the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...client.request.build import MissingArguments
from ...client.request.schema import UnfitBody, unfit
from ...errors import CallsheetError, UsageError
from ...language.scopes import names_in


def explained_body(error: UnfitBody, template: Any, scope: Mapping[str, Any]) -> UnfitBody:
    """The same by the options that fill its members, as far as a person could have given them."""
    texts, known = [], False
    for fault in error.faults:
        option = _option_at(template, (*fault.path, *([fault.missing] if fault.missing else [])), scope)
        known = known or option is not None
        texts.append(
            fault.worded() if option is None else f"{option} is missing" if fault.missing else fault.worded(option)
        )
    return unfit("this command", error.faults, texts, error.hint) if known else error


def _option_at(template: Any, path: tuple[str | int, ...], scope: Mapping[str, Any]) -> str | None:
    """The option whose value stands at a place of a body."""
    for step in path:
        if not isinstance(template, Mapping) or step not in template:
            break
        template = template[step]
    if not isinstance(template, str):
        return None
    given = [name for name in names_in(template) if name in scope.get("given", {})]
    return f"--{given[0].replace('_', '-')}" if len(set(given)) == 1 else None


def explain_missing_arguments(
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
