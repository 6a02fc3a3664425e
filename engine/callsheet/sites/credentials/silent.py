"""Whether the key store of this machine can be read without a question to a person."""

from __future__ import annotations

from ...errors import NotAllowed

_WINDOWS, _MAC, _SECRET_SERVICE = (f"keyring.backends.{name}" for name in ("Windows", "macOS", "SecretService"))


def key_store_is_silent() -> None:
    """Raise `NotAllowed` where reading a credential could put a window in front of somebody who asked for nothing.

    On macOS windows are switched off for this process, so that a locked key store is an error.
    """
    import keyring

    store = keyring.get_keyring()
    kinds = {type(each).__module__ for each in getattr(store, "backends", [store])}
    silent = {_WINDOWS: lambda: True, _MAC: _without_windows, _SECRET_SERVICE: _is_open}
    if not kinds or not all(kind in silent and silent[kind]() for kind in kinds):
        raise NotAllowed("the key store may ask for a password")


def _without_windows() -> bool:
    import ctypes

    security = ctypes.CDLL("/System/Library/Frameworks/Security.framework/Security")
    return bool(security.SecKeychainSetUserInteractionAllowed(0) == 0)


def _is_open() -> bool:
    """The library unlocks a locked collection, which asks; so it is looked at before."""
    from contextlib import closing

    import secretstorage

    with closing(secretstorage.dbus_init()) as connection:
        return not secretstorage.get_default_collection(connection).is_locked()
