"""What the front matter of a page says beside its title, in the words of several programs that read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import slip_of

ORDER = ("order", "nav_order", "sidebar_position", "weight")
LABELS = ("labels", "tags")
DRAFT = "draft"
RESTRICTIONS = "restrictions"
RESTRICTED = {"view": "read", "read": "read", "edit": "update", "update": "update"}
OWN = ("title", "page-id", *LABELS, *ORDER, "status", DRAFT, "owner", RESTRICTIONS, "publish", "published")


class FrontMatter:
    """The fields that a page's front matter gives, and the messages of what is wrong with it."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = said
        self.problems: list[str] = []
        self.title = " ".join((self._text("title") or "").split())
        self.id = self._text("page-id")
        self.order = next((number for key in ORDER if (number := self._number(key)) is not None), None)
        self.is_draft = said.get(DRAFT) is True or str(said.get("status")).strip().lower() == DRAFT
        self.published = said.get("publish") is not False and said.get("published") is not False
        self.fields = {
            name: value
            for name, value in (
                ("labels", self._labels()),
                ("owner", self._text("owner")),
                (RESTRICTIONS, self._restrictions()),
            )
            if value
        }
        for key in said:
            if key not in OWN and (meant := slip_of(key, OWN)):
                self.problems.append(f"{key} in the front matter is not known, did you mean {meant!r}?")

    def _wrong(self, key: str, expected: str) -> None:
        self.problems.append(f"{key} in the front matter: expected {expected}, not {str(self.said[key])[:60]!r}")

    def _text(self, key: str) -> str | None:
        value = self.said.get(key)
        if value is None or value == "":
            return None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
        self._wrong(key, "a text")
        return None

    def _number(self, key: str) -> float | None:
        value = self.said.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12:
            return value
        self._wrong(key, "a number")
        return None

    def _labels(self) -> list[str] | None:
        found: dict[str, None] = {}
        for key in LABELS:
            items = self._texts(key, self.said.get(key))
            found.update(dict.fromkeys(items or ()))
        return list(found) or None

    def _texts(self, key: str, value: Any) -> list[str] | None:
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        found = []
        for item in items:
            one = item.get("label", {}) if isinstance(item, dict) else item  # as Docusaurus may have a tag
            if one is None:
                continue
            if not isinstance(one, str | int | float) or isinstance(one, bool):
                self._wrong(key, "a list of texts")
                return None
            if words := str(one).strip():
                found.append(words)
        return found

    def _restrictions(self) -> dict[str, list[str]] | None:
        value = self.said.get("restrictions")
        if value is None:
            return None
        if not isinstance(value, dict) or not all(str(key) in RESTRICTED for key in value):
            self._wrong("restrictions", "a table of `view` and `edit`, each a list of people and groups")
            return None
        return {RESTRICTED[key]: self._texts("restrictions", names) or [] for key, names in value.items()}
