"""Who plays whom in a rehearsal: rows of a public sample stand for private, public and fresh ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mapl.types import Integers

FRESH = 5
"""One in so many rows tests the student, a different fifth every time until all have done so."""

MOST_PUBLIC = 0.5
"""Of the other rows at most this share stands for public ones."""


@dataclass(frozen=True, slots=True, eq=False)
class StandIns:
    """Places in a public sample: who stands for private rows, for public ones, and who tests the student.

    Parameters
    ----------
    times
        How many private rows each of their stand-ins counts for; 1 where there are enough of them.
    """

    private: Integers
    public: Integers
    fresh: Integers
    times: float

    def with_fewer_private(self) -> Self:
        """Return the same with every other stand-in for private rows, each of which counts twice."""
        fewer = self.private[::2]
        public = fewer if self.public is self.private else self.public
        return replace(self, private=fewer, public=public, times=self.times * len(self.private) / len(fewer))

    def with_fewer_public(self) -> Self:
        """Return the same with half of the stand-ins for public rows."""
        return replace(self, public=self.public[::2])

    def with_public_features(self) -> Self:
        """Return the same where features are public: the private rows, without labels, are the public ones."""
        return replace(self, public=self.private)


def draw_stand_ins(total: int, *, n_private: int, n_public: int, seed: int = 0) -> Iterator[StandIns]:
    """Deal a public sample out again and again; nobody plays two parts at a time.

    Where the sample has rows enough, there are as many stand-ins as rows to be expected.
    """
    rng = np.random.default_rng(seed)  # parts of public rows protect nobody
    while True:
        order = rng.permutation(total)
        for turn in range(FRESH):
            is_fresh = np.arange(total) % FRESH == turn
            others = rng.permutation(order[~is_fresh])
            public = min(n_public, int(MOST_PUBLIC * len(others)))
            private = min(n_private, len(others) - public)
            yield StandIns(
                np.sort(others[public : public + private]),
                np.sort(others[:public]),
                np.sort(order[is_fresh]),
                n_private / private,
            )
