"""A student of noisy counts: who learns from what they say about public rows, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.data.reading.conform import conform
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, check_rows, is_matrix, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.students.auto import AUTO, encoders_of, learner_of_student
from mapl.students.contest import StudentCandidate, clearly_more
from mapl.students.fitting import Learning, fit_model
from mapl.students.lesson import Lesson
from mapl.students.probabilities.by_counts import scale_by_counts
from mapl.students.probabilities.scale import ScoreScale
from mapl.students.probabilities.scores import class_scores
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import Integers

HELD_OUT = 0.2
"""The share of the cells that candidates are compared on."""

N_PARTS = 2
"""On so many such shares, one after the other, probabilities are compared with counts; of images on one."""

FEWEST_CELLS = 50
STRATEGY = "counts"
TREES = "extra trees"
MANY_ROWS = 30_000
MOST_WORK = 3e7
"""Encoded entries times outputs that the slower candidates are tried on, to stay within a minute or so."""


def _extra_trees(n_labels: int) -> Any:
    """Leaves of five rows, so that none is ruled by the noise of one cell; of two where rows abound."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(60, min_samples_leaf=5 if n_labels < MANY_ROWS else 2, max_features=0.5, n_jobs=1)


def _forest(n_labels: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, min_samples_leaf=5, n_jobs=1)


def _boosting(n_labels: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=200,
        learning_rate=0.05,
        max_leaf_nodes=16,
        l2_regularization=10.0,
        max_features=0.5,
        early_stopping=False,
    )


def _logistic(n_labels: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.1, max_iter=300, tol=1e-3)


CANDIDATES = (
    StudentCandidate("boosting", _boosting, fewest_labels=300, most_work=MOST_WORK, sparse=False),
    StudentCandidate(TREES, _extra_trees),
    StudentCandidate("forest", _forest, most_work=MOST_WORK),
    StudentCandidate("logistic", _logistic, bins=True, most_work=10 * MOST_WORK),
)
"""What the default student of a table is chosen from, the most trusted first; released counts judge them.

On parts of the train splits of Adult, a9a and Credit Default boosting was the best or nearly so; extra trees were
on Mushroom, so they come first where all columns are categories, and on Covertype, where boosting takes minutes.
"""


@dataclass(frozen=True, slots=True, eq=False)
class CountStudent:
    """How a student learns from counts: who learns, and what was declared about the rows."""

    classes: Classes
    schema: Schema
    learner: Any = None
    encoder: Encoder | None = None

    def train(self, rows: Rows, rounds: tuple[Round, ...]) -> Student:
        """Train it on public rows and the counts of one round or two, which is post-processing."""
        return train_on_counts(
            TaughtByCounts(rows, rounds),
            classes=self.classes,
            schema=self.schema,
            learner=self.learner,
            encoder=self.encoder,
        )


def train_on_counts(
    taught: TaughtByCounts,
    *,
    classes: Classes,
    schema: Schema,
    learner: Any = None,
    encoder: Encoder | None = None,
    seed: int = 0,
) -> Student:
    """Train a student on public rows and the noisy counts of their cells.

    Parameters
    ----------
    learner
        A preset's name, an unfitted estimator, or None for what predicts held-out counts best.

    Notes
    -----
    Guarantee: none of its own and none needed; this is post-processing of released counts.
    """
    rows = conform(check_rows(taught.rows, "public rows"), schema, "public rows", public=True)
    taught = replace(taught, rows=rows)
    lesson = taught.lesson(classes, np.arange(n_rows(rows)), seed)
    teach = taught.lesson
    if learner is None or (isinstance(learner, str) and learner == AUTO):
        text = any(column.kind == "text" for column in schema.columns)  # beside an image; the kernel takes none
        if isinstance(encoder, PublicEncoder) and encoder.lens and not text:
            learning, teach = _on_images(encoder), taught.leading_lesson
            lesson = teach(classes, np.arange(n_rows(rows)), seed)
        else:
            learning = _chosen(taught, lesson, schema, encoder)
    else:
        learning = learner_of_student(learner, lesson, schema, encoder)
    present = np.unique(lesson.codes)
    never = [repr(name) for code, name in enumerate(classes.names) if code not in present]
    return Student(
        model=fit_model(learning, lesson),
        classes=classes,
        schema=schema,
        learner=learning.name,
        strategy=STRATEGY,
        n_labels=n_rows(rows),
        on_matrix=is_matrix(rows),
        scale=_scaled(taught, learning, teach, classes, seed),
        warnings=(f"No noisy count speaks for {', '.join(never)}; the student never predicts it.",)
        if never
        else (),
    )


