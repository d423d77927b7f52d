"""One run of a planned mechanism in a world with a known truth: how many labels miss, how good the student is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mapl.errors import CannotCalibrate
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.mechanisms.tables.rungs import MOST_RUNGS
from mapl.noise import Coins, SeededCoins
from mapl.planning.choosing.forecast import chance_of_being_reached
from mapl.planning.choosing.limits import ladder_for
from mapl.planning.votes.sample import VoteSample
from mapl.reproduce.crowds.teachers import VotedWorld, VotingTeachers, rehearse, teach
from mapl.reproduce.worlds import ThresholdWorld
from mapl.types import ABSTAIN, Budget, Floats, Labels, State, Tallies

BUDGET = Budget(1.0, 1e-6)
LIMITS = tuple(sorted({2**i for i in range(14)} | {3 * 2**i for i in range(12)}))
"""Numbers of abstentions among which a forecast chooses."""
TEACHERS = (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
"""Numbers of teachers among which it chooses, too."""
REACH = MOST_RUNGS
"""Rungs of every ladder. A table serves any number of teachers, so all plans share them."""
REHEARSAL_SEED, CROWD_SEED, QUESTION_SEED = 1, 2, 3
REHEARSALS = 3
SPARSE = ("ladder", "lzcw21-sparse")

Samples = Sequence[VoteSample]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A calibrated mechanism, its number of teachers, and the labels that it is expected to get right."""

    mechanism: AnyMechanism
    n_teachers: int
    right: float


def plan(name: str, m: int, rehearsals: Mapping[int, Samples]) -> PlannedRun | None:
    """Return the number of teachers and the settings that are expected to get most labels right."""
    found: list[PlannedRun] = []
    for n_teachers, rehearsed_votes in rehearsals.items():
        task = Task(BUDGET, n_teachers, 2, m)
        # Only a run that can halt early suffers much from a crowd that disagrees more than expected.
        samples = rehearsed_votes if name in SPARSE else rehearsed_votes[:1]
        for mechanism in _settings(name, task):
            right = sum(expected_right(mechanism, task, sample) for sample in samples) / len(samples)
            if found and found[-1].n_teachers == n_teachers and right < found[-1].right:
                break  # a larger limit only needs larger distances from here on
            found.append(PlannedRun(mechanism, n_teachers, right))
    return max(found, key=lambda one: one.right, default=None)


def expected_right(mechanism: AnyMechanism, task: Task, sample: VoteSample) -> float:
    """Forecast the right labels among m questions that are drawn one by one.

    Each question then abstains with the same chance, so how many do is one binomial law. `mapl.planning` takes the
    number of questions of each kind as given instead, which forgets that too many hard ones may turn up.
    """
    truth = sample.truth(task.n_teachers, 2)
    assert truth is not None
    laws = mechanism.chances(sample.tallies(task.n_teachers, 2), State())
    taken = 1.0
    if hasattr(mechanism, "max_abstentions"):
        abstaining = float(np.clip(sample.weights() @ laws[:, 2], 0, 1))
        taken = float(
            chance_of_being_reached(np.array([task.n_queries]), np.array([abstaining]), mechanism.max_abstentions)[
                0
            ]
        )
    return task.n_queries * taken * float(sample.weights() @ (laws[:, :2] * truth).sum(axis=1))


def _settings(name: str, task: Task) -> Iterator[AnyMechanism]:
    limits = [limit for limit in LIMITS if limit <= task.n_queries] if name in SPARSE else [None]
    for limit in limits:
        try:
            yield _made(name, limit, task)
        except CannotCalibrate:
            return


def _made(name: str, limit: int | None, task: Task) -> AnyMechanism:
    if name == "ladder":
        assert limit is not None
        return ladder_for(BUDGET, limit, REACH)
    # None of these looks at the number of teachers, so one serves for all.
    return _calibrated(name, limit, task.n_queries)


@lru_cache(maxsize=512)
def _calibrated(name: str, limit: int | None, n_queries: int) -> AnyMechanism:
    return make(name, Task(BUDGET, 1, 2, n_queries), max_abstentions=limit)


def rehearsals(world: VotedWorld, n: int, numbers: Sequence[int]) -> dict[int, Samples]:
    """Rehearse crowds of several sizes, a few of each: some crowds disagree more than others."""
    rng = np.random.default_rng((REHEARSAL_SEED, n))
    return {k: [rehearse(world, teach(world, n, k, rng), rng) for _ in range(REHEARSALS)] for k in numbers}


