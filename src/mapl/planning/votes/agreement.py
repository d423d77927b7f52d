"""What the user expects of the votes, declared in advance: shares of the winner and how often they occur."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.types import Tallies

DEFAULT = "0.95:0.6,0.75:0.25,0.55:0.15"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A declared distribution of the winner's share of the votes. It is never read off private votes.

    Examples
    --------
    >>> Agreement.parse("0.9:3, 0.6:1").groups
    ((0.9, 0.75), (0.6, 0.25))
    """

    groups: tuple[tuple[float, float], ...]
    runners_up: tuple[float, ...] | None = None
    """The runner-up's share of the votes in each group; None for as strong a runner-up as can be."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``share:weight,share:weight,...``; a bare number is one share for all questions."""
        try:
            pairs = [part.split(":") for part in text.split(",")]
            groups = [(float(p[0]), float(p[1]) if len(p) == 2 else 1.0) for p in pairs if len(p) <= 2]
        except ValueError:
            groups = []
        total = sum(w for _, w in groups)
        sound = len(groups) == text.count(",") + 1 and all(0 < s <= 1 and w >= 0 for s, w in groups)
        if not (sound and 0 < total < math.inf):
            raise InvalidParameter(
                f"The expected agreement is {text!r}; write the winner's share of votes and how often it occurs, "
                f"for example {DEFAULT}."
            )
        return cls(tuple((s, w / total) for s, w in groups))

    @classmethod
    def default(cls) -> Self:
        """Return the agreement that is assumed, and printed, when none is declared."""
        return cls.parse(DEFAULT)

    def __str__(self) -> str:
        return ",".join(f"{share:g}:{weight:g}" for share, weight in self.groups)

    def tallies(self, n_teachers: int, n_classes: int) -> Tallies:
        """Return one typical question per group: the winner's votes, the others on as strong a runner-up as can be.

        A strong runner-up is the hardest case for every mechanism; where its share is known too, other votes are
        shared out among the other classes. The winner is class 1, so that lucky ties never help it.
        """
        counts = np.zeros((len(self.groups), n_classes), dtype=np.int64)
        others = [0, *range(2, n_classes)]
        runners_up = self.runners_up or (1.0,) * len(self.groups)
        for row, (share, _), runner_up in zip(counts, self.groups, runners_up, strict=True):
            # With fewer votes than this the class could not win at all.
            row[1] = max(math.floor(share * n_teachers), -(-(n_teachers + 1) // n_classes))
            elsewhere = max(n_teachers - row[1] - round(runner_up * n_teachers), 0)
            each, more = divmod(elsewhere, max(n_classes - 2, 1))
            row[2:] = np.minimum(each + (np.arange(n_classes - 2) < more), row[1])
            rest = n_teachers - row.sum()
            for y in others:
                more = min(rest, row[1] - (y == 0) - row[y])
                row[y] += more
                rest -= more
        return Tallies(counts)

    def weights(self) -> NDArray[np.float64]:
        """Return how often each group occurs."""
        return np.array([weight for _, weight in self.groups])