def _scaled(
    taught: TaughtByCounts,
    learning: Learning,
    teach: Callable[[Classes, Integers, int], Lesson],
    classes: Classes,
    seed: int,
) -> ScoreScale | None:
    """Return what makes probabilities of scores, by counts of cells that models did not learn from.

    A few parts of the cells will do: slope and offsets are few numbers.
    """
    last = taught.rounds[-1]
    if len(last.counts) < FEWEST_CELLS:
        return None
    parts = np.random.default_rng(seed).random(len(last.counts))[last.cells]
    n_parts = 1 if teach == taught.leading_lesson else N_PARTS
    scores, where = [], []
    for number in range(n_parts):
        drawn = (number * HELD_OUT <= parts) & (parts < (number + 1) * HELD_OUT)
        unseen, seen = np.flatnonzero(drawn), np.flatnonzero(~drawn)
        if not len(unseen) or not taught.shares[seen].any():
            return None
        try:
            model = fit_model(learning, teach(classes, seen, seed))
            scores.append(class_scores(model, take(taught.rows, unseen), classes))
        except ValueError:  # a learner for which a part of the cells is too little keeps its own probabilities
            return None
        where.append(unseen)
    rows = np.concatenate(where)
    members = last.members[rows].astype(np.float64)
    deviation = last.deviation or math.sqrt(2) / last.epsilon
    return scale_by_counts(
        np.concatenate(scores), last.counts[last.cells[rows]] / members[:, None], deviation, members
    )


def _chosen(taught: TaughtByCounts, lesson: Lesson, schema: Schema, encoder: Encoder | None) -> Learning:
    """Return the learner that predicts the counts of held-out cells best."""
    learnings = _suited(lesson, schema, None if isinstance(encoder, PublicEncoder) else encoder)
    last = taught.rounds[-1]
    drawn = np.random.default_rng(lesson.seed).random(len(last.counts)) < HELD_OUT
    unseen, seen = np.flatnonzero(drawn[last.cells]), np.flatnonzero(~drawn[last.cells])
    too_few = len(last.counts) < FEWEST_CELLS or not len(unseen) or not taught.shares[seen].any()
    if too_few or len(learnings) == 1:
        return learnings[0]
    part = taught.lesson(lesson.classes, seen, lesson.seed)
    best, most = learnings[0], taught.hits(fit_model(learnings[0], part), lesson.classes, unseen)
    for one in learnings[1:]:
        hits = taught.hits(fit_model(one, part), lesson.classes, unseen)
        if clearly_more(hits, most):
            best, most = one, hits
    return best


def _suited(lesson: Lesson, schema: Schema, encoder: Encoder | None) -> list[Learning]:
    """Return the candidates that can learn from this many rows of this kind."""
    from sklearn.pipeline import Pipeline

    encoders = encoders_of(encoder, schema, len(lesson.codes))
    encoded = {bins: one.transform(lesson.rows) for bins, one in encoders.items()}
    candidates: tuple[StudentCandidate, ...] = CANDIDATES
    if all(column.kind == "category" for column in schema.columns):
        candidates = tuple(sorted(CANDIDATES, key=lambda one: one.name != TREES))  # stable: it comes first
    return [
        Learning(
            f"{AUTO}: {one.name}",
            Pipeline([("encode", encoders[one.bins]), ("model", one.build(len(lesson.codes)))]),
        )
        for one in candidates
        if one.suits(encoded[one.bins], len(lesson.classes))
    ]


def _on_images(encoder: PublicEncoder) -> Learning:
    """Return the kernel that learns from cleaned labels: each row's leading class, by how far it leads.

    It is compared with nothing: counts are cleaned with the help of all public rows, so none could be held out.
    """
    from sklearn.pipeline import Pipeline

    from mapl.students.images.kernel import KernelStudent

    model = KernelStudent(n_spectral=encoder.n_spectral)
    return Learning(f"{AUTO}: kernel on cleaned counts", Pipeline([("encode", encoder), ("model", model)]))
