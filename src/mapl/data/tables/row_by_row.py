"""Predicting private rows so that what is said of one depends on no other, to the last bit.

Matrix products round a row otherwise in another place or among another number of rows, and a prediction on the
border changes with them. So a model is always handed the same number of rows, each in a place that follows from the
row itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, take
from mapl.data.units.row_digests import digests
from mapl.errors import InvalidData
from mapl.types import Integers

PLACES = 256
"""How many rows a model is handed at once, however many there are."""


def row_by_row(predict: Callable[[Rows], Any], rows: Rows) -> NDArray[Any]:
    """Return one prediction for every row. Rows of one place take turns, so that many equal rows take long."""
    content = [one for block in digests(rows, None) for one in block]
    places = np.array([int.from_bytes(one[:8], "little") % PLACES for one in content], dtype=np.int64)
    said, turns = [], list(_turns(places))
    for members in turns:
        handed = np.full(PLACES, members[0])  # whose row fills the places left over does not matter
        handed[places[members]] = members
        every = np.asarray(predict(take(rows, handed)))
        if every.shape != (PLACES,):
            raise InvalidData("A model did not return one label per row; nothing was released.")
        said.append(every[places[members]])
    if not turns:
        return np.empty(0)
    return np.concatenate(said)[np.argsort(np.concatenate(turns))]


def _turns(places: Integers) -> Iterator[Integers]:
    """Yield rows, at most one for each place, until all had their turn."""
    order = np.argsort(places, kind="stable")
    sizes = np.bincount(places, minlength=PLACES)
    turn = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    for number in range(int(sizes.max())):
        yield order[turn == number]
