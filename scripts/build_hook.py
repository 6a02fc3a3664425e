"""Puts manual pages, completion and the types of `suite` into the wheel, where `scripts/share.py` has made them.

They are made of the definitions by the programs themselves, which whoever builds the wheel need not be able to run.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MADE = "build/share"
STUBS = "build/stubs/callsheet_suite-stubs"


class SharedFiles(BuildHookInterface):  # type: ignore[type-arg]  # of any configuration
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if os.path.isdir(os.path.join(self.root, MADE)):
            build_data["shared_data"][MADE] = "share"
        if os.path.isdir(os.path.join(self.root, STUBS)):
            build_data["force_include"][STUBS] = os.path.basename(STUBS)
