"""The definitions that come with the package, compiled once for all workers of a run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from callsheet.catalog.catalog import open_catalog
from callsheet.files import locked_file
from support.waiting import PATIENCE


def fill(cache: Path, common: Path) -> None:
    """Into a worker's own cache, out of a folder of the run that the first worker fills."""
    with locked_file(str(common), PATIENCE):
        if not common.exists():
            environ = {"CALLSHEET_HOME": f"{common}.home", "CALLSHEET_CACHE": f"{common}.new"}
            for program in ("suite", "lms"):
                open_catalog(program, environ).close()
            os.replace(f"{common}.new", common)
    shutil.copytree(common, cache)
