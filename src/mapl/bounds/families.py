"""Classes of classifiers that the bounds on single predictions know in detail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from mapl.bounds.letters import check_letters
from mapl.errors import InvalidParameter
from mapl.types import Floats


class ClassifierKind(StrEnum):
    """Which class: two on the line, or any class of a given VC dimension."""

    thresholds = "thresholds"
    intervals = "intervals"
    any = "any"


VC = {ClassifierKind.thresholds: 1, ClassifierKind.intervals: 2}


@dataclass(frozen=True, slots=True)
class Family:
    """A class of classifiers: its VC dimension, patterns, nets and teachers.

    Examples
    --------
    >>> Family.of(ClassifierKind.thresholds).vc, Family.of(ClassifierKind.any, 7).vc
    (1, 7)
    """

    kind: ClassifierKind
    vc: int

    @classmethod
    def of(cls, kind: str, vc: int | None = None) -> Family:
        """Return the family of a name; `any` needs a VC dimension, the others have their own."""
        try:
            named = ClassifierKind(kind)
        except ValueError:
            names = ", ".join(ClassifierKind)
            raise InvalidParameter(f"kind is {kind!r}; it must be one of {names}.") from None
        if named is ClassifierKind.any:
            if vc is None:
                raise InvalidParameter("kind is any and vc is not given; give the VC dimension of the class.")
            check_letters(vc=vc)
            return cls(named, vc)
        if vc not in (None, VC[named]):
            raise InvalidParameter(f"vc is {vc}; {named} have VC dimension {VC[named]}, so leave it out.")
        return cls(named, VC[named])

    def log_patterns(self, points: Floats) -> Floats:
        """Return the log of how many ways the family can label so many points, at most."""
        if self.kind is ClassifierKind.thresholds:
            return np.log(points + 1)
        if self.kind is ClassifierKind.intervals:
            return np.log(points * (points + 1) / 2 + 1)
        few = points <= self.vc
        return np.where(few, points * math.log(2), self.vc * np.log(math.e * np.maximum(points, self.vc) / self.vc))

    def log_large_differences(self, n: int, nu: Floats) -> Floats:
        """Return the log of how many sets of rows a sample must hit to be a nu-net of n rows, at most.

        Two classifiers that differ on more than nu n rows differ on some set of this list, each of which has
        M = floor(nu n) + 1 rows or more. Thresholds: blocks of M rows in order. Intervals: two blocks of M rows
        together, or one. Any class: all pairs of patterns.
        """
        rows = np.floor(nu * n) + 1
        left = np.maximum(n - rows, 0)
        if self.kind is ClassifierKind.thresholds:
            return np.asarray(np.log(left + 1))
        if self.kind is ClassifierKind.intervals:
            return np.asarray(np.log((rows - 1) * (left + 1) * left / 2 + left + 1))
        return 2 * self.log_patterns(np.asarray(float(n))) - math.log(2) + 0 * nu

    def missed(self, n: int, nu: Floats, sample: Floats) -> Floats:
        """Return the chance that a random sample of so many of n rows is no nu-net, at most (union bound)."""
        return np.exp(np.minimum(0.0, self.log_large_differences(n, nu) + sample * np.log1p(-nu)))

    def teacher_error(self, rows: Floats) -> Floats:
        """Return the expected error of a teacher on so many rows of a world without noise, at most.

        Consistent thresholds: the two gaps around the truth, 2/(N + 1); smallest intervals: 4/(N + 1) or less. Any:
        the one-inclusion predictor's d/(N + 1) (Haussler, Littlestone and Warmuth 1994).
        """
        gaps = {ClassifierKind.thresholds: 2, ClassifierKind.intervals: 4}.get(self.kind, self.vc)
        return np.minimum(1.0, gaps / (rows + 1))

    def member_error(self, rows: Floats) -> Floats:
        """Return the same for a consistent teacher that is itself of the class.

        Any class: P[error > t] <= 2 G(2N) 2^(-tN/2), integrated: (2/N)(log2(2 G(2N)) + 1/ln 2).
        """
        if self.kind is not ClassifierKind.any:
            return self.teacher_error(rows)
        held = np.maximum(rows, 1.0)
        return np.minimum(1.0, 2 / held * (self.log_patterns(2 * held) + math.log(2) + 1) / math.log(2))
