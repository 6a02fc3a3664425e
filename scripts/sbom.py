"""The bill of materials (CycloneDX, JSON) of what the programs need: `python3 scripts/sbom.py [FILE]`."""

from __future__ import annotations

import sys
from pathlib import Path

from environment import ROOT, ready, run

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / "sbom.cdx.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    words = ["requirements", "requirements.lock", "--pyproject", "pyproject.toml", "--output-reproducible"]
    if run(ready("dev"), "-m", "cyclonedx_py", *words, "--of", "JSON", "-o", str(target.absolute())) != 0:
        raise SystemExit("no bill of materials was made")
    print(target)
