"""What the attacks on a rehearsed set-up have in common: somebody who is there or not, and what is seen of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from mapl.data.encoding.choice import make_shared_encoder
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows
from mapl.data.tables.schema import Schema
from mapl.noise import Coins
from mapl.students.student import train_student
from mapl.teachers import PRESETS
from mapl.types import ABSTAIN, Codes, Flags, Labels

CALM, LOUD = 0, 1
"""The class that everybody votes for who has nothing to say, and the class of canaries."""
NOTHING = -2
"""The code of what was not published: a question that was not taken, or a student that there is not."""
DEFAULT_STUDENT = "ridge"
LABELS, STUDENT, ANSWERS, COUNTS = "released labels", "student's predictions", "server's answers", "noisy counts"


class Scene(Protocol):
    """A rehearsed set-up with one target and many canaries, each of which may be there or not.

    Canaries are seen through one thing, in a single run; the target through several, run after run.
    """

    n_canaries: int
    seen_of_canaries: str
    mechanism: str
    student: str | None

    def run_with_target(self, present: bool, coins: Coins) -> Mapping[str, Codes]:
        """Carry out a run and return the codes that bear on the target, by what they are seen through."""

    def run_with_canaries(self, present: Flags, coins: Coins) -> Flags:
        """Carry out a run and guess which canaries were there."""


class Pupil:
    """The student of a set-up, trained anew on what each run released."""

    def __init__(self, questions: Rows, classes: Classes, schema: Schema, settings: Mapping[str, Any]) -> None:
        named = settings.get("student")
        # Which student it is changes no promise; what chooses among many would take minutes for all runs.
        self.learner = named if named in PRESETS else DEFAULT_STUDENT
        self.questions = questions
        self.classes = classes
        self.schema = schema
        self.encoder = make_shared_encoder(schema, questions, (self.learner,))

    def predictions(self, labels: Labels) -> Codes:
        """Return what a student of these labels says about all questions."""
        if not (labels != ABSTAIN).any():
            return np.full(len(labels), NOTHING)
        student = train_student(
            self.questions,
            labels,
            classes=self.classes,
            learner=self.learner,
            strategy="plain",
            schema=self.schema,
            encoder=self.encoder,
        )
        return student.predict_codes(self.questions)
