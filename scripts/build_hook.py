"""Puts manual pages and completion into the wheel, where `scripts/share.py` has made them.

They are made of the definitions by the programs themselves, which whoever builds the wheel need not be able to run.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MADE = "build/share"


class SharedFiles(BuildHookInterface):  # type: ignore[type-arg]  # of any configuration
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable" and os.path.isdir(os.path.join(self.root, MADE)):
            build_data["shared_data"][MADE] = "share"
