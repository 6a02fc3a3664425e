"""Questions with editing, menus and filters, by questionary. Loaded with the first question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import questionary
from prompt_toolkit.output import ColorDepth, create_output

from ...terminal import unguarded

# The base colors alone: they are readable on every background.
_STYLE = questionary.Style(
    [
        ("qmark", "fg:ansigreen bold"),
        ("question", "bold"),
        ("answer", "fg:ansicyan nobold"),
        ("pointer", "fg:ansicyan bold"),
        ("highlighted", "fg:ansicyan"),
        ("selected", ""),
        ("instruction", ""),
        ("search_success", "fg:ansicyan"),
        ("search_none", "fg:ansired"),
    ]
)


def ask_text(question: str, default: str, *, color: bool) -> str:
    answer: str = questionary.text(question, default=default, **_settings(color=color)).unsafe_ask()
    return answer


def choose(question: str, labels: Sequence[str], *, color: bool) -> int:
    choices = [questionary.Choice(title=label, value=place) for place, label in enumerate(labels)]
    asked = questionary.select(
        question,
        choices,
        use_search_filter=True,
        use_jk_keys=False,
        instruction="(arrow keys, or type to filter)",
        **_settings(color=color),
    )
    place: int = asked.unsafe_ask()
    return place


def _settings(*, color: bool) -> dict[str, Any]:
    """Standard output holds the result, so questions stand on standard error."""
    depth = ColorDepth.DEPTH_4_BIT if color else ColorDepth.DEPTH_1_BIT
    return {"output": create_output(stdout=unguarded(sys.stderr)), "color_depth": depth, "style": _STYLE}
