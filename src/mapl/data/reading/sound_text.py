"""Text in UTF-8 whatever bytes a cell holds: what is no UTF-8 becomes the replacement character, cell by cell.

Files promise UTF-8 and do not always keep it. Refusing a whole table for one cell would tell of that cell.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def is_bytes(kind: Any) -> bool:
    """Say whether a column of this type holds bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or kind == pa.binary_view()
    )


def sound(column: Any) -> Any:
    """Return a column of text or bytes as sound text."""
    content = column.cast(pa.large_binary())
    try:
        return content.cast(pa.large_string())
    except pa.ArrowInvalid:
        read = [None if one is None else one.decode("utf-8", "replace") for one in content.to_pylist()]
        return pa.array(read, pa.large_string())
