"""Where both programs start: imports next to nothing itself, so that Ctrl-C while the rest is loaded ends quietly too."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from .main import main as start

        start()
    except KeyboardInterrupt:
        sys.exit(130)
