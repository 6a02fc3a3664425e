"""Words that read as one though a node says a part of them: taken apart where they were put together."""

from __future__ import annotations

from itertools import pairwise

from .align import equal_pairs
from .source_parts import WORD, EditToken, marked_alike


def taken_apart(old: list[EditToken], new: list[EditToken]) -> list[EditToken]:
    """The new tokens, with a word that was several in the old ones as these again, so that the node among them stays.

    Where the word was edited, what is left of its parts at its start and end is taken off.
    """
    runs = _runs(old)
    if all(len(run) == 1 for run in runs):
        return new
    keys = [run[0].key if len(run) == 1 else ("", "".join(token.text for token in run)) for run in runs]
    pairs = equal_pairs(keys, [token.key for token in new])
    found = {b: runs[a] for a, b in pairs}
    for (a, b), (c, d) in pairwise([(-1, -1), *pairs, (len(runs), len(new))]):
        free = [place for place in range(b + 1, d) if WORD.fullmatch(new[place].text)]
        for run in (run for run in runs[a + 1 : c] if len(run) > 1):
            best = max(free, key=lambda place: _length(run, new[place]), default=None)
            if best is not None and _length(run, new[best]):
                found[best] = run
                free = [place for place in free if place > best]
    return [part for place, token in enumerate(new) for part in _split(token, found.get(place, []))]


def _runs(old: list[EditToken]) -> list[list[EditToken]]:
    """Old tokens, those together that read as one word."""
    runs: list[list[EditToken]] = []
    for token in old:
        last = runs[-1][-1] if runs else EditToken()
        if WORD.fullmatch(token.text) and WORD.fullmatch(last.text) and marked_alike(token, last):
            runs[-1].append(token)
        else:
            runs.append([token])
    return runs


def _split(token: EditToken, run: list[EditToken]) -> list[EditToken]:
    if len(run) < 2:
        return [token]
    head, middle, tail = _parts(run, token.text)
    return [EditToken(words, marks=token.marks) for words in (*head, middle, *tail) if words]


def _length(run: list[EditToken], token: EditToken) -> int:
    head, _middle, tail = _parts(run, token.text)
    return sum(map(len, (*head, *tail)))


def _parts(run: list[EditToken], words: str) -> tuple[list[str], str, list[str]]:
    """The parts of a run that a word starts with, what is new in it, and the parts that it ends with."""
    head: list[str] = []
    tail: list[str] = []
    left = [token.text for token in run]
    while left and words.startswith(left[0]):
        head.append(left.pop(0))
        words = words[len(head[-1]) :]
    while left and words.endswith(left[-1]):
        tail.insert(0, left.pop())
        words = words[: len(words) - len(tail[0])]
    return head, words, tail
