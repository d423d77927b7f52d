"""Where a row lies among public rows: a few small whole numbers, by public facts alone.

Which cell a row falls into must depend on that row and on nothing beside it. A matrix product adds in an order that
depends on how many rows it is given. So here all coordinates are whole numbers, and so small that 24 bits hold
every sum exactly, in whatever order it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.projection import Projection
from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.data.tables.rows import Rows, block_of, is_sparse, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.types import Singles

REACH = 127
STEPS = 32
"""Steps of the grid per unit of length, which is a column's spread, or the difference of two categories."""

MOST_COORDINATES = 340
"""So many squares and products add up to less than 2^24: 3 x 340 x 127^2 < 2^24."""

N_COMPONENTS = 100
"""How many directions wider tables, text and images keep."""

MOST_FITTED = 10_000
ENTRIES_AT_ONCE = 1 << 22

FEWEST_RANGED = 100
"""Fewer public rows say little about the range of others."""

SPARE_RANGE = 0.5
"""A row is out of range if it lies half the public range, and a spread, beyond the public extremes."""

TEXT_REACH = 3.0
"""How many units a text of usual length lies from the origin."""


@dataclass(frozen=True, slots=True, eq=False)
class CellSpace:
    """A map from rows to points on a grid, fitted on public rows where there is anything to fit.

    Parameters
    ----------
    encoder
        From rows to numbers, by the schema, or by public images and categories.
    width
        How many numbers a row becomes on the way, which bounds how many rows are encoded at once.
    axes
        For text: directions of the public rows, one column each; None elsewhere.
    projection
        For other wide rows: principal components of public rows; None elsewhere.
    lowest, highest
        Between which encoded numbers rows count as resembling public ones; None where everything does.
    """

    encoder: Encoder
    width: int
    axes: NDArray[np.float64] | None = None
    projection: Projection | None = None
    lowest: NDArray[np.float32] | None = None
    highest: NDArray[np.float32] | None = None

    @classmethod
    def fit(cls, public: Rows, schema: Schema, encoder: Encoder | None = None) -> Self:
        """Fit on PUBLIC rows.

        Parameters
        ----------
        encoder
            The run's own encoder, where one was fitted on public images already.
        """
        kinds = {column.kind for column in schema.columns}
        own = _components(public, schema, encoder) if "image" in kinds else Encoder.of(schema)
        width = len(own.get_feature_names_out())
        if "image" in kinds and width <= MOST_COORDINATES:
            return cls(own, width)
        some = public
        if n_rows(public) > MOST_FITTED:
            some = take(public, np.sort(np.random.default_rng(0).permutation(n_rows(public))[:MOST_FITTED]))
        encoded = own.transform(some)
        if is_sparse(encoded):
            return cls(own, N_COMPONENTS, axes=_text_axes(encoded))
        projection = Projection.fit(encoded, dim=N_COMPONENTS) if width > MOST_COORDINATES else None
        if n_rows(some) < FEWEST_RANGED:
            return cls(own, width, projection=projection)
        lowest, highest = encoded.min(axis=0), encoded.max(axis=0)
        span = highest - lowest
        spare = np.where(span > 0, np.maximum(SPARE_RANGE * span, 1), np.inf)  # one value alone has no range
        return cls(own, width, projection=projection, lowest=lowest - spare, highest=highest + spare)

    def points(self, rows: Rows) -> Singles:
        """Return where each row lies, a function of that row alone."""
        return self._on_grid(self.encoder.transform(rows))

    def placed(self, rows: Rows) -> tuple[Singles, NDArray[np.bool_]]:
        """Return where each row lies, and whether some number of it is far out of the public range.

        The grid ends a few spreads away from the centre, so that it cannot tell.
        """
        encoded = self.encoder.transform(rows)
        outside = np.zeros(n_rows(rows), dtype=np.bool_)
        if self.lowest is not None and not is_sparse(encoded):
            outside = ((encoded < self.lowest) | (encoded > self.highest)).any(axis=1)
        return self._on_grid(encoded), outside

    def _on_grid(self, encoded: Any) -> Singles:
        if self.axes is not None:
            # A sparse product adds up the entries of a row one after the other, whichever rows stand beside it; a
            # product of dense rows would not.
            encoded = np.asarray(sp.csr_matrix(encoded) @ self.axes)
        elif is_sparse(encoded):
            encoded = encoded.toarray()
        if self.projection is not None:
            encoded = self.projection(encoded)
        if not np.isfinite(encoded).all():
            raise InvalidData("Some rows hold numbers that are not finite; write missing numbers as empty cells.")
        steps = encoded * STEPS
        np.clip(steps, -REACH, REACH, out=steps)
        return np.asarray(np.rint(steps, out=steps), np.float32)

    def blocks(self, rows: Rows) -> Iterator[tuple[int, Singles, NDArray[np.bool_]]]:
        """Yield the number of the first row of each block, and what `placed` says; a block bounds the memory."""
        step = max(1, ENTRIES_AT_ONCE // max(int(rows.shape[1]), self.width, N_COMPONENTS))
        for start in range(0, n_rows(rows), step):
            yield start, *self.placed(block_of(rows, start, min(start + step, n_rows(rows))))


def _components(public: Rows, schema: Schema, encoder: Encoder | None) -> Encoder:
    """Return an encoder for images that gives their principal components, and the columns beside them."""
    if any(column.kind == "text" for column in schema.columns):
        raise InvalidParameter(
            "The rows have both an image and text, and distances between such rows mean little; keep one of the "
            f"two columns, or take {spell('method', 'teachers')}."
        )
    fitted = encoder if isinstance(encoder, PublicEncoder) else PublicEncoder.fit_public(public, schema)
    return fitted.components()


def _text_axes(encoded: Any) -> NDArray[np.float64]:
    """Return the leading directions of public texts, scaled so that usual texts reach across the grid."""
    from sklearn.decomposition import TruncatedSVD

    width = max(1, min(N_COMPONENTS, *(size - 1 for size in encoded.shape)))
    with np.errstate(divide="ignore", invalid="ignore"):  # how much rows vary: alike ones do not, and nobody asks
        axes = TruncatedSVD(width, random_state=0).fit(encoded).components_.T.astype(np.float64)
    lengths = np.linalg.norm(encoded @ axes, axis=1)
    typical = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else 1.0
    return np.asarray(axes * (TEXT_REACH / typical))
