"""Both programs at work, on this machine alone: `python3 scripts/demo.py`."""

# Any Python 3 has to understand this file, so that an old one can say what is wrong, or hand over to a newer one.
import os
import shutil
import subprocess
import sys

NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")
HANDED_OVER = "CALLSHEET_DEMO_PYTHON"


def start(version: tuple) -> int:  # type: ignore[type-arg]  # an old Python has no tuple[int, ...]
    """The exit code."""
    if version >= (3, 11):
        from demonstration import main

        return main(sys.argv[1:])
    if HANDED_OVER not in os.environ:
        for path in filter(None, map(shutil.which, NEWER)):
            # Launchers of version managers are there for versions that are not.
            if subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL) == 0:
                os.environ[HANDED_OVER] = path
                return subprocess.call([path, *sys.argv])
    sys.stderr.write("error: Python 3.11 or later is needed, this is " + sys.version.split()[0] + "\n")
    return 1


if __name__ == "__main__":
    try:
        code = start(tuple(sys.version_info[:2]))
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
