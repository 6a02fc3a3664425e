"""Rich text of strangers read for editing, one word edited, given back: what changed beside the word.

    python benchmarks/richtext_corpus.py [--show]

With `--show` every body that is not as it should be is printed.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from typing import Any

from corpus import NODES, Body, documents, storage

from callsheet.errors import CallsheetError
from callsheet.richtext.editing import Editing
from callsheet.richtext.storage.xml import Element, parse_fragment

WORD = re.compile(r"[^\W\d_]{4,}")
NEW = "Zzyzx"
OURS = re.compile(r'<!-- /?callsheet[^>]*-->|<span data-callsheet="[^"]*"></span>')
HIDDEN = ("ac:parameter", "ac:adf-attribute", "ac:adf-parameter", "ac:task-id", "ac:task-uuid", "ac:task-status")


def words_of(value: Any) -> list[str]:
    """The words that a reader of a body sees."""
    if isinstance(value, str):
        return WORD.findall(_visible(parse_fragment(value)))
    if isinstance(value, dict):
        own = WORD.findall(value["text"]) if value.get("type") == "text" else []
        return own + [word for child in value.get("content", ()) if isinstance(child, dict) for word in words_of(child)]
    return []


def _visible(element: Element) -> str:
    if element.name in HIDDEN:
        return " "
    return " ".join(str(child) if isinstance(child, str) else _visible(child) for child in element.children)


def differs(old: Any, new: Any, word: str) -> str:
    """What is not the same beside one word; empty when nothing is."""
    before = old if isinstance(old, str) else json.dumps(old, ensure_ascii=False, sort_keys=True)
    after = new if isinstance(new, str) else json.dumps(new, ensure_ascii=False, sort_keys=True)
    if after.count(NEW) != 1:
        return f"{NEW} stands {after.count(NEW)} times"
    start = after.index(NEW)
    head, tail = after[:start], after[start + len(NEW) :]
    if before.startswith(head) and before.endswith(tail):
        gone = before[len(head) : len(before) - len(tail)]
        return "" if gone == word else f"{gone!r} went for {word!r}"
    return f"...{head[-60:]}[{NEW}]{tail[:60]}..."


def measured(bodies: list[Body], format: str, *, show: bool) -> None:
    count: Counter[str] = Counter()
    for where, value in bodies:
        try:
            edit = Editing(value, format, NODES)
            text = edit.markdown()
        except CallsheetError as error:
            count["failed"] += 1
            print(f"{where}: {error!r}")
            continue
        count["bodies"] += 1
        plain = OURS.sub(" ", text)
        seen, shown = Counter(words_of(value)), Counter(WORD.findall(plain))
        count["words"] += seen.total()
        count["editable"] += (seen & shown).total()
        if show and (seen - shown):
            print(f"--- {where}: not in the text: {dict(seen - shown)}\n{value}\n>>>\n{text}")
        same = edit.edited(text) == value
        count["unchanged"] += same
        if show and not same:
            print(f"--- {where}: changed without an edit\n{value}\n>>>\n{text}\n>>>\n{edit.edited(text)}")
        places = [match for match in WORD.finditer(plain) if seen[match[0]] == 1 == text.count(match[0])]
        for match in [places[n] for n in sorted({0, len(places) // 2, len(places) - 1})] if places else []:
            count["edits"] += 1
            changed = Editing(value, format, NODES).edited(text.replace(match[0], NEW))
            wrong = differs(value, changed, match[0])
            count["exact"] += not wrong
            if show and wrong:
                print(f"--- {where}: {match[0]}: {wrong}\n{value}\n>>>\n{text}")
    print(
        f"{format}: {count['bodies']} bodies ({count['failed']} refused); {count['unchanged']} of them the same "
        f"when nothing is edited; {count['exact']} of {count['edits']} one-word edits change that word alone; "
        f"{count['editable']} of {count['words']} words ({100 * count['editable'] / max(1, count['words']):.2f} %) "
        "can be edited as text"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    show = "--show" in sys.argv
    measured(storage(), "storage", show=show)
    measured(documents(), "adf", show=show)


if __name__ == "__main__":
    main()
