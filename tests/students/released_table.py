"""A public table with a rule that students can find, and labels as a release leaves them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.types import ABSTAIN


@dataclass(frozen=True)
class Public:
    """Public rows, the truth about them, and released labels: noisy, and missing for some."""

    rows: pa.Table
    truth: NDArray[np.int32]
    labels: NDArray[np.int32]
    classes: Classes


def public_table(n: int = 400, *, right: float = 0.8, answered: float = 0.8, seed: int = 0) -> Public:
    draws = np.random.default_rng(seed)
    age, job = draws.normal(40, 10, n), draws.choice(["baker", "clerk", "smith"], n)
    truth = ((age > 42) | (job == "clerk")).astype(np.int32)
    labels = np.where(draws.random(n) < right, truth, 1 - truth).astype(np.int32)
    labels[draws.random(n) >= answered] = ABSTAIN
    rows = pa.table({"age": age, "job": job, "noise": draws.normal(size=n)})
    return Public(rows, truth, labels, Classes(("no", "yes")))
