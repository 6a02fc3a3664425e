"""The policy of a machine: a file that only its administrator can write, so that nobody else loosens it."""

from __future__ import annotations

import os
import stat
import sys

from ..errors import NotAllowed
from ..files import open_regular

FILE = "policy.toml"
_DIRECTORY = "/etc/callsheet"
_COMMON_APPLICATION_DATA = 0x23  # CSIDL_COMMON_APPDATA; the variable that names it can be set by anybody
_ADMINISTRATORS = frozenset({"S-1-5-18", "S-1-5-32-544"})  # the system itself, and the group of administrators


def system_file() -> str:
    """Where the file lies on this platform. No variable of the environment has a say in it."""
    if sys.platform == "win32":
        import ctypes

        buffer = ctypes.create_unicode_buffer(260)
        ctypes.windll.shell32.SHGetFolderPathW(None, _COMMON_APPLICATION_DATA, None, 0, buffer)
        return os.path.join(buffer.value or "C:\\ProgramData", "callsheet", FILE)
    return f"{_DIRECTORY}/{FILE}"


def read_system_file(path: str) -> str:
    """Its text. Raises `NotAllowed` where it cannot be read: what it forbids is not known then."""
    try:
        with open_regular(path) as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotAllowed(f"the policy {path} is not UTF-8: byte {error.start}", hint="nothing was sent") from None
    except OSError as error:
        raise NotAllowed(f"the policy {path} cannot be read: {error.strerror}", hint="nothing was sent") from None


def why_not_administrators(path: str) -> str | None:
    """Why the file may be the work of somebody else than the administrator; None where it cannot."""
    if sys.platform == "win32":
        return None if _owner(path) in _ADMINISTRATORS else f"{path} does not belong to an administrator"
    for start in dict.fromkeys((path, os.path.realpath(path))):
        each = start
        while True:
            status = os.lstat(each)
            if status.st_uid != 0:
                return f"{each} does not belong to root"
            others = stat.S_IWOTH if status.st_gid == 0 else stat.S_IWGRP | stat.S_IWOTH
            if not stat.S_ISLNK(status.st_mode) and status.st_mode & others:
                return f"{each} can be changed by others than root"
            above = os.path.dirname(each)
            if above == each:
                break
            each = above
    return None


def _owner(path: str) -> str:
    """The owner's identifier on Windows, or nothing where it cannot be found out."""
    found = ""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        advapi, kernel = ctypes.windll.advapi32, ctypes.windll.kernel32
        owner, descriptor, text = ctypes.c_void_p(), ctypes.c_void_p(), wintypes.LPWSTR()
        where = ctypes.byref(owner), None, None, None, ctypes.byref(descriptor)
        if advapi.GetNamedSecurityInfoW(path, 1, 1, *where) == 0:  # SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION
            if advapi.ConvertSidToStringSidW(owner, ctypes.byref(text)):
                found = text.value or ""
                kernel.LocalFree(ctypes.cast(text, ctypes.c_void_p))
            kernel.LocalFree(descriptor)
    return found
