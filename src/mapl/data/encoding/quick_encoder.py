"""The same encoding as `Encoder`, for few rows at a time whose cells are numbers already.

`Encoder` is made for tables; for one row it spends its time on looking at types. Here everything that follows from
the columns is laid out once.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.layout import CLIP, Matrix
from mapl.data.tables.column import Column
from mapl.types import Floats


class QuickEncoder:
    """Encode numbers, dates and places of categories; what it returns is what `Encoder.transform` returns.

    Parameters
    ----------
    encoder
        One that `fits`.
    """

    def __init__(self, encoder: Encoder) -> None:
        columns = [Column.from_dict(plain) for plain in encoder.columns]
        declared = [one for one in columns if one.kind in ("number", "date")]
        self._centres = np.array([one.centre for one in declared])
        self._spreads = np.array([one.spread for one in declared])
        self._told = np.array([j for j, one in enumerate(declared) if one.missing], dtype=np.int64)
        sizes = [len(one.values) for one in columns if one.kind == "category"]
        ends = list(accumulate(sizes, initial=len(declared) + len(self._told)))
        self._starts = np.array(ends[:-1], dtype=np.int64)
        self._bins: list[tuple[int, int, Floats]] = []
        self._width = ends[-1]
        for j, one in enumerate(declared if encoder.bins else ()):
            if one.cuts:
                self._bins.append((j, self._width, np.array(one.cuts)))
                self._width += len(one.cuts) + 1

    @staticmethod
    def fits(encoder: object) -> bool:
        """Say whether there are only numbers, dates and categories to encode, and nothing was learned from rows."""
        return type(encoder) is Encoder and all(
            plain["kind"] in ("number", "date", "category") for plain in encoder.columns
        )

    def encode(self, values: Floats, places: NDArray[np.int32]) -> Matrix:
        """Encode rows.

        Parameters
        ----------
        values
            One column per number or date (in days), in the order of the columns; NaN for a missing one.
        places
            One column per category: the place of its value among those declared, with the rest behind them where
            there is one, below zero for none.
        """
        out = np.zeros((len(values), self._width), dtype=np.float32)
        with np.errstate(over="ignore"):
            scaled = (values - self._centres) / self._spreads
        at = values.shape[1]
        out[:, :at] = np.nan_to_num(np.clip(scaled, -CLIP, CLIP))
        if len(self._told):
            out[:, at : at + len(self._told)] = np.isnan(values[:, self._told])
        rows, columns = np.nonzero(places >= 0)
        out[rows, self._starts[columns] + places[rows, columns]] = 1
        for j, start, cuts in self._bins:
            (known,) = np.nonzero(~np.isnan(values[:, j]))
            out[known, start + np.searchsorted(cuts, values[known, j], side="right")] = 1
        return out
