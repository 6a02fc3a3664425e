import os
import sys

# `python -m` looks for every module in the current directory first, where anything may lie.
if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from .cli.entry import main

main()
