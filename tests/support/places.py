"""Where things lie in a checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CASES = TESTS / "cases"
ROOT = TESTS.parent
DEFINITIONS = ROOT / "definitions"
# The published documents and schemas, which are no part of the project; tests that need them are skipped without.
SHARED = ROOT.parent / "shared"
