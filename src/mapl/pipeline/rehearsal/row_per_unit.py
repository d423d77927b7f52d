"""One row of everybody in a public sample: nobody is learned from and tested on at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.data.units.unit_names import unit_names
from mapl.types import Integers


def draw_row_per_unit(ids: Any) -> Integers:
    """Return the numbers of rows, in order, one drawn by lot for every unit; rows that name nobody stay out.

    A forecast counts units, not rows, so this is also what makes the sample as large as it says.

    Examples
    --------
    >>> len(draw_row_per_unit(["a", "b", "a", None]))
    2
    """
    names = unit_names(ids)
    codes = names.dictionary_encode().indices.fill_null(-1).to_numpy()
    order = np.random.default_rng(0).permutation(len(codes))  # rows are public
    found, first = np.unique(codes[order], return_index=True)
    return np.sort(order[first[found >= 0]]).astype(np.int64)
