"""The public rows that a map is drawn from, and how much each of them counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mapl.data.tables.rows import Rows, as_arrow, is_matrix, is_sparse, n_rows, native, take
from mapl.data.units.row_digests import digests
from mapl.types import Floats

MOST_ROWS = 20_000
"""So many public rows tell the curvature well enough; of more a fixed choice is taken."""

N_SHUFFLED = 2000


@dataclass(frozen=True, slots=True, eq=False)
class MapSample:
    """Public rows, some of which may be made up of others', with weights that add up to 1; real ones come first."""

    rows: Rows
    weights: Floats
    n_real: int


def sample_public(questions: Rows, shuffled: float) -> MapSample:
    """Return public rows, at most so many as are needed, and shuffled ones with some weight in all beside them."""
    n = n_rows(questions)
    rows = questions
    if n > MOST_ROWS:
        rows, n = take(questions, np.sort(np.random.default_rng(0).permutation(n)[:MOST_ROWS])), MOST_ROWS
    if not shuffled:
        return MapSample(rows, np.full(n, 1 / n), n)
    weights = np.concatenate([np.full(n, (1 - shuffled) / n), np.full(N_SHUFFLED, shuffled / N_SHUFFLED)])
    return MapSample(_with_shuffled(rows), weights, n)


def share_of_equals(sample: MapSample) -> float:
    """Return how many of the pairs of real public rows are pairs of equal ones, one more than was seen."""
    some = take(sample.rows, np.arange(sample.n_real, dtype=np.int64))
    found = Counter(one for block in digests(some, None) for one in block)
    return (2 + sum(n * (n - 1) for n in found.values())) / max(1, sample.n_real * (sample.n_real - 1))


def _with_shuffled(rows: Rows) -> Rows:
    """Return rows and behind them others, each column of which is a shuffled copy of itself."""
    draws = np.random.default_rng(0)

    def places() -> Any:
        again = -(-N_SHUFFLED // n_rows(rows))
        return np.concatenate([draws.permutation(n_rows(rows)) for _ in range(again)])[:N_SHUFFLED]

    if is_matrix(rows):
        dense = native(rows).toarray() if is_sparse(rows) else np.asarray(rows)
        return np.concatenate([dense, np.stack([dense[places(), j] for j in range(dense.shape[1])], axis=1)])
    table = as_arrow(rows)
    made_up = pa.table({name: table.column(name).take(pa.array(places())) for name in table.column_names})
    both: Rows = pa.concat_tables([table, made_up.cast(table.schema)])
    return both
