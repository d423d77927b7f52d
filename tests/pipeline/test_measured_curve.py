"""Learners measured on public rows: what is trained, and forecasts from it against runs that were simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.pipeline.rehearsal.curve import measure_votes, measurements, n_fits
from mapl.pipeline.rehearsal.student import rehearse_run
from mapl.planning.choosing.expectation import expect
from mapl.release import aggregate
from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise
from mapl.teachers import Learner, as_learner
from mapl.types import Budget, Tallies

WORLD = HalfspaceWorld(4, LabelNoise.massart(0.1))


def learner(estimator: Any, n_classes: int = 2) -> Learner:
    return as_learner(estimator, Classes(tuple(map(str, range(n_classes)))))


def gaussians(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw four classes about the corners of a square, in three columns."""
    y = rng.integers(4, size=n)
    centres = np.array([[0, 0, 0], [2.2, 0, 0], [0, 2.2, 0], [2.2, 2.2, 0]])
    return centres[y] + rng.standard_normal((n, 3)), y.astype(np.int32)


def test_curve_and_votes_are_those_of_the_world() -> None:
    X, y = WORLD.sample(4000, np.random.default_rng(0))
    done: list[int] = []
    found = measure_votes(
        learner(RidgeClassifier()), X, y, n_classes=2, per_teacher=[60], n_teachers=50, on_progress=done.append
    )
    assert done == list(range(1, n_fits(4000, [60], 50) + 1))
    # A linear rule of 60 rows and 4 columns is off by an angle of about sqrt(3 / 60) / 0.8 of the noise.
    assert 0.13 < found.curve.error(60) < 0.19
    assert found.curve.error(3000) == pytest.approx(0.1, abs=0.02)
    assert found.curve.floor == pytest.approx(0.1, abs=0.02)
    (counted,) = found.counted
    assert counted.rows == 60
    assert (counted.counts.sum(axis=1) <= 50).all()
    votes = found.votes(60, 200)
    assert votes.plurality_accuracy == pytest.approx(0.89, abs=0.02)


def test_the_same_seed_gives_the_same_figures() -> None:
    X, y = WORLD.sample(300, np.random.default_rng(0))
    first, again = (
        measure_votes(learner(RidgeClassifier()), X, y, n_classes=2, n_teachers=8, seed=3) for _ in range(2)
    )
    assert first.curve == again.curve
    assert (first.counted[0].counts == again.counted[0].counts).all()


def test_a_learner_that_fails_votes_for_the_fallback() -> None:
    def broken(X: Any, y: Any) -> Any:
        raise RuntimeError("no")

    X, y = WORLD.sample(200, np.random.default_rng(0))
    found = measure_votes(learner(broken), X, y, n_classes=2, per_teacher=[20], n_teachers=5)
    assert (found.counted[0].counts[:, 1] == 0).all()
    assert found.curve.error(20) == pytest.approx(float((y != 0).mean()), abs=0.02)


def test_what_is_measured_depends_on_the_sample() -> None:
    assert all(one.size <= 0.25 * 5000 for one in measurements(5000) if one.votes)
    assert [one.size for one in measurements(400, [1e9, 0.2, 50]) if one.votes] == [1, 50, 100]
    assert n_fits(40) > 0
    with pytest.raises(InvalidData, match="at least 40"):
        measurements(39)
    with pytest.raises(InvalidParameter, match="rows per teacher"):
        measurements(400, [])


@pytest.mark.parametrize(
    ("draw", "estimator", "n_classes", "name", "settings"),
    [
        (WORLD.sample, RidgeClassifier(alpha=0.5), 2, "ladder", {"max_abstentions": 60}),
        (gaussians, LinearDiscriminantAnalysis(), 4, "noisy-max", {}),
    ],
)
def test_forecasts_meet_simulated_runs(
    draw: Any, estimator: Any, n_classes: int, name: str, settings: dict[str, Any]
) -> None:
    """A small benchmarks/plan.py: answered within 5%, the student within two points (a sample of 4,000 rows)."""
    one = learner(estimator, n_classes)
    n_rows, n_teachers, n_queries = 8000, 100, 600
    per_teacher = n_rows / n_teachers
    task = Task(Budget(2.0, 1e-5), n_teachers, n_classes, n_queries)
    mechanism = make(name, task, **settings)
    rng = np.random.default_rng(7)
    X, y = draw(4000, rng)
    measured = measure_votes(one, X, y, n_classes=n_classes, per_teacher=[per_teacher], n_teachers=100)
    said = expect(mechanism, task, measured.votes(per_teacher, n_teachers).sample(n_teachers, n_classes))
    played = rehearse_run(one, X, y, measured, mechanism, task, per_teacher, repeats=(15, 40))
    assert played is not None

    answered, right, students = [], [], []
    fresh, truth = draw(4000, rng)
    for _ in range(2):
        private, labels = draw(n_rows, rng)
        asked, asked_truth = draw(n_queries, rng)
        counts = np.zeros((n_queries, n_classes), dtype=np.int64)
        for k in range(n_teachers):
            votes = one.train(private[k::n_teachers], labels[k::n_teachers], n_classes=n_classes, seed=0)(asked)
            counts[np.arange(n_queries), votes] += 1
        for run in range(30):
            turn = rng.permutation(n_queries)
            given = aggregate(Tallies(counts[turn]), mechanism, SeededCoins(run)).labels
            known = np.flatnonzero(given >= 0)
            answered.append(len(known))
            right.append(int((given[known] == asked_truth[turn[known]]).sum()))
            if run < 10:
                student = one.train(asked[turn[known]], given[known], n_classes=n_classes, seed=0)
                students.append(float((student(fresh) == truth).mean()))
    assert said.answered == pytest.approx(float(np.mean(answered)), rel=0.05)
    assert played.answered == pytest.approx(float(np.mean(answered)), rel=0.08)
    assert said.right is not None
    assert said.right / said.answered == pytest.approx(sum(right) / sum(answered), abs=0.03)
    assert played.student_accuracy == pytest.approx(float(np.mean(students)), abs=0.02)


def test_too_few_public_rows_to_play_a_run_through() -> None:
    X, y = WORLD.sample(300, np.random.default_rng(0))
    one = learner(RidgeClassifier())
    measured = measure_votes(one, X, y, n_classes=2, per_teacher=[20], n_teachers=10)
    task = Task(Budget(2.0, 1e-5), 50, 2, 200)
    assert rehearse_run(one, X, y, measured, make("link", task), task, 20) is None
    small = Task(Budget(0.01, 1e-5), 50, 2, 100)
    played = rehearse_run(one, X, y, measured, make("ladder", small, max_abstentions=1), small, 20, repeats=(2, 2))
    assert played is not None
    assert played.answered < 1
    assert played.student_accuracy == pytest.approx(0.5, abs=0.2)
