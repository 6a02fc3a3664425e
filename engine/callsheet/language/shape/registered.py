"""Tables whose keys follow from the entry of a registry that they name: each entry brings the shape of its own."""

from __future__ import annotations

from typing import Any, Required, get_args, get_origin

from pydantic import ConfigDict, GetCoreSchemaHandler
from typing_extensions import TypedDict, get_type_hints

from ...registry import REGISTRIES, resolve_entry
from .base import STRICT

BY_ENTRY = "by_entry"  # in a JSON Schema: the registry, the key that names the entry, the keys of all entries


class KeysOf:
    """Metadata of a shape with the keys that all entries of a registry share; `key` names the entry."""

    def __init__(self, registry: str, key: str) -> None:
        self.registry = registry
        self.key = key

    def __get_pydantic_core_schema__(self, shared: Any, handler: GetCoreSchemaHandler) -> Any:
        """The shape of a table of any entry, known now: entries may have been added."""
        keys = of_all = get_type_hints(shared, include_extras=True)
        for name in REGISTRIES[self.registry]:
            own = {key: _optional(hint) for key, hint in _hints(self.registry, name).items() if key not in of_all}
            keys = keys | {key: hint | keys.get(key, hint) for key, hint in own.items()}
        make: Any = TypedDict
        whole = make(shared.__name__, keys, total=False)
        extra: Any = {BY_ENTRY: [self.registry, self.key, sorted(of_all)]}
        whole.__pydantic_config__ = ConfigDict(**STRICT, json_schema_extra=extra)
        whole.__doc__ = shared.__doc__
        return handler.generate_schema(whole)


def own_shape(registry: str, name: str) -> Any:
    """The shape of an entry's own table: its class, or where it is found."""
    shape: Any = getattr(resolve_entry(REGISTRIES[registry][name]), "shape")  # noqa: B009 -- what entries are is theirs
    return resolve_entry(shape) if isinstance(shape, str) else shape


def own_keys(registry: str, name: str) -> dict[str, bool]:
    """The keys of an entry's own table, and whether it cannot do without."""
    return {key: get_origin(hint) is Required for key, hint in _hints(registry, name).items()}


def _hints(registry: str, name: str) -> dict[str, Any]:
    return get_type_hints(own_shape(registry, name), include_extras=True)


def _optional(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Required else hint
