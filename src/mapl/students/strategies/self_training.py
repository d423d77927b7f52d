"""The self-training student: it labels the unanswered rows itself, the surest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.students.fitting import Learning, fit_model, hand_over, predict_codes
from mapl.students.lesson import Lesson
from mapl.types import Flags, positive_integer


@dataclass(frozen=True, slots=True)
class SelfTraining:
    """Learn from the released labels, then again from them and the student's own guesses for the rest.

    Round r of R takes the surest r/R of the guesses in each class. Ranking instead of a probability threshold
    is on purpose: labels that are 60 to 80% right keep every probability low, also where the guess is good.
    A learner that does not say how sure it is has all its guesses taken at once.
    """

    rounds: int = 3
    name: ClassVar[str] = "self-training"

    def __post_init__(self) -> None:
        positive_integer(rounds=self.rounds)

    def fit(self, learning: Learning, lesson: Lesson) -> Any:
        model = fit_model(learning, lesson)
        rest = np.flatnonzero(~lesson.answered)
        if not rest.size:
            return model
        unanswered = lesson.part(rest).rows
        codes = lesson.codes
        for turn in range(1, self.rounds + 1):
            guesses = predict_codes(model, unanswered, lesson.classes)
            sure = _surest(guesses, _certainty(model, unanswered), turn / self.rounds)
            before, codes = codes, lesson.codes.copy()
            codes[rest[sure]] = guesses[sure]
            if np.array_equal(before, codes):
                break
            model = fit_model(learning, lesson.relabelled(codes))
        return model


def _certainty(model: Any, rows: Any) -> NDArray[np.float64] | None:
    """Return how sure the model is of each guess, or None where it does not say."""
    rows = hand_over(model, rows)
    if hasattr(model, "predict_proba"):
        return np.asarray(np.max(model.predict_proba(rows), axis=1), dtype=np.float64)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(rows), dtype=np.float64)
        if scores.ndim == 1:
            return np.abs(scores)
        best = np.sort(scores, axis=1)[:, -2:]
        return np.asarray(best[:, 1] - best[:, 0])
    return None


def _surest(guesses: NDArray[np.int64], certainty: NDArray[np.float64] | None, share: float) -> Flags:
    """Mark the surest share of the guesses in each class, so that a rare class is not crowded out."""
    taken = guesses >= 0
    if certainty is None:
        return np.asarray(taken)
    for code in np.unique(guesses[taken]):
        members = np.flatnonzero(guesses == code)
        order = members[np.argsort(-certainty[members], kind="stable")]
        taken[order[int(np.ceil(share * len(order))) :]] = False
    return np.asarray(taken)
