"""What a student learns from: public rows and the labels that were released for some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import ABSTAIN, Flags, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Public rows with one code each, ABSTAIN where no label was released."""

    rows: Rows
    codes: Labels
    classes: Classes
    weights: NDArray[np.float64] | None = None
    seed: int = 0

    @classmethod
    def checked(
        cls, rows: Rows, labels: NDArray[Any], classes: Classes, *, weights: NDArray[Any] | None, seed: int
    ) -> Self:
        """Accept labels that fit the rows and the classes; rows past a run's halt count as not answered."""
        given, n = np.asarray(labels), n_rows(rows)
        if given.ndim != 1 or len(given) > n or given.dtype.kind not in "iu":
            raise InvalidData(
                f"The released labels have shape {given.shape} and type {given.dtype}; expected at most one whole "
                f"number per public row, of which there are {n}."
            )
        if given.size and not (given.min() >= ABSTAIN and given.max() < len(classes)):
            raise InvalidData(
                f"The released labels lie between {given.min()} and {given.max()}; expected class numbers from 0 "
                f"to {len(classes) - 1}, and {ABSTAIN} where there is no label."
            )
        codes = np.full(n, ABSTAIN, dtype=np.int32)
        codes[: len(given)] = given
        if (codes == ABSTAIN).all():
            raise nothing_to_learn(n)
        return cls(rows, codes, classes, weights=_checked_weights(weights, n), seed=seed)

    @property
    def answered(self) -> Flags:
        return np.asarray(self.codes != ABSTAIN)

    def part(self, where: NDArray[np.int64]) -> Lesson:
        """Return the lesson of some of the rows, in the given order."""
        weights = None if self.weights is None else self.weights[where]
        return replace(self, rows=take(self.rows, where), codes=self.codes[where], weights=weights)

    def relabelled(self, codes: Labels) -> Lesson:
        return replace(self, codes=codes)

    def reseeded(self, offset: int) -> Lesson:
        return replace(self, seed=self.seed + offset)


def nothing_to_learn(n_public: int) -> InvalidData:
    """Return the error of a student that nothing was released for."""
    return InvalidData(
        f"None of the {n_public} public rows got a released label, so there is nothing to learn from. Ask with a "
        "mechanism that answers everything (link, noisy-max), a larger epsilon, or fewer questions."
    )


def _checked_weights(weights: NDArray[Any] | None, n: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all() or (given < 0).any():
        raise InvalidParameter(
            f"The weights have shape {given.shape}; expected one finite number of at least 0 for each of the {n} "
            "public rows."
        )
    return given
