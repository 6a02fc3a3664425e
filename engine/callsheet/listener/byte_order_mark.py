"""Files of secrets, keys and certificates that an editor began with a byte-order mark: nothing would match them."""

from __future__ import annotations

import codecs

from ..errors import UsageError

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def refuse_byte_order_mark(data: bytes, where: str) -> None:
    """Raises `UsageError` that names `where`, and none of the content."""
    if data.startswith(_MARKS):
        raise UsageError(f"{where} begins with a byte-order mark (BOM)", hint="save it as plain UTF-8, without a BOM")
