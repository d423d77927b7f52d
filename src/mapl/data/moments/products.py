"""What records add where no public rows tell how columns go together: the products of their own features, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.moments.even_guess import beyond_even
from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.number_residuals import with_squares
from mapl.data.moments.row_map import Vectors
from mapl.data.tables.rows import Rows
from mapl.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The products of a record's features with each other, and with its label beyond an even guess.

    Parameters
    ----------
    numeric
        Whether labels are numbers, between -1 and 1; there are two columns for them.
    """

    vectors: Vectors
    width: int
    n_classes: int
    numeric: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.width, self.width + self.n_classes

    def encode(self, rows: Rows) -> Rows:
        return self.vectors.encode(rows)

    def measure(self, rows: Rows, labels: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return vectors, and beside each other the same once more and the residuals of an even guess."""
        found = self.vectors(rows)
        beyond = with_squares(labels, 1.0) if self.numeric else beyond_even(labels, self.n_classes)
        return found, np.concatenate([found / UNIT, beyond], axis=1)
