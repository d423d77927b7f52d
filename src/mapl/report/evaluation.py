"""How often the released model is right on public rows whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from mapl.errors import InvalidData
from mapl.report.calibration import Calibration
from mapl.types import Codes

Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class ClassScore:
    """One class of the test set: how many rows it has, how many were found, how often it was predicted."""

    name: str
    rows: int
    found: int
    predicted: int

    @property
    def recall(self) -> float | None:
        """The share of this class's rows that were found, or None without rows."""
        return self.found / self.rows if self.rows else None

    @property
    def precision(self) -> float | None:
        """The share of this class's predictions that are right, or None without predictions."""
        return self.found / self.predicted if self.predicted else None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Accuracy on a public labelled test set.

    ``reference`` is the accuracy of a model without privacy. It is computed from private rows, so give it only
    where these are made up or public themselves, as in a demonstration.
    """

    rows: int
    right: int
    per_class: tuple[ClassScore, ...]
    label_accuracy: float | None = None
    reference: float | None = None
    reference_name: str = "the same learner on all rows together"
    calibration: Calibration | None = None
    """How good the student's probabilities are, where it has some."""
    by_label: tuple[tuple[str, float], ...] = ()
    """The accuracy of each label's student, where rows have several; all else is about all labels together."""

    @classmethod
    def of(
        cls,
        truth: Codes,
        predicted: Codes,
        *,
        classes: Sequence[str],
        label_accuracy: float | None = None,
        reference: float | None = None,
        reference_name: str = "the same learner on all rows together",
    ) -> Self:
        """Compare predicted with true class numbers.

        Parameters
        ----------
        label_accuracy
            Share of the released labels that are right, where the truth of the public questions is known.
        """
        if truth.shape != predicted.shape or truth.ndim != 1 or not len(truth):
            raise InvalidData(
                f"There are {predicted.shape} predictions and {truth.shape} true labels; expected one of each per "
                "row, and at least one row."
            )
        return cls(
            rows=len(truth),
            right=int((truth == predicted).sum()),
            per_class=tuple(
                ClassScore(
                    name,
                    rows=int((truth == code).sum()),
                    found=int(((truth == code) & (predicted == code)).sum()),
                    predicted=int((predicted == code).sum()),
                )
                for code, name in enumerate(classes)
            ),
            label_accuracy=label_accuracy,
            reference=reference,
            reference_name=reference_name,
        )

    @property
    def accuracy(self) -> float:
        return self.right / self.rows

    @property
    def commonest(self) -> ClassScore:
        """The class that most test rows have, the first of those with equally many."""
        return max(self.per_class, key=lambda one: one.rows)

    @property
    def rarest(self) -> ClassScore:
        """The class that the fewest test rows have, of those that occur; the last of those with equally many."""
        return min(reversed([one for one in self.per_class if one.rows]), key=lambda one: one.rows)

    @property
    def majority(self) -> float:
        """The accuracy of always saying the commonest class, by which any other has to be judged."""
        return self.commonest.rows / self.rows

    @property
    def balanced(self) -> float:
        """The mean over the classes that occur of the share of their rows that was found."""
        found = [one.recall for one in self.per_class if one.recall is not None]
        return sum(found) / len(found)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval: where the accuracy on unlimited rows of this kind would lie."""
        n, z = self.rows, Z95
        middle = (self.right + z * z / 2) / (n + z * z)
        reach = z / (n + z * z) * math.sqrt(self.right * (n - self.right) / n + z * z / 4)
        return max(0.0, middle - reach), min(1.0, middle + reach)
