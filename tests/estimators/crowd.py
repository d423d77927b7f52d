"""A small crowd for tests: rows whose class is the sign of their first column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_PRIVATE, N_PUBLIC = 600, 60


@dataclass(frozen=True)
class Crowd:
    """Private rows with labels, and public rows with the labels they should get."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    public: NDArray[np.float64]
    truth: NDArray[Any]


def crowd(names: Any = ("no", "yes"), *, seed: int = 0) -> Crowd:
    """Draw a crowd with some spread around the border between its classes, so that teachers agree."""
    rows = np.random.default_rng(seed).normal(size=(N_PRIVATE + N_PUBLIC, 2))
    rows[:, 0] += np.where(rows[:, 0] > 0, 2, -2)
    labels = np.array(names)[(rows[:, 0] > 0).astype(int)]
    return Crowd(rows[:N_PRIVATE], labels[:N_PRIVATE], rows[N_PRIVATE:], labels[N_PRIVATE:])
