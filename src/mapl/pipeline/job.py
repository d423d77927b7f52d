"""A run as it is carried out: its files, what is declared about them, who learns, and where results go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mapl import __version__
from mapl.data.classes import Classes
from mapl.data.schema import Schema
from mapl.data.shards import ShardKey
from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.pipeline.cells import Counted
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.inputs import Declared, PublicRows, fingerprint
from mapl.pipeline.label import Labelled
from mapl.planning.plan import Plan
from mapl.students.active import Active
from mapl.students.student import Student
from mapl.teachers.described import described
from mapl.types import ABSTAIN

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None] | None]]
"""Shows a progress bar for a named work of so many steps."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The files of a run, and what is declared about them."""

    private: Path
    label: str
    public: Path | None = None
    label_private: bool = False
    unit: str | None = None
    classes: Classes | None = None
    schema: Schema | None = None
    groups: tuple[str, ...] = ()
    test: Path | None = None

    def __post_init__(self) -> None:
        if (self.public is None) != self.label_private:
            raise InvalidParameter(
                "Public rows are needed to ask the teachers about: give a table of unlabelled rows with --public, "
                "or --label-private where the features of the private table are public themselves (not both)."
            )


@dataclass(frozen=True, slots=True)
class Learners:
    """Who teaches and who learns, by their names and as what they are; without a teacher, the default one."""

    teacher: Any = None
    student: Any = None
    strategy: str | Active = "auto"
    time_limit: float | None = None
    n_jobs: int = -1

    @property
    def wants_teachers(self) -> str | None:
        """What was asked for that only teachers have, if anything."""
        if self.teacher is not None:
            return "a learner"
        return None if self.strategy == "auto" else "a strategy of the student"

    @property
    def active(self) -> Active | None:
        """How questions are chosen, None where all public rows are asked."""
        if isinstance(self.strategy, Active):
            return self.strategy
        return Active() if self.strategy == Active.name else None


@dataclass(frozen=True, slots=True)
class Learned:
    """A finished run; everything here is public. Without a released label there is no student."""

    labelled: Labelled
    student: Student | None
    declared: Declared
    questions: PublicRows
    counted: Counted | None = None

    @property
    def label_accuracy(self) -> float | None:
        """The share of released labels that are right, where the public rows came with labels of their own."""
        truth, labels = self.questions.truth, self.labelled.labels
        given = labels != ABSTAIN
        return None if truth is None or not given.any() else float((labels == truth)[given].mean())


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from. The private table is read only when everything else has been found in order."""

    declared: Declared
    questions: PublicRows
    private: Callable[[], PrivateTable]


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a run works with, whichever way it goes."""

    tables: Tables
    learners: Learners
    folder: RunFolder
    source: Source
    key: ShardKey
    coins: Coins
    progress: Progress
    on_warning: Callable[[str], None]

    def warn(self, words: str | None) -> None:
        """Pass on what a user should think about, if anything."""
        if words is not None:
            self.on_warning(words)

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the public settings of the run."""
        strategy = self.learners.strategy
        return {
            **more,
            "student": _named(self.learners.student),
            "strategy": strategy if isinstance(strategy, str) else strategy.name,
            "label": self.source.declared.label,
            "groups": list(self.tables.groups),
        }

    def same(self, plan: Plan, settings: Mapping[str, Any], learner: Any) -> dict[str, object]:
        """Return what a resumed run must have in common with the one that was killed.

        Had it read the tables otherwise, votes of teachers from two different partitions would be counted together,
        and one unit could have two of them.
        """
        public = self.tables.public
        return {
            "plan": plan.digest,
            "version": __version__,
            "table": fingerprint(self.tables.private),
            "public": None if public is None else fingerprint(public),
            "columns": hashlib.sha256(self.source.declared.schema.to_json().encode()).hexdigest(),
            "unit": self.source.declared.unit,
            **settings,
            # Their names are published; their settings may name local paths and stay in the private half.
            "learner": described(learner),
            "student": described(self.learners.student),
        }


def _named(student: Any) -> str:
    return "auto" if student is None else student if isinstance(student, str) else type(student).__name__
