"""Expected votes: the model of noisy scores against a simulation of it, against real votes, and its limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.planning.votes.agreement import Agreement
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.model import ExpectedVotes, expect_votes, with_luck
from mapl.planning.votes.scores import ScoreModel, correlation_of

VOTES = Path(__file__).parents[2].parent / "shared" / "data" / "votes"
CURVE = LearningCurve.parse("100:0.20,1000:0.16")


def leads(votes: ExpectedVotes) -> np.ndarray:
    shares = np.array([share for share, _ in votes.agreement.groups])
    return shares - (1 - shares if votes.agreement.runners_up is None else np.array(votes.agreement.runners_up))


def mean_lead(votes: ExpectedVotes) -> float:
    return float(votes.agreement.weights() @ leads(votes))


@pytest.mark.parametrize("n_classes", [2, 3, 10, 40])
@pytest.mark.parametrize("rows", [1, 30, 100, 5000])
def test_votes_are_sound(rows: int, n_classes: int) -> None:
    votes = expect_votes(CURVE, rows, 250, n_classes)
    assert float(votes.agreement.weights().sum()) == pytest.approx(1)
    assert len(votes.right) == len(votes.agreement.groups) <= 40
    assert all(0 <= r <= 1 for r in votes.right)
    assert (leads(votes) >= -1e-9).all()
    sample = votes.sample(250, n_classes)
    counts = sample.tallies(250, n_classes).counts
    assert (counts.sum(axis=1) == 250).all()
    truth = sample.truth(250, n_classes)
    assert truth is not None
    assert truth.sum(axis=1).max() <= 1 + 1e-9


def test_more_rows_make_teachers_agree_and_the_winner_is_as_good_as_one_learner_on_all_rows() -> None:
    made = [expect_votes(CURVE, rows, 200, 2) for rows in (20, 100, 500, 2500, 10**6)]
    assert [mean_lead(v) for v in made] == sorted(mean_lead(v) for v in made)
    for rows, votes in zip((20, 100, 500), made, strict=False):
        # K teachers are lucky or not, which costs a little of what the whole ensemble could do.
        assert 0 <= 1 - CURVE.error(rows * 200) - votes.plurality_accuracy < 0.01


def test_teachers_may_agree_while_labels_are_noisy() -> None:
    """A learner that cannot improve agrees with itself; what it gets wrong is noise."""
    votes = expect_votes(LearningCurve.parse("100:0.2,1000:0.2"), 500, 100, 2)
    assert mean_lead(votes) > 0.99
    assert votes.plurality_accuracy == pytest.approx(0.8, abs=0.005)


def test_perfect_and_useless_learners() -> None:
    perfect = expect_votes(LearningCurve.parse("10:0"), 10, 50, 3)
    assert mean_lead(perfect) == pytest.approx(1, abs=0.01)
    assert perfect.plurality_accuracy == pytest.approx(1)
    useless = expect_votes(LearningCurve.parse("10:0.5"), 10, 50, 2)
    assert useless.plurality_accuracy == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_model_is_what_it_says(n_classes: int) -> None:
    """Scores, teachers and labels drawn as the model says: a teacher's error, the winner's lead and accuracy."""
    rng = np.random.default_rng(1)
    teacher, label, n, k = 0.9, 0.95, 6000, 60
    scores = rng.standard_normal((n, n_classes))

    def views(correlation: float, size: tuple[int, ...]) -> np.ndarray:
        return scores * correlation + np.sqrt(1 - correlation**2) * rng.standard_normal((*size, n, n_classes))

    labels = views(label, ()).argmax(axis=-1)
    counts = np.zeros((n, n_classes), dtype=int)
    wrong = 0.0
    for _ in range(k):
        votes = views(teacher, ()).argmax(axis=-1)
        counts[np.arange(n), votes] += 1
        wrong += float((votes != labels).mean()) / k
    noise = float((scores.argmax(axis=1) != labels).mean())
    assert correlation_of(wrong, n_classes) == pytest.approx(teacher * label, abs=0.01)
    assert correlation_of(noise, n_classes) == pytest.approx(label, abs=0.01)
    found = expect_votes(LearningCurve(((10, wrong), (600, noise)), 1 - 1 / n_classes), 10, k, n_classes)
    top = -np.sort(-counts, axis=1)[:, :2] / k
    assert mean_lead(found) == pytest.approx(float((top[:, 0] - top[:, 1]).mean()), abs=0.02)
    assert found.plurality_accuracy == pytest.approx(float((counts.argmax(axis=1) == labels).mean()), abs=0.01)


@pytest.mark.parametrize("chance", [0.5, 0.6, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("n_teachers", [20, 100, 1000])
def test_luck_is_binomial(chance: float, n_teachers: int) -> None:
    one = np.array([1.0])
    votes = with_luck(ScoreModel(chance * one, (1 - chance) * one, one, 0 * one, one), n_teachers, 2)
    drawn = np.random.default_rng(0).binomial(n_teachers, chance, 100_000) / n_teachers
    mean = sum(share * weight for share, weight in votes.agreement.groups)
    assert mean == pytest.approx(float(np.maximum(drawn, 1 - drawn).mean()), abs=0.25 / n_teachers + 0.002)


def test_real_votes_on_adult_are_near_to_the_model() -> None:
    """Given the error of one teacher and of the winner, shares of 250 real teachers are met to 0.01 on average."""
    if not VOTES.is_dir():
        pytest.skip("needs ../shared/data/votes")
    counts = np.load(VOTES / "adult_250_teachers.npy")
    truth = np.load(VOTES / "adult_labels.npy").astype(int)
    alone = 1 - float(counts[np.arange(len(truth)), truth].mean()) / 250
    together = 1 - float((counts.argmax(axis=1) == truth).mean())
    found = expect_votes(LearningCurve(((100, alone), (25_000, together))), 100, 250, 2)
    real = np.quantile(counts.max(axis=1) / 250, (np.arange(600) + 0.5) / 600)
    shares = np.array([share for share, _ in found.agreement.groups])
    ends = np.cumsum(found.agreement.weights()) - found.agreement.weights() / 2
    model = np.interp((np.arange(600) + 0.5) / 600, 1 - ends[::-1], shares[::-1])
    assert np.abs(real - model).mean() < 0.01
    sure = counts.max(axis=1) / 250
    for low, high in ((0.55, 0.65), (0.75, 0.85), (0.95, 0.99)):
        group = (sure >= low) & (sure < high)
        near = (shares >= low) & (shares < high)
        right = np.average(np.array(found.right)[near], weights=found.agreement.weights()[near])
        assert right == pytest.approx(float((counts.argmax(axis=1) == truth)[group].mean()), abs=0.03)


def test_a_typed_agreement_is_taken_as_calibrated() -> None:
    votes = ExpectedVotes.typed(Agreement.parse("0.9:3,0.6:1"))
    assert votes.right == (0.9, 0.6)
    assert votes.plurality_accuracy == pytest.approx(0.825)


def test_a_beta_law_can_be_asked_for() -> None:
    votes = expect_votes(CURVE, 100, 250, 2, spread=3.0)
    wide = expect_votes(CURVE, 100, 250, 2, spread=0.5)
    assert mean_lead(wide) > mean_lead(votes)
    with pytest.raises(InvalidParameter, match="spread"):
        expect_votes(CURVE, 100, 250, 2, spread=0)


@pytest.mark.parametrize(
    ("rows", "teachers", "classes"), [(0, 10, 2), (float("nan"), 10, 2), (10, 0, 2), (10, 10, 1)]
)
def test_senseless_questions_are_refused(rows: float, teachers: int, classes: int) -> None:
    with pytest.raises(InvalidParameter):
        expect_votes(CURVE, rows, teachers, classes)


def test_many_teachers_and_rows_are_no_trouble() -> None:
    assert expect_votes(CURVE, 1e12, 10**6, 2).plurality_accuracy == pytest.approx(1 - CURVE.floor, abs=0.01)
