"""Applying that is killed, and pages that two sides edit at random: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from commands.test_apply import Site
from support.draws import chance
from support.places import CASES
from support.simulated import serving

pytestmark = [pytest.mark.slow, pytest.mark.draws]

WRITES = re.compile(rb"> (POST|PUT|DELETE) ")
ROUNDS = 20
PARAGRAPHS = 12


def killed(site: Site, after: int) -> int | None:
    """Runs `apply` in a process of its own, and kills it when it begins a request that changes something.

    The exit code where it came to its end before.
    """
    line = [sys.executable, "-m", "callsheet", "suite", "apply", str(site.docs), "--space", "DOC", "-v"]
    environ = {**os.environ, **site.environ}
    with subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        seen = 0
        for words in process.stderr:
            seen += bool(WRITES.match(words))
            if seen == after:
                process.kill()
                process.wait()
                return None
        return process.wait()


def test_a_run_that_was_killed_is_gone_on_with_by_the_next(tmp_path: Path) -> None:
    draw = chance(26)
    with serving() as address:
        site = Site(tmp_path, address)
        for number in range(6):
            site.write(f"p{number}/index.md", f"---\nlabels: [l{number}]\n---\n# Page {number}\n\n![P](a.png)\n")
            site.write(f"p{number}/a.png", f"picture {number}")
            site.write(f"p{number}/below.md", f"# Below {number}\n\nSee [it](index.md).\n")
        kills = 0
        while (code := killed(site, draw.randint(2, 5))) is None:
            kills += 1
            assert kills < 60
        assert code == 0
        assert kills >= 5
        assert site.apply() == 0, site.err
        assert site.writes == []
        for number in range(6):
            id = site.page(f"Page {number}")["id"]
            assert site("page-attachments", "list", "--page", id, "-o", "json") == 0, site.err
            assert len(re.findall(r'"title": *"a.png"', site.out)) == 1
            assert '"number": 1,' in site.out  # attached once, not anew
            assert site("pages", "labels", "list", id, "-o", "id") == 0
            assert site.parent(f"Below {number}") == id


@pytest.mark.parametrize("seed", range(10))
def test_of_random_edits_by_two_sides_nothing_is_lost(tmp_path: Path, seed: int) -> None:
    draw = chance(27 + seed)
    with serving() as address:
        site = Site(tmp_path, address)
        mine = [f"Paragraph {number} of the page." for number in range(PARAGRAPHS)]
        site.write("a.md", "# Alpha\n\n" + "\n\n".join(mine) + "\n")
        assert site.apply() == 0, site.err
        conflicts = 0
        for number in range(ROUNDS):
            page = site.page("Alpha")
            source = page["body"]["storage"]["value"]
            theirs = re.findall(r"<p>(.*?)</p>", source)
            place = draw.randrange(len(theirs))
            words = f"their{number}x"
            action = draw.choice(["word", "insert", "macro"])
            if action == "word":
                changed = source.replace(f"<p>{theirs[place]}</p>", f"<p>{theirs[place]} {words}</p>", 1)
            elif action == "insert":
                changed = source.replace(f"<p>{theirs[place]}</p>", f"<p>{theirs[place]}</p><p>New {words}</p>", 1)
            else:
                macro = f'<ac:structured-macro ac:name="{words}" />'
                changed = source.replace(f"<p>{theirs[place]}</p>", f"<p>{theirs[place]}</p>{macro}", 1)
            assert changed != source
            edited = httpx.put(
                f"{address}/wiki/api/v2/pages/{page['id']}",
                json={
                    "id": page["id"],
                    "status": "current",
                    "title": "Alpha",
                    "version": {"number": page["version"]["number"] + 1},
                    "body": {"representation": "storage", "value": changed},
                },
                trust_env=False,
                headers={"Authorization": "Basic eDp4"},
            )
            assert edited.status_code == 200, edited.text
            own = f"mine{number}x"
            place = draw.randrange(len(mine))
            if draw.random() < 0.6:
                mine[place] = f"{own} {mine[place]}"
            else:
                mine.insert(place, f"Another {own}.")
            site.write("a.md", "# Alpha\n\n" + "\n\n".join(mine) + "\n")
            code = site.apply()
            body = site.body("Alpha")
            assert words in body, (number, action)
            if code == 0:
                assert own in body, (number, action)
                continue
            assert code == 5, site.err
            conflicts += 1
            assert body == changed
            assert "a.md" in site.err
            assert site.apply("--ours") == 0, site.err
            assert own in site.body("Alpha")
        assert conflicts < ROUNDS / 2
        assert site.apply() == 0
        assert site.writes == []


def bodies() -> list[str]:
    """Texts of pages that hold what Markdown cannot say: those of the cases of rich text."""
    converted = tomllib.loads((CASES / "convert" / "storage.toml").read_text(encoding="utf-8"))["case"]
    edited = tomllib.loads((CASES / "edit" / "storage.toml").read_text(encoding="utf-8"))["case"]
    texts = [case["input"] for case in converted if case["from"] == "storage" and "output" in case] + [
        case["source"] for case in edited
    ]
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))


@pytest.mark.parametrize("deployment", ["cloud", "datacenter"])
def test_what_was_pulled_is_applied_without_a_write(tmp_path: Path, deployment: str) -> None:
    with serving(deployment=deployment) as address:
        site = Site(tmp_path, address, deployment)
        texts = bodies()
        assert len(texts) > 60
        for number, text in enumerate(texts):
            words = "pages", "new", "--space", "DOC", "--title", f"Body {number}", "--body", text
            assert site(*words, "--body-format", "storage") == 0, site.err
        pulled = tmp_path / "pulled"
        assert site("pull", str(pulled), "--space", "DOC") == 0, site.err
        assert len([*pulled.rglob("*.md")]) > len(texts)
        assert site("apply", str(pulled), "--space", "DOC") == 0, site.err
        assert site.writes == []
        before = {row["title"]: row["version"]["number"] for row in site.rows("pages", "list", "--space", "DOC")}
        (file,) = [path for path in pulled.rglob("*.md") if "# Body 7\n" in path.read_text(encoding="utf-8")]
        file.write_text(file.read_text() + "\nOne more.\n", encoding="utf-8")
        assert site("apply", str(pulled), "--space", "DOC") == 0, site.err
        after = {row["title"]: row["version"]["number"] for row in site.rows("pages", "list", "--space", "DOC")}
        assert sum(after[title] != version for title, version in before.items()) == 1
