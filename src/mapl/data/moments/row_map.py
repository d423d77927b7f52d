"""From rows to whole vectors, in two steps: many rows are encoded at once, and vectors made of some at a time.

To encode few rows takes about as long as to encode many, and what is made of many does not fit into the processor's
cache. Which rows are taken together changes no bit of a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mapl.data.encoding.encoded_rows import EncodedRows
from mapl.data.moments.feature_map import FeatureMap
from mapl.data.tables.rows import Rows
from mapl.types import Floats

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder
    from mapl.data.encoding.scored_text import ScoredText


class Vectors(Protocol):
    """How rows become whole vectors of norm at most 2^18."""

    def encode(self, rows: Rows) -> Rows:
        """Return rows as vectors are made of them, all of them or some."""

    def __call__(self, rows: Rows) -> Floats:
        """Return the vector of each row, encoded or not."""


@dataclass(frozen=True, slots=True, eq=False)
class RowMap:
    """From rows to vectors by public facts: an encoder, and a map behind it."""

    encoder: Encoder | ScoredText
    features: FeatureMap

    def encode(self, rows: Rows) -> EncodedRows:
        return rows if isinstance(rows, EncodedRows) else self.encoder.encode(rows)

    def __call__(self, rows: Rows) -> Floats:
        return self.features(self.encode(rows))


class KeptVectors:
    """Rows that are vectors already, as somebody kept them."""

    def encode(self, rows: Rows) -> Rows:
        return rows

    def __call__(self, rows: Rows) -> Floats:
        return np.asarray(rows, dtype=np.float64)
