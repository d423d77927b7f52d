"""The circle T -> k -> alpha -> T of BTT18's section 3: the smallest cutoff that pays for itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from mapl.bounds.btt18.algorithm2 import Algorithm2, Constants, count_contested, largest_proved, refuse_unproved
from mapl.bounds.learners import Learner, realizable_error
from mapl.errors import CannotCalibrate
from mapl.types import ADJACENCY, UNIT

DIGITS = 4
"""Cutoffs of more digits are rounded up to this many, so that no walk is long."""
FARTHEST = 1e18
LARGEST_EPSILON = 100.0
"""How far the search goes for what would be enough; a larger epsilon would protect nobody."""
PRECISION = 1.002


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that the circle depends on; `learner` is what a teacher achieves on its rows."""

    n: int
    vc: int
    epsilon: float
    delta: float
    m: int
    beta: float
    gamma: float = 0.0
    learner: Learner = realizable_error
    constants: Constants = Constants.derived

    def algorithm(self, cutoff: int) -> Algorithm2:
        """Return Algorithm 2 for a cutoff: T -> k."""
        return Algorithm2.calibrated(
            cutoff, self.m, epsilon=self.epsilon, delta=self.delta, beta=self.beta, constants=self.constants
        )

    def excess(self, teachers: int) -> float:
        """Return how far above gamma each of so many teachers may err, all but beta: k -> alpha."""
        return self.learner(self.n // teachers, self.vc, self.beta / teachers)

    def next_cutoff(self, cutoff: int) -> int:
        """Return the cutoff that the teachers of a cutoff need, m if there is none below it: once round."""
        rate = self.gamma + self.excess(self.algorithm(cutoff).teachers)
        return count_contested(self.m, rate, self.beta / 2)


@dataclass(frozen=True, slots=True)
class Circle:
    """A cutoff whose own teachers leave no more contested questions than it allows."""

    algorithm: Algorithm2
    alpha: float
    rows_each: int
    steps: int

    @property
    def cutoff(self) -> int:
        return self.algorithm.cutoff


def least_fixpoint(step: Callable[[int], int], limit: int) -> tuple[int, int] | None:
    """Return the smallest grid point T < limit with step(T) <= T and the number of steps taken, or None.

    `step` must not fall anywhere. The walk T -> step(T), rounded up to the grid, starts at 1, strictly rises until
    it stops, and never passes the smallest such point: docs/proofs/circle.md.

    Examples
    --------
    >>> least_fixpoint(lambda cutoff: 2 + cutoff // 2, 100)
    (3, 3)
    >>> least_fixpoint(lambda cutoff: cutoff + 1, 100) is None
    True
    """
    at, steps = 1, 0
    while at < limit:
        steps += 1
        wanted = step(at)
        if wanted <= at:
            return at, steps
        at = on_grid(wanted)
    return None


def on_grid(cutoff: int) -> int:
    """Round a whole number up to four significant digits.

    Examples
    --------
    >>> on_grid(9999), on_grid(123412)
    (9999, 123500)
    """
    unit: int = 10 ** max(0, len(str(cutoff)) - DIGITS)
    return -(-cutoff // unit) * unit


def solve(setting: Setting) -> Circle:
    """Go round until the cutoff allows for what its own teachers contest.

    Raises
    ------
    CannotCalibrate
        There is no such cutoff below m, the number of questions; the message says what would have to grow.
    """
    refuse_unproved(setting.epsilon, setting.delta, setting.constants)
    found = least_fixpoint(setting.next_cutoff, setting.m)
    if found is None:
        raise CannotCalibrate(obstacle(setting))
    algorithm = setting.algorithm(found[0])
    return Circle(algorithm, setting.excess(algorithm.teachers), setting.n // algorithm.teachers, found[1])


def closes(setting: Setting) -> bool:
    """Say whether there is a cutoff below m; holds for all larger n and epsilon if it holds for one."""
    return least_fixpoint(setting.next_cutoff, setting.m) is not None


def obstacle(setting: Setting) -> str:
    """Say why no cutoff closes the circle, and which quantity would have to grow, or fall, to what."""
    s, ways = setting, []
    refused = f"No cutoff below m = {s.m} questions pays for itself, so nothing is promised"
    if not perfect_teachers_close(s):
        if (m := smallest(lambda m: perfect_teachers_close(replace(s, m=int(m))), s.m, FARTHEST)) is not None:
            ways.append(f"m would have to grow to about {round_up(m):g}")
        if perfect_teachers_close(replace(s, gamma=0.0)):
            ways.append(f"gamma would have to fall from {s.gamma:g} to about {most_noise(s):.4f}")
        both = "gamma would have to fall below 1/3 and m to grow"
        return f"{refused}, not even for perfect teachers: {', or '.join(ways) or both}."
    if (n := smallest(lambda n: closes(replace(s, n=int(n))), s.n, FARTHEST)) is not None:
        ways.append(f"n would have to grow from {s.n} to about {round_up(n):g}")
    most = LARGEST_EPSILON if s.constants == Constants.derived else largest_proved(s.delta)
    if (epsilon := smallest(lambda e: closes(replace(s, epsilon=e)), s.epsilon, most)) is not None:
        ways.append(
            f"epsilon from {s.epsilon:g} to about {round_up(epsilon):g} at delta {s.delta:g} "
            f"(adjacency: {ADJACENCY}; unit: {UNIT})"
        )
    return f"{refused}: {', or '.join(ways) or f'n would have to grow beyond {FARTHEST:g}'}."


def perfect_teachers_close(setting: Setting) -> bool:
    """Say whether there were a cutoff below m if every teacher were as good as the best of the class."""
    return count_contested(setting.m, setting.gamma, setting.beta / 2) < setting.m


def smallest(enough: Callable[[float], bool], start: float, most: float) -> float | None:
    """Return a value above `start` that is enough, hardly above the smallest such; None if `most` is not enough."""
    low, high = start, min(2 * start, most)
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def round_up(value: float) -> float:
    """Round a positive number up to three significant digits, so that what was enough stays enough.

    Examples
    --------
    >>> round_up(12341.0), round_up(0.123)
    (12400.0, 0.123)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.3g}")


def most_noise(setting: Setting) -> float:
    """Return a gamma for which perfect teachers close the circle, hardly below the largest, of four decimals."""
    tried = (tenths / 10**4 for tenths in range(int(setting.gamma * 10**4), -1, -1))
    return next((g for g in tried if perfect_teachers_close(replace(setting, gamma=g))), 0.0)
