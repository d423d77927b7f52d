"""What a student that asks can see: public rows, and labels that were released for some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mapl.data.tables.rows import Rows, is_sparse, n_rows
from mapl.types import ABSTAIN, Floats, Labels

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder


SPARSE_WIDTH = 100
"""Sparse rows, such as words, are looked at in so many directions: nearness in all of them says little."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Public rows as numbers; ``known`` has a class number for each, ABSTAIN where nothing was released yet."""

    rows: Floats
    n_classes: int
    known: Labels
    seed: int = 0

    @classmethod
    def of(
        cls, rows: Rows, encoder: Encoder, n_classes: int, *, known: Labels | None = None, seed: int = 0
    ) -> Self:
        """Encode public rows; without known labels, none is."""
        codes = np.full(n_rows(rows), ABSTAIN, dtype=np.int32) if known is None else known
        return cls(_dense(encoder.transform(rows)), n_classes, codes, seed)

    def narrowed(self, width: int) -> Pool:
        """Return the pool as seen in a few directions only, those in which its rows differ most."""
        if self.rows.shape[1] <= width or len(self) <= width:
            return self
        narrow = _in_directions(self.rows - self.rows.mean(axis=0), width)
        return replace(self, rows=narrow / max(float(narrow[:, 0].std()), 1e-12))

    def __len__(self) -> int:
        return len(self.rows)


def _dense(encoded: Any) -> Floats:
    if not is_sparse(encoded):
        return np.asarray(encoded, dtype=np.float64)
    return _in_directions(encoded, max(1, min(SPARSE_WIDTH, *(size - 1 for size in encoded.shape))))


def _in_directions(rows: Any, width: int) -> Floats:
    from sklearn.decomposition import TruncatedSVD

    return np.asarray(TruncatedSVD(width, random_state=0).fit_transform(rows), dtype=np.float64)
