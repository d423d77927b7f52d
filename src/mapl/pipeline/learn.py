"""The whole job on files: a private table in, a folder with a model that may be published out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mapl import __version__
from mapl.data.classes import Classes
from mapl.data.encoding import for_teachers, sees_spectral, shared_encoder
from mapl.data.rows import n_rows, without
from mapl.data.schema import Schema
from mapl.data.shards import ShardKey
from mapl.data.table import PrivateTable, private_table, read_table
from mapl.errors import InvalidParameter
from mapl.noise import Coins, SystemCoins
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.inputs import (
    Declared,
    PublicRows,
    declared,
    fingerprint,
    n_units,
    public_rows,
    read_private,
    split_label_private,
    test_rows,
)
from mapl.pipeline.label import Effort, Labelled, Workplace, label, shards
from mapl.pipeline.published import publish_labels, publish_student, refuse_unfit_groups
from mapl.pipeline.request import Planned, Request, planned
from mapl.release.sqlite_ledger import SqliteLedger
from mapl.students.student import Student, train_student
from mapl.students.student_file import check_storable
from mapl.teachers import as_learner, rehearse
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
    """Who teaches and who learns, by their names and as what they are."""

    teacher: Any = "logistic"
    student: Any = None
    strategy: str = "auto"
    time_limit: float | None = None
    n_jobs: int = -1


@dataclass(frozen=True, slots=True)
class Learned:
    """A finished run; everything here is public. Without a released label there is no student."""

    labelled: Labelled
    student: Student | None
    planned: Planned
    declared: Declared
    questions: PublicRows

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


@contextmanager
def no_progress(what: str, total: int) -> Iterator[None]:
    """Show nothing."""
    yield None


def learn(
    tables: Tables,
    ask: Callable[[Classes], Request],
    learners: Learners,
    folder: RunFolder,
    *,
    coins: Coins | None = None,
    progress: Progress = no_progress,
    on_plan: Callable[[Planned], None] = lambda planned: None,
) -> Learned:
    """Carry out a run, or go on with it after a crash; the files of the folder are the result.

    Parameters
    ----------
    ask
        Makes the request once the classes are known.
    on_plan
        Called with the plan before anything private is touched by a teacher.
    """
    coins = SystemCoins() if coins is None else coins
    folder.refuse_if_used()
    key = folder.read_key()
    source = _label_private(tables, key) if tables.label_private else _with_public_rows(tables)
    given, questions = source.declared, source.questions
    refuse_unfit_groups(tables.groups, given.schema)
    if tables.test is not None:
        test_rows(tables.test, given.schema, given.classes, label=given.label)
    encoder = shared_encoder(given.schema, questions.rows, (learners.teacher, learners.student))
    learner = as_learner(learners.teacher, given.classes, given.schema, for_teachers(encoder))
    rehearse(learner, questions.rows, len(given.classes), n_jobs=learners.n_jobs, time_limit=learners.time_limit)
    check_storable(
        learners.student,
        questions.rows,
        given.classes,
        schema=given.schema,
        strategy=learners.strategy,
        encoder=encoder,
    )
    request = replace(ask(given.classes), spectral=sees_spectral(learners.teacher, encoder))
    table: PrivateTable | None = None
    if request.adjacency != "add-remove" and request.n_rows is None and request.n_teachers is None:
        # Who is in the table is public under these adjacencies, and so is how many they are.
        table = source.private()
        request = replace(request, n_rows=n_units(table))
    plan = planned(request, n_rows(questions.rows))
    on_plan(plan)
    table = source.private() if table is None else table
    sharded = shards(table, key, plan.plan.n_teachers, request.adjacency)
    settings = {
        "learner": learner.name,
        "student": _named(learners.student),
        "strategy": learners.strategy,
        "label": given.label,
        "groups": list(tables.groups),
    }
    same = {"plan": plan.plan.digest, "version": __version__, **_what_shards_rest_on(tables, given), **settings}
    with folder.begun(same, key):
        with (
            SqliteLedger(folder.ledger) as ledger,
            progress("Training teachers", plan.plan.n_teachers) as on_progress,
        ):
            labelled = label(
                sharded,
                questions.rows,
                plan,
                learner,
                Workplace(ledger, folder.ballot),
                coins=coins,
                effort=Effort(learners.n_jobs, learners.time_limit, on_progress),
            )
            chain = ledger.export()
        publish_labels(
            folder,
            labelled,
            plan.plan,
            chain,
            classes=given.classes,
            schema=given.schema,
            settings=settings,
            questions=questions.rows,
            groups=tables.groups,
        )
        student = None
        if labelled.released.answered:
            student = publish_student(
                folder,
                partial(
                    train_student,
                    questions.rows,
                    labelled.labels,
                    classes=given.classes,
                    learner=learners.student,
                    strategy=learners.strategy,
                    schema=given.schema,
                    encoder=encoder,
                ),
                labelled.statement.to_json(),
            )
    return Learned(labelled, student, plan, given, questions)


def _with_public_rows(tables: Tables) -> Source:
    assert tables.public is not None
    table = read_table(tables.public, what="public rows")
    given = declared(table, label=tables.label, classes=tables.classes, unit=tables.unit, schema=tables.schema)
    return Source(given, public_rows(table, given), lambda: read_private(tables.private, given))


def _label_private(tables: Tables, key: ShardKey) -> Source:
    """Draft everything from the features, which are public; the labels wait in their column until they are read."""
    table = read_table(tables.private, what="private rows", as_text=(tables.label,))
    features = without(table, [tables.label]) if tables.label in table.column_names else table
    given = declared(features, label=tables.label, classes=tables.classes, unit=tables.unit, schema=tables.schema)
    whole = private_table(table, label=given.label, classes=given.classes, unit=given.unit, schema=given.schema)
    teaching, questions = split_label_private(whole, key)
    return Source(given, PublicRows(questions, None), lambda: teaching)


def _what_shards_rest_on(tables: Tables, given: Declared) -> dict[str, object]:
    """Return what a resumed run must have in common with the one that was killed, besides its plan.

    Had it read the tables otherwise, votes of teachers from two different partitions would be counted together, and
    one unit could have two of them.
    """
    return {
        "table": fingerprint(tables.private),
        "public": None if tables.public is None else fingerprint(tables.public),
        "columns": hashlib.sha256(given.schema.to_json().encode()).hexdigest(),
        "unit": given.unit,
    }


def _named(student: Any) -> str:
    return "auto" if student is None else student if isinstance(student, str) else type(student).__name__
