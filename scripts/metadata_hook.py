"""The project's addresses in the package's metadata, where whoever builds it says which repository it is.

A release is built where GITHUB_REPOSITORY names it ("owner/name"), as its formula is. A fork names itself so, and a
build of a checkout names none, since an address that leads elsewhere is worse than none.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ProjectUrls(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get("GITHUB_REPOSITORY")
        metadata["urls"] = urls(f"https://github.com/{repository}") if repository else {}


def urls(home: str) -> dict[str, str]:
    return {
        "Homepage": home,
        "Documentation": f"{home}/blob/main/docs/index.md",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
        "Security": f"{home}/security/policy",
    }
