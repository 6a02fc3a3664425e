"""The two documents that the importer is tried on, besides those of the built-in products."""

from __future__ import annotations

from typing import Any

from callsheet.openapi import ImportResult, import_document
from support.places import TESTS

DOCUMENTS = TESTS / "openapi" / "documents"
PAGINATORS = {
    "cursor": {"kind": "token", "send": "cursor", "size": "limit", "next": "meta.next", "items": ["pets"]},
    "bare": {"kind": "array", "send": "offset"},
    "absent": {"kind": "token", "send": "cursor", "size": "limit", "next": "elsewhere"},
}
FILES = {"petshop": "petshop.yaml", "forms": "forms.json"}


def text_of(product: str) -> str:
    return (DOCUMENTS / FILES[product]).read_text(encoding="utf-8")


def imported(product: str, text: str | None = None, **options: Any) -> ImportResult:
    return import_document(
        text_of(product) if text is None else text,
        product,
        name=FILES[product],
        **{"paginators": PAGINATORS, "experimental": '"x-beta"', "introduce": 7, **options},
    )
