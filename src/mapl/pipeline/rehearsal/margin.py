"""Measuring noise conditions: many small teachers on PUBLIC labelled rows, and how clearly they vote.

Nothing here is private, nor may the rows be: what comes of them is printed as it is.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc

from mapl.data.encoding.choice import encoder_for, for_teachers
from mapl.data.reading.entries import texts
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, check_rows, column, n_rows, names, take
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.rehearsal.regression_function import RegressionFunction, regression_function
from mapl.pipeline.runs.inputs import declare, take_public_rows
from mapl.planning.votes.halving import FEWEST_TEACHERS
from mapl.planning.votes.noise_conditions import MarginCurve, TsybakovFit, fit_tsybakov
from mapl.teachers import Ballot, as_learner, rehearse
from mapl.teachers.workers.dispatch import bench, replies
from mapl.teachers.workers.worker import VOTE
from mapl.types import Counts, Integers, Labels, OnProgress

HELD_OUT = 0.3
MOST_QUESTIONS = 5_000
FEWEST_QUESTIONS = 50
SMALLEST_SIZE = 2
MOST_SHARED = 0.25
"""Teachers that learn from a larger share of the same rows are too alike to count as independent."""
MOST_TEACHERS = 10_000
MOST_SIZES = 20
MOST_CLASSES = 100
WITHOUT_TAU = (
    "tau cannot be told: it is about two classes (Definition 3 of Liu et al. goes by the chance of one of two "
    "labels). Measure one class against the others, in a column that says so"
)


@dataclass(frozen=True, slots=True)
class MeasuredSize:
    """What teachers trained on so many rows did on the held-out rows.

    Parameters
    ----------
    teacher_error
        How often one of them is wrong, on average.
    vote_error
        How often the winner of their vote is wrong.
    apart
        Whether no row taught two of them; otherwise they share some, and look more alike than they are.
    """

    size: int
    curve: MarginCurve
    teacher_error: float
    vote_error: float
    apart: bool


@dataclass(frozen=True, slots=True)
class MeasuredMargin:
    """Margin curves for several sizes, and the Tsybakov parameter or why it is unknown.

    Parameters
    ----------
    regression_by, resolution
        Which model estimated r(x), and how far it is off; None where there are more than two classes.
    """

    learner: str
    classes: tuple[str, ...]
    n_teachers: int
    n_taught_from: int
    n_questions: int
    sizes: tuple[MeasuredSize, ...]
    tsybakov: TsybakovFit | None
    without_tau: str
    regression_by: str | None
    resolution: float | None


@dataclass(frozen=True, slots=True)
class MarginWish:
    """How many teachers to train on which numbers of rows; refuses what cannot be measured.

    Examples
    --------
    >>> MarginWish.parse("100,50").sizes
    (50, 100)
    """

    sizes: tuple[int, ...]
    n_teachers: int = 200

    def __post_init__(self) -> None:
        if not self.sizes or len(self.sizes) > MOST_SIZES or min(self.sizes) < SMALLEST_SIZE:
            raise InvalidParameter(
                f"The sizes are {','.join(map(str, self.sizes))}; give 1 to {MOST_SIZES} numbers of rows of at "
                f"least {SMALLEST_SIZE}, such as 50,100,200,500."
            )
        if not FEWEST_TEACHERS <= self.n_teachers <= MOST_TEACHERS:
            raise InvalidParameter(
                f"There are to be {self.n_teachers} teachers; give {FEWEST_TEACHERS} to {MOST_TEACHERS}, and "
                "better 200: half of them name the winner of a question, the others measure its lead."
            )

    @classmethod
    def parse(cls, text: str, n_teachers: int = 200) -> MarginWish:
        """Read sizes separated by commas; one given twice counts once."""
        try:
            sizes = tuple(sorted({int(part) for part in text.split(",")}))
        except ValueError:
            raise InvalidParameter(
                f"The sizes are {text!r}; write numbers of rows separated by commas, such as 50,100,200,500."
            ) from None
        return cls(sizes, n_teachers)

    def split(self, total: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Return the rows that teach and those that are asked, or say that there are too few."""
        n_asked = min(MOST_QUESTIONS, int(HELD_OUT * total))
        most = int(MOST_SHARED * (total - n_asked))
        if n_asked < FEWEST_QUESTIONS or self.sizes[-1] > most:
            fewest = max(
                self.sizes[-1] / MOST_SHARED / (1 - HELD_OUT), FEWEST_QUESTIONS / HELD_OUT
            )  # enough, if not the least where questions are many
            raise InvalidData(
                f"There are {total} public rows, of which {total - n_asked} teach and {n_asked} are asked; "
                f"teachers of {self.sizes[-1]} rows would share too many of them. Give sizes of at most {most}, or "
                f"about {int(np.ceil(fewest))} rows."
            )
        order = rng.permutation(total)
        return np.sort(order[n_asked:]), np.sort(order[:n_asked])