def numbers_of_teachers(n: int, least_rows: int) -> list[int]:
    """Return those that leave a teacher at least so many rows."""
    return [k for k in TEACHERS if n // k >= least_rows]


def publish(mechanism: AnyMechanism, votes: Tallies, coins: Coins) -> Labels:
    """Release a label for each question; what is not reached counts as an abstention."""
    labels = mechanism.release(mechanism.start(coins), votes, coins).labels
    return np.pad(labels, (0, len(votes) - len(labels)), constant_values=ABSTAIN)


@lru_cache(maxsize=64)
def crowd_of(world: VotedWorld, n: int, n_teachers: int, number: int) -> VotingTeachers:
    """Train a crowd, kept for other mechanisms and other numbers of questions: its rows are its own."""
    return teach(world, n, n_teachers, np.random.default_rng((CROWD_SEED, n, n_teachers, number)))


def misses(world: VotedWorld, planned: PlannedRun, n: int, m: int, *, questions: int, crowds: int) -> list[float]:
    """Return for several crowds the share of questions whose label is wrong or missing.

    Each crowd answers m questions again and again, from a fresh start each time, until `questions` were asked.
    """
    shares = []
    for number in range(crowds):
        rng = np.random.default_rng((QUESTION_SEED, n, m, number))
        crowd, coins = crowd_of(world, n, planned.n_teachers, number), SeededCoins(int(rng.integers(2**62)))
        times = max(1, questions // m)
        wrong = 0
        for _ in range(times):
            X, _ = world.sample(m, rng)
            wrong += int(np.count_nonzero(publish(planned.mechanism, crowd.votes(X), coins) != world.bayes(X)))
        shares.append(wrong / (times * m))
    return shares


def students(world: ThresholdWorld, planned: PlannedRun, n: int, m: int, *, crowds: int) -> list[float]:
    """Return for several crowds the excess risk, known exactly, of the best cut on the released labels."""
    risks = []
    for number in range(crowds):
        rng = np.random.default_rng((QUESTION_SEED, n, m, number))
        crowd, coins = crowd_of(world, n, planned.n_teachers, number), SeededCoins(int(rng.integers(2**62)))
        X, _ = world.sample(m, rng)
        risks.append(world.excess_risk(student(world, X, publish(planned.mechanism, crowd.votes(X), coins))))
    return risks


def best_student(
    world: ThresholdWorld, name: str, n: int, public: Sequence[int], crowds: Mapping[int, Samples], *, half: int = 8
) -> dict[str, Any]:
    """Return the best of some numbers of public rows, as the theorems choose it: by the known truth.

    One half of the crowds chooses the number and the other half is reported, so that no lucky draw is picked.
    """
    tried = []
    for m in public:
        planned = plan(name, m, crowds)
        if planned is not None:
            risks = students(world, planned, n, m, crowds=2 * half)
            point = {"n": n, "m": m, "mechanism": name, **describe(planned, risks[half:])}
            tried.append((sum(risks[:half]), m, point))
    return min(tried)[2]


def student(world: ThresholdWorld, X: Floats, labels: Labels) -> float:
    """Return the cut that fits the labels best."""
    known = labels != ABSTAIN
    return world.erm(X[known], labels[known])


def not_private(world: ThresholdWorld, n: int, *, times: int) -> list[float]:
    """Return the excess risk of the best cut on all private rows and true labels, for comparison."""
    rng = np.random.default_rng((QUESTION_SEED, n))
    return [world.excess_risk(world.erm(*world.sample(n, rng))) for _ in range(times)]


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the exponent of the power law that fits best: the slope on a log-log scale."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def describe(planned: PlannedRun | None, measured: Sequence[float]) -> dict[str, Any]:
    """Return one measured point, and what was planned for it, as numbers for a file."""
    if planned is None:
        return {"mean": None}
    limit = getattr(planned.mechanism, "max_abstentions", None)
    return {**summary(measured), "n_teachers": planned.n_teachers, "max_abstentions": limit}


def summary(measured: Sequence[float]) -> dict[str, float]:
    """Return the mean and its standard error."""
    error = float(np.std(measured, ddof=1) / math.sqrt(len(measured)))
    return {"mean": float(np.mean(measured)), "standard_error": error}
