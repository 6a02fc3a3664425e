"""Make the built-in operation definitions again from a folder of published OpenAPI documents.

    python scripts/import_catalog.py SPECS [TARGET]

Products come out of `definitions/suite`, in their order, so that operation ids fall as the rule wants them. A
product is read from `<product>.json`, or from the file named in `DOCUMENTS`.
"""

from __future__ import annotations

import os
import sys
import tomllib
from typing import Any

from callsheet.openapi import ImportResult, import_document, write_files

DEFINITIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "definitions", "suite")
DOCUMENTS = {"confluence": "confluence-v2.json"}


def import_all(specs: str, definitions: str = DEFINITIONS) -> dict[str, ImportResult]:
    """Every product's import, by product key, in the products' order."""
    products = _table(definitions, "products.toml")["product"]
    paginators = _table(definitions, "paginators.toml")["paginator"]
    taken: set[str] = set()
    results = {}
    for key in sorted(products, key=lambda name: products[name]["order"]):
        file = os.path.join(specs, DOCUMENTS.get(key, f"{key}.json"))
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        rules = products[key].get("import", {})
        results[key] = import_document(
            text, key, name=file, paginators=paginators, taken=taken, descriptions=False, **rules
        )
        taken |= set(results[key].operations)
    return results


def _table(directory: str, name: str) -> dict[str, Any]:
    with open(os.path.join(directory, name), "rb") as file:
        return tomllib.load(file)


def main(specs: str, target: str = DEFINITIONS) -> None:
    for key, result in import_all(specs).items():
        removed = write_files(result.files, target, key)
        counts = f"{len(result.operations)} operations, {len(result.schemas)} schemas, {len(result.files)} files"
        print(f"{key}: {counts}, {len(removed)} stale files removed")
        for note in result.notes:
            print(f"  note: {note}")


if __name__ == "__main__":
    main(*sys.argv[1:])