def measure(
    table: Rows,
    wish: MarginWish,
    *,
    label: str,
    learner: Any,
    classes: Classes | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    on_progress: OnProgress | None = None,
) -> MeasuredMargin:
    """Train teachers on independent parts of PUBLIC rows of each size, and count their votes on held-out rows.

    Parameters
    ----------
    table
        Public rows with labels of two or more classes.
    learner
        The name of a preset, or any learner (`mapl.teachers.as_learner`).
    classes
        The classes of the private table, some of which public rows may not have; those of the rows if None.
    on_progress
        Called with the number of teachers that have voted, of all sizes together.
    """
    table = check_rows(table, "public rows")
    if label not in (names(table) or ()):
        raise InvalidData(
            f"The public rows have no column {label!r}; name the column of their labels with {spell('label')}."
        )
    n_classes = len(pc.unique(texts(column(table, label))).drop_null()) if classes is None else len(classes)
    if n_classes > MOST_CLASSES:
        raise InvalidData(
            f"The column {label!r} has {n_classes} classes; margins are measured for 2 to {MOST_CLASSES}. Name "
            f"another column with {spell('label')}, or measure one class against the others, in a column that says "
            "so."
        )
    given = declare(table, label=label, classes=classes, unit=None, schema=None)
    public = take_public_rows(table, given)
    assert public.truth is not None
    rng = np.random.default_rng(seed)  # splits public rows; it protects nobody
    teaching, asked = wish.split(n_rows(public.rows), rng)
    taught, labels = take(public.rows, teaching), public.truth[teaching]
    questions, truth = take(public.rows, asked), public.truth[asked]
    if len(np.unique(labels)) < 2:
        raise InvalidData(f"Nearly all rows of {label!r} have one class; give rows with enough of the others.")
    encoder = encoder_for(given.schema, taught)
    chosen = as_learner(learner, given.classes, given.schema, for_teachers(encoder))
    rehearse(chosen, questions, n_classes, n_jobs=n_jobs)
    parts = [_parts(len(labels), size, wish.n_teachers, rng) for size in wish.sizes]
    counts = _polled(
        chosen,
        [part for some in parts for part in some],
        taught,
        labels,
        questions,
        n_classes=n_classes,
        n_sizes=len(parts),
        n_jobs=n_jobs,
        on_progress=on_progress,
    )
    estimated = (
        regression_function(taught, labels, questions, truth, schema=given.schema, encoder=encoder)
        if n_classes == 2
        else None
    )
    fitted, reason = (None, WITHOUT_TAU) if estimated is None else _fitted(estimated)
    return MeasuredMargin(
        chosen.name,
        given.classes.names,
        wish.n_teachers,
        len(teaching),
        len(asked),
        tuple(
            _measured(size, one, truth, apart=size * wish.n_teachers <= len(labels))
            for size, one in zip(wish.sizes, counts, strict=True)
        ),
        fitted,
        reason,
        None if estimated is None else estimated.learner,
        None if estimated is None else estimated.resolution,
    )


def _fitted(estimated: RegressionFunction) -> tuple[TsybakovFit | None, str]:
    try:
        return fit_tsybakov(estimated.estimates, resolution=estimated.resolution), ""
    except InvalidData as refusal:
        return None, str(refusal)


def _parts(total: int, size: int, n_teachers: int, rng: np.random.Generator) -> list[Integers]:
    """Draw the rows of each teacher: disjoint where there are enough, otherwise each drawn by itself."""
    if size * n_teachers <= total:
        return [np.sort(part) for part in rng.permutation(total)[: size * n_teachers].reshape(n_teachers, size)]
    return [np.sort(rng.choice(total, size, replace=False, shuffle=False)) for _ in range(n_teachers)]


def _polled(
    learner: Any,
    parts: Sequence[Integers],
    rows: Rows,
    labels: Labels,
    questions: Rows,
    *,
    n_classes: int,
    n_sizes: int,
    n_jobs: int,
    on_progress: OnProgress | None,
) -> list[Counts]:
    """Return the counts of each size. A teacher that fails votes as it would in a run."""
    n_teachers = len(parts) // n_sizes
    ballots = [Ballot(n_rows(questions), n_classes, n_teachers) for _ in range(n_sizes)]
    with (
        bench(learner, "vote", n_classes=n_classes, questions=questions) as job,
        closing(replies(job, partial(_parcel, rows, labels, parts), range(len(parts)), n_jobs)) as came,
    ):
        for done, (k, reply) in enumerate(came, start=1):
            votes = None if reply is None else np.frombuffer(reply, dtype=VOTE)
            ballots[k // n_teachers].cast(k % n_teachers, votes)
            if on_progress is not None:
                on_progress(done)
    return [ballot.tallies().counts for ballot in ballots]


def _parcel(rows: Rows, labels: Labels, parts: Sequence[Integers], k: int) -> bytes | None:
    learned = labels[parts[k]]
    if len(np.unique(learned)) < 2:
        return None
    return pickle.dumps((take(rows, parts[k]), learned), protocol=pickle.HIGHEST_PROTOCOL)


def _measured(size: int, counts: Counts, truth: Labels, *, apart: bool) -> MeasuredSize:
    right = counts[np.arange(len(truth)), truth]
    curve = MarginCurve.of_counts(counts)
    teacher_error = 1 - float(right.mean()) / curve.n_teachers
    vote_error = float(np.mean(counts.argmax(axis=1) != truth))  # ties go to the first class, as in a run
    return MeasuredSize(size, curve, teacher_error, vote_error, apart)
