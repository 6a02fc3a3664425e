"""Where both programs start. Imports next to nothing, so that Ctrl-C while the rest is loaded ends quietly too."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from .main import main as start

        start()
    except KeyboardInterrupt:
        sys.exit(130)
