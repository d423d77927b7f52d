"""The values that travel through the house: budgets, private tallies, public outcomes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData, InvalidParameter

Array = NDArray[Any]
Counts = NDArray[np.integer[Any]]
Codes = NDArray[np.integer[Any]]
Labels = NDArray[np.int32]
Distances = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

OnProgress = Callable[[int], None]
"""Is told how much is done."""
ShowProgress = Callable[[str, int], AbstractContextManager[OnProgress | None]]
"""Shows what is being done, out of how much, for as long as the context lasts."""

ABSTAIN = -1
"""The label of a question that the mechanism declined to answer."""

Adjacency = Literal["add-remove", "replace-one", "labels"]
"""Which private tables are neighbours: by a unit more or less, by what a unit's records say, by their labels."""

RecordAdjacency = Literal["add-remove", "replace-one"]
"""The same where every record is a unit: one more or less, or one replaced."""

RECORD = "record"
"""What plans call the unit of a table without a column of ids: every record by itself."""

ADJACENCY = "one teacher's votes change arbitrarily on any number of questions"
UNIT = "one teacher, that is everything in one shard of the private data"

MAX_TEACHERS = 2**31 - 1


class Silent:
    """A private value: its repr says what it is and nothing of what it holds."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be learned about one privacy unit: (epsilon, delta), partially ordered."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (_is_number(self.epsilon) and self.epsilon > 0):
            raise InvalidParameter(
                f"epsilon is {_shown(self.epsilon)}; it must be a positive number, usually between 0.1 and 10."
            )
        if not (_is_number(self.delta) and 0 <= self.delta < 1):
            raise InvalidParameter(
                f"delta is {_shown(self.delta)}; it must lie in [0, 1), well below one over the number of people."
            )

    def __le__(self, other: Budget) -> bool:
        return self.epsilon <= other.epsilon and self.delta <= other.delta


class Stable(Protocol):
    """A block of questions that each bring a value and its distance to instability.

    The contract that every proof uses: for neighbouring data the distances differ by at most one,
    and where the values differ both distances are zero.
    """

    @property
    def values(self) -> Labels: ...

    @property
    def distances(self) -> Distances: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, repr=False)
class StableAnswers:
    """Values and distances of arbitrary stable queries, computed by whoever owns the queries."""

    values: Labels
    distances: Distances

    def __post_init__(self) -> None:
        if self.values.shape != self.distances.shape or self.values.ndim != 1:
            raise InvalidData("Values and distances must be two one-dimensional arrays of the same length.")
        if self.distances.size and self.distances.min() < 0:
            raise InvalidData("A distance to instability is never negative; clip it at zero.")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"StableAnswers({len(self)} questions, private)"


def instability(counts: Counts) -> tuple[Labels, Distances]:
    """Return each row's winner and how many teachers can change their vote without changing it.

    Ties go to the lowest class index. Ordering the classes by (count, lower index first) makes the
    two best enough: a challenger y overtakes the winner a once ``n_y + [y < a]`` exceeds ``n_a``,
    and every changed vote closes that gap by two.
    """
    n_classes = counts.shape[1]
    best = np.full(len(counts), -1, dtype=np.int64)
    second = best.copy()
    for y in range(n_classes):
        key = counts[:, y].astype(np.int64)
        key *= n_classes
        key += n_classes - 1 - y
        np.maximum(second, np.minimum(best, key), out=second)
        np.maximum(best, key, out=best)
    top, winner = np.divmod(best, n_classes)
    runner_up, challenger = np.divmod(second, n_classes)
    # Both remainders count down from the last class, so a larger one is a lower index.
    top -= runner_up
    top -= challenger > winner
    top //= 2
    return (n_classes - 1 - winner).astype(np.int32), top


@dataclass(frozen=True, slots=True, repr=False)
class Tallies:
    """Vote counts of K teachers on a block of questions: private, and silent about it."""

    counts: Counts
    _stable: list[tuple[Labels, Distances]] = field(default_factory=list)

    @classmethod
    def checked(cls, counts: NDArray[Any]) -> Tallies:
        """Accept whole, non-negative counts whose rows have one common total; refuse anything else."""
        if counts.ndim != 2 or counts.shape[0] == 0:
            raise InvalidData(
                f"Vote counts have shape {counts.shape}; expected one row per question and one column per "
                "class, with at least one row."
            )
        if counts.shape[1] < 2:
            raise InvalidData("Vote counts have one column; at least two classes are needed.")
        if counts.dtype.kind not in "iuf":
            raise InvalidData(f"Vote counts are of type {counts.dtype}; expected whole numbers.")
        if counts.dtype.kind == "f":
            if not np.isfinite(counts).all():
                raise InvalidData("Vote counts contain NaN or infinity; every count must be a whole number.")
            if not (np.trunc(counts) == counts).all():
                raise InvalidData(
                    "Vote counts contain fractions; give counts, not shares (multiply by the number of teachers)."
                )
        if counts.min() < 0:
            raise InvalidData("Vote counts contain negative numbers; every count must be zero or more.")
        if counts.max() > MAX_TEACHERS:
            raise InvalidData(f"Vote counts exceed {MAX_TEACHERS}, the most teachers mapl counts.")
        whole = counts.astype(np.int64) if counts.dtype.kind == "f" or counts.dtype.byteorder == ">" else counts
        totals = whole.sum(axis=1, dtype=np.int64)
        if (totals != totals[0]).any():
            raise InvalidData(
                "The rows of the vote counts have different totals; every teacher must vote exactly once on "
                "every question (a teacher that fails casts a fixed vote)."
            )
        if totals[0] > MAX_TEACHERS:
            raise InvalidData(f"The vote counts sum to more than {MAX_TEACHERS}, the most teachers mapl counts.")
        if totals[0] == 0:
            raise InvalidData("The vote counts are all zero; there must be at least one teacher.")
        return cls(whole)

    @property
    def n_teachers(self) -> int:
        return int(self.counts[0].sum(dtype=np.int64))

    @property
    def n_classes(self) -> int:
        return int(self.counts.shape[1])

    @property
    def values(self) -> Labels:
        return self._winners_and_distances()[0]

    @property
    def distances(self) -> Distances:
        return self._winners_and_distances()[1]

    def _winners_and_distances(self) -> tuple[Labels, Distances]:
        if not self._stable:
            self._stable.append(instability(self.counts))
        return self._stable[0]

    def first(self, n: int) -> Tallies:
        return Tallies(self.counts[:n])

    def part(self, start: int, stop: int) -> Tallies:
        return Tallies(self.counts[start:stop])

    def blocks(self, rows: int = 1 << 14) -> Iterator[Tallies]:
        """Yield consecutive blocks small enough to stay in the processor's cache."""
        for start in range(0, len(self), rows):
            yield Tallies(self.counts[start : start + rows])

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return f"Tallies({len(self)} questions, {self.n_classes} classes, private)"


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Mechanism state that must never be published, such as a drawn threshold."""

    value: int

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True, slots=True)
class State:
    """Where a run stands: public counters, and at most one secret that stays in the private half."""

    answered: int = 0
    abstained: int = 0
    halted: bool = False
    secret: Secret | None = None

    def after(self, answered: int, abstained: int, *, halted: bool, secret: Secret | None = None) -> State:
        """Count what a block published."""
        return replace(
            self,
            answered=self.answered + answered,
            abstained=self.abstained + abstained,
            halted=self.halted or halted,
            secret=secret,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a mechanism publishes for a block: a label or ABSTAIN for each question it took.

    ``labels`` is shorter than the block when the mechanism halted. ``fallback`` marks answers that
    came from a mechanism's second stage, which is public too.
    """

    labels: Labels
    state: State
    fallback: Flags | None = None


def _is_number(value: Any) -> bool:
    """Say whether a value is a number that a float holds; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, float) or abs(value) <= sys.float_info.max


def _shown(value: Any) -> str:
    """Return a setting as text, unless it is a number of hundreds of digits; what is text already, in quotes."""
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number beyond all bounds"
    return repr(value) if isinstance(value, str) else str(value)


def finite_positive(**settings: float) -> None:
    """Refuse settings that are not finite positive numbers, by name."""
    for name, value in settings.items():
        if not (_is_number(value) and math.isfinite(value) and value > 0):
            raise InvalidParameter(f"{name} is {_shown(value)}; it must be a finite number above zero.")


def positive_integer(**settings: int) -> None:
    """Refuse settings that are not whole numbers of at least one, by name."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidParameter(f"{name} is {_shown(value)}; it must be a whole number of at least 1.")
