"""The library in a notebook: its cells are really run, and rows show as the table of their view."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.canary import TOKEN
from support.waiting import PATIENCE

CELLS = (
    "import callsheet\nsuite = callsheet.open('suite', base_url={url!r}, email='robin@example.org', token={token!r})",
    "suite.issues.list(project='DEMO', status='Done')",
    "suite.issues.get('DEMO-6')",
    "suite.issues.get('DEMO-999')",
    "suite.close()",
)
# In a process of its own: what the client of notebooks warns of is not ours.
RUN = """
import json, sys, nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(text) for text in json.load(sys.stdin)]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, timeout={patience}, allow_errors=True, kernel_name="python3").execute()
json.dump([cell.outputs for cell in notebook.cells], sys.stdout)
"""


@pytest.mark.slow
def test_cells_of_a_notebook_show_tables(sandbox: str, home: Path, tmp_path: Path) -> None:
    cells = [text.format(url=sandbox, token=TOKEN) for text in CELLS]
    here = {"JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(tmp_path / "ipython"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(patience=int(PATIENCE))],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        env={**os.environ, **here},
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    opened, rows, record, failed, closed = json.loads(done.stdout)
    assert opened == closed == []
    shown = rows[0]["data"]["text/html"]
    assert "<th>SUMMARY</th>" in shown
    assert "Prices show three decimals" in shown
    assert "DEMO-6" in record[0]["data"]["text/html"]
    assert failed[0]["ename"] == "NotFound"
    assert TOKEN not in done.stdout
