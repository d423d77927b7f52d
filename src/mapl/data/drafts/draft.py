"""What a column seems to be, judged on PUBLIC cells alone, and once: private cells are read by what is drafted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapl.data.drafts.draft_numbers import draft_number, make_positive
from mapl.data.drafts.draft_text import FoundTexts, draft_category, draft_written
from mapl.data.reading.entries import TRUTH, is_date, is_list, is_text, numbers, pixels, texts
from mapl.data.tables.column import Column
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell


def draft_column(name: str, cells: Any, *, as_category: bool = False) -> Column:
    """Say what a public column seems to be.

    Parameters
    ----------
    as_category
        Whether it is declared to be a category, whatever it looks like.
    """
    kind = cells.type
    if pa.types.is_null(kind) or cells.null_count == len(cells):
        raise _empty(name)
    if is_list(kind):
        if as_category:
            raise InvalidParameter(
                f"{spell('categories')} names {name!r}, which holds lists of numbers; name others only."
            )
        return _image(name, cells)
    if pa.types.is_boolean(kind):
        return Column(name, "category", TRUTH, missing=bool(cells.null_count))
    if as_category or pa.types.is_dictionary(kind) or is_text(kind):
        found = FoundTexts.of(texts(cells))
        if not found.values:
            raise _empty(name)
        listed = pa.types.is_dictionary(kind)
        return draft_category(name, found, listed=listed) if as_category else draft_written(name, cells, found)
    if is_date(kind):
        return draft_number(name, numbers(cells), "date")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return draft_number(name, numbers(cells), "number")
    raise InvalidData(
        f"The public column {name!r} is of type {kind}; expected numbers, text, dates or lists of numbers of equal "
        f"length. Convert it, or leave it out with {spell('drop')}."
    )


def _empty(name: str) -> InvalidData:
    return InvalidData(
        f"The public column {name!r} is empty, so that nothing tells what it holds; leave it out with "
        f"{spell('drop')}, or give public rows that have it."
    )


def _image(name: str, cells: Any) -> Column:
    lengths = pc.unique(pc.list_value_length(cells)).drop_null().to_pylist()
    if len(lengths) != 1 or lengths[0] < 1:
        raise InvalidData(
            f"The lists of the public column {name!r} have different lengths; images need as many numbers each."
        )
    matrix = pixels(cells, lengths[0])
    return Column(
        name,
        "image",
        centre=float(np.nanmean(matrix, dtype=np.float64)),
        spread=make_positive(float(np.nanstd(matrix, dtype=np.float64))),
        width=lengths[0],
    )
