"""The most telling teacher: it knows its rows by rote. What is promised holds for any learner, so for this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rote:
    """Remembers the label of every row; of other rows it says what most have, of equally many `favoured`."""

    favoured: Any

    def __call__(self, rows: Any, labels: NDArray[Any]) -> Callable[[Any], list[Any]]:
        known = dict(zip(spell_rows(rows), labels.tolist(), strict=True))
        names, counts = np.unique(labels, return_counts=True)
        usual = names[counts == counts.max()].tolist()
        otherwise = self.favoured if self.favoured in usual else usual[0]
        return lambda questions: [known.get(row, otherwise) for row in spell_rows(questions)]


def spell_rows(rows: Any) -> list[str]:
    """Write every row down, so that equal rows are equal texts."""
    values = rows.itertuples(index=False, name=None) if hasattr(rows, "itertuples") else np.asarray(rows).tolist()
    return [repr([one.tolist() if hasattr(one, "tolist") else one for one in row]) for row in values]
