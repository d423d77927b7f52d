"""Training small teachers on a public, labelled sample: the learner's curve and its votes, before any plan."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.measured import CountedVotes, MeasuredVotes
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.learner import Learner
from mapl.types import Labels, OnProgress, positive_integer

TEACHERS, TEACHERS_OF_A_PLAN = 200, 400
"""How many small teachers vote, for each number of rows that votes are counted at; more to forecast one plan."""
LEARNERS = 10, 40
"""How many learners a point of the curve is averaged over, at least and at most; more where they learn from few."""
FEWEST_ROWS = 40
SMALLEST_PART, SMALLEST_SHARD = 3, 10
STEP = 2.5
"""The factor from one number of rows to the next."""
MOST_SHARED = 0.25
"""Teachers that see a larger share of the same sample are too alike to count as independent."""
LARGEST_PART = 0.8
MOST_QUESTIONS = 10_000


@dataclass(frozen=True, slots=True)
class Measurement:
    """How many learners are trained on how many rows each, and whether their votes are counted as teachers'."""

    size: int
    repeats: int
    votes: bool


def measure_votes(
    learner: Learner,
    rows: Rows,
    labels: Labels,
    *,
    n_classes: int,
    per_teacher: Sequence[float] | None = None,
    n_teachers: int = TEACHERS,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> MeasuredVotes:
    """Train small teachers on random parts of public rows, and count their errors and votes on the other rows.

    Everything here is public. A teacher that fails, or whose part holds one class, votes for the fallback class, as
    it would in a run.

    Parameters
    ----------
    per_teacher
        Numbers of rows per teacher to count votes at, where they are known; by default a few, from 10 rows to a
        quarter of the sample, and what lies between is carried over from the nearest.
    n_teachers
        How many teachers vote for each of these numbers.
    on_progress
        Called with the number of learners that are done, of `n_fits`.
    """
    positive_integer(n_teachers=n_teachers, n_classes=n_classes)
    plan = measurements(n_rows(rows), per_teacher, n_teachers)
    points: dict[int, tuple[int, int]] = {}
    counted: list[CountedVotes] = []
    for one, votes, wrong, tested in _measured(learner, rows, labels, plan, n_classes, seed, on_progress):
        before = points.get(one.size, (0, 0))
        points[one.size] = before[0] + wrong, before[1] + tested
        counted += votes
    rates = [(float(size), wrong / tested, float(tested)) for size, (wrong, tested) in sorted(points.items())]
    return MeasuredVotes(LearningCurve(_falling(rates), 1 - 1 / n_classes), n_classes, tuple(counted))


def with_votes_at(
    measured: MeasuredVotes,
    learner: Learner,
    rows: Rows,
    labels: Labels,
    per_teacher: Sequence[float],
    *,
    n_teachers: int = TEACHERS_OF_A_PLAN,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> MeasuredVotes:
    """Count votes on the same sample at further numbers of rows per teacher, those of the plans to be forecast.

    The curve stays as it is. Sizes that were counted already are not counted again.
    """
    plan = votes_wanted(measured, n_rows(rows), per_teacher, n_teachers)
    found = _measured(learner, rows, labels, plan, measured.n_classes, seed, on_progress)
    # Of two counts at one size the later, of more teachers, is the nearest.
    return replace(measured, counted=(*(one for _, votes, _, _ in found for one in votes), *measured.counted))


def votes_wanted(
    measured: MeasuredVotes, total: int, per_teacher: Sequence[float], n_teachers: int = TEACHERS_OF_A_PLAN
) -> list[Measurement]:
    """Return what `with_votes_at` still has to count."""
    known = {one.rows for one in measured.counted if one.n_teachers >= n_teachers}
    return [one for one in measurements(total, per_teacher, n_teachers) if one.votes and one.size not in known]


def _measured(
    learner: Learner,
    rows: Rows,
    labels: Labels,
    plan: Sequence[Measurement],
    n_classes: int,
    seed: int,
    on_progress: OnProgress | None,
) -> Iterator[tuple[Measurement, list[CountedVotes], int, int]]:
    """Carry measurements out: the votes, where they count, and how many predictions were wrong, of how many."""
    total = n_rows(rows)
    rng = np.random.default_rng(seed)  # parts of public rows protect nobody
    asked = np.sort(rng.permutation(total)[:MOST_QUESTIONS])
    questions, truth = learner.prepare(take(rows, asked)), np.asarray(labels, dtype=np.int64)[asked]
    done = 0
    for one in plan:
        counts = np.zeros((len(asked), n_classes), dtype=np.int64)
        wrong = tested = 0
        for _ in range(one.repeats):
            part = np.sort(rng.permutation(total)[: one.size])
            votes = _votes(learner, rows, labels, part, questions, len(asked), n_classes, int(rng.integers(2**31)))
            unseen = ~np.isin(asked, part, assume_unique=True)
            counts[np.flatnonzero(unseen), votes[unseen]] += 1
            wrong, tested = wrong + int((votes != truth)[unseen].sum()), tested + int(unseen.sum())
            done += 1
            if on_progress is not None:
                on_progress(done)
        counted = []
        if one.votes:
            voted = counts.sum(axis=1) > 0
            counted = [CountedVotes(one.size, total, one.repeats, asked[voted], counts[voted], truth[voted])]
        yield one, counted, wrong, tested


def measurements(
    total: int, per_teacher: Sequence[float] | None = None, n_teachers: int = TEACHERS
) -> list[Measurement]:
    """Return what is measured on a sample of so many rows.

    Examples
    --------
    >>> [(one.size, one.repeats) for one in measurements(1000, [100])]
    [(3, 40), (8, 40), (20, 40), (51, 40), (128, 31), (320, 12), (800, 10), (100, 200)]
    """
    if total < FEWEST_ROWS:
        raise InvalidData(
            f"The public sample has {total} rows; measuring a learner needs at least {FEWEST_ROWS} with labels. "
            f"Give a larger sample, or declare what you expect with {spell('error_at')} or {spell('agreement')}."
        )
    fewest, most = LEARNERS
    curve = [
        Measurement(size, min(max(4 * total // size, fewest), most), False)
        for size in _steps(SMALLEST_PART, LARGEST_PART * total)
    ]
    largest = int(MOST_SHARED * total)
    if per_teacher is None:
        sizes = _steps(SMALLEST_SHARD, largest)
    else:
        # A larger shard than the sample can tell of is carried over from the largest that it can.
        sizes = sorted({min(max(round(size), 1), largest) for size in per_teacher})
    if not sizes:
        raise InvalidParameter("No number of rows per teacher was given; give one or more, or leave it open.")
    return curve + [Measurement(size, n_teachers, True) for size in sizes]


def n_fits(total: int, per_teacher: Sequence[float] | None = None, n_teachers: int = TEACHERS) -> int:
    """Return how many learners will be trained, for a progress bar."""
    return sum(one.repeats for one in measurements(total, per_teacher, n_teachers))


def _steps(smallest: float, largest: float) -> list[int]:
    """Return whole numbers from the largest down in equal ratios, fewest first."""
    steps = max(int(math.log(largest / smallest, STEP) + 1e-9), 0)
    return sorted({max(int(largest / STEP**k), 1) for k in range(steps + 1)})


def _votes(
    learner: Learner,
    rows: Rows,
    labels: Labels,
    part: NDArray[np.int64],
    questions: Rows,
    n_questions: int,
    n_classes: int,
    seed: int,
) -> NDArray[np.int64]:
    """Train one teacher and return its votes, one class for every question whatever happens."""
    fallback = np.full(n_questions, FALLBACK, dtype=np.int64)
    learned = np.asarray(labels)[part]
    if len(np.unique(learned)) < 2:
        return fallback
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            votes = learner.train(take(rows, part), learned, n_classes=n_classes, seed=seed)(questions)
        except Exception:  # whatever a learner raises, a run would go on without it
            return fallback
    known = (votes >= 0) & (votes < n_classes)
    return np.where(known, votes, FALLBACK).astype(np.int64)


def _falling(points: list[tuple[float, float, float]]) -> tuple[tuple[float, float], ...]:
    """Return rates that never grow, nearest to the measured ones: neighbours that do are pooled."""
    pools: list[list[tuple[float, float, float]]] = []
    for point in points:
        pools.append([point])
        while len(pools) > 1 and _mean(pools[-1]) > _mean(pools[-2]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return tuple((size, _mean(pool)) for pool in pools for size, _, _ in pool)


def _mean(pool: list[tuple[float, float, float]]) -> float:
    return math.fsum(rate * weight for _, rate, weight in pool) / math.fsum(weight for _, _, weight in pool)
