"""What the headers of a reply tell about the next page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# `<target>; rel="next"; title="a, b"` (RFC 8288, section 3). A parameter's value may stand in quotes.
_LINK = re.compile(r"<([^>]*)>([^<]*)")
_RELATION = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)


def told_in_headers(headers: Mapping[str, str]) -> dict[str, Any]:
    """Headers by their lower-case names, and `links`: the targets of a Link header by their relations."""
    told = {name.lower(): value for name, value in headers.items()}
    return {**told, "links": _links(told.get("link", ""))}


def _links(text: str) -> dict[str, str]:
    """Of several targets with one relation the first counts, as of several relations of one target."""
    found: dict[str, str] = {}
    for target, parameters in _LINK.findall(text):
        relation = _RELATION.search(parameters)
        for name in (relation[1] or relation[2]).lower().split() if relation else ():
            found.setdefault(name, target)
    return found
