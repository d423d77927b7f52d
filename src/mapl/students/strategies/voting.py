"""The voting student: an ensemble in Vote_J(H), as in Theorem 13 of LZCW21."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.students.fitting import Learning, fit_model, hand_over
from mapl.students.lesson import Lesson
from mapl.teachers.learners.spelling import natural
from mapl.types import positive_integer


class Voters:
    """Models that decide by majority vote; a tie goes to the class that was declared first.

    A plain class with plain attributes, so that a student file can hold it.
    """

    takes_any_rows: ClassVar[bool] = True

    def __init__(self, members: list[Any], names: NDArray[Any]) -> None:
        self.members = members
        self.names = names

    @property
    def classes_(self) -> NDArray[Any]:
        return self.names

    def predict(self, rows: Any) -> NDArray[Any]:
        return np.asarray(self.names[self._votes(rows).argmax(axis=1)])

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return each class's share of the votes."""
        return self._votes(rows) / len(self.members)

    def _votes(self, rows: Any) -> NDArray[np.int64]:
        by_name = np.argsort(self.names)
        answers = [member.predict(hand_over(member, rows)) for member in self.members]
        ballots = [np.searchsorted(self.names, answer, sorter=by_name) for answer in answers]
        votes = np.zeros((len(ballots[0]), len(self.names)), dtype=np.int64)
        for ballot in ballots:
            votes[np.arange(len(ballot)), by_name[ballot]] += 1
        return votes


@dataclass(frozen=True, slots=True)
class Voting:
    """Train several members on bootstrap samples of the released labels and let them vote.

    What the teachers' votes teach is itself a majority vote, which the learner's own class H may not contain;
    Vote_J(H) comes closer (LZCW21, Theorem 13). The samples are drawn within each class, so every member has
    met every class.
    """

    n_voters: int = 11
    name: ClassVar[str] = "voting"

    def __post_init__(self) -> None:
        positive_integer(n_voters=self.n_voters)

    def fit(self, learning: Learning, lesson: Lesson) -> Any:
        draws = np.random.default_rng(lesson.seed)
        of_class = [np.flatnonzero(lesson.codes == code) for code in np.unique(lesson.codes[lesson.answered])]
        if len(of_class) == 1:
            return fit_model(learning, lesson)
        members = []
        for number in range(self.n_voters):
            sample = np.concatenate([draws.choice(rows, size=len(rows)) for rows in of_class])
            members.append(fit_model(learning, lesson.part(sample).reseeded(number)))
        return Voters(members, natural(lesson.classes))
