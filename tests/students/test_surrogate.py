"""Balancing sums against predictions on public rows: the model that comes out agrees with the sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from mapl.students.moments.public_doubt import PublicDoubt
from mapl.students.moments.rounds import Refined, SumRound, count_units
from mapl.students.moments.surrogate import MANY, PublicBalance
from mapl.types import Floats, Singles

UNITS = 200_000


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_rounds_without_much_noise_lead_to_the_model_that_made_the_labels(n_classes: int) -> None:
    draws = np.random.default_rng(n_classes)
    public = draws.standard_normal((3000, 5)).astype(np.float32)
    public /= np.linalg.norm(public, axis=1, keepdims=True)
    counts = np.full(len(public), 1 / len(public), dtype=np.float32)
    truth = draws.standard_normal((5, n_classes))
    truth -= truth.mean(axis=1, keepdims=True)
    law = softmax(public @ truth, axis=1)
    balance, known = PublicBalance(public, counts, declared=UNITS), Refined.start(5, n_classes)
    for _ in range(3):
        beyond = law - softmax(public @ known.weights, axis=1)
        released = SumRound(UNITS * (public.T * counts) @ beyond, 1.0, float(UNITS), 1.0)
        known = balance.refine(known, released)
    assert np.abs(known.weights - truth).max() < 0.02
    assert np.abs(known.weights.sum(axis=1)).max() < 1e-9  # classes have nothing in common


def test_a_row_that_counts_twice_is_as_good_as_two() -> None:
    draws = np.random.default_rng(0)
    public = draws.standard_normal((400, 4)).astype(np.float32) / 4
    sums = draws.standard_normal((4, 3)) * 30
    released = SumRound(sums, 5.0, 4000.0, 5.0)
    counts = np.where(np.arange(400) < 100, 2, 1)
    weighed = PublicBalance(public, (counts / counts.sum()).astype(np.float32))
    repeated = np.repeat(public, counts, axis=0)
    plain = PublicBalance(repeated, np.full(len(repeated), 1 / len(repeated), dtype=np.float32))
    first, second = (one.refine(Refined.start(4, 3), released) for one in (weighed, plain))
    assert np.allclose(first.weights, second.weights, atol=1e-3)
    assert first.optimism == pytest.approx(second.optimism, rel=1e-4)


def told_by(people: Floats, truth: Floats, public: Singles, *, doubtful: bool) -> Floats:
    """Return the model of eight rounds of exact sums over people, and few public rows."""
    counts = np.full(len(public), 1 / len(public), dtype=np.float32)
    balance, known = PublicBalance(public, counts, declared=UNITS), Refined.start(*truth.shape)
    with pytest.MonkeyPatch.context() as patch:
        if not doubtful:
            patch.setattr("mapl.students.moments.surrogate.MANY", np.inf)
        for _ in range(8):
            beyond = softmax(people @ truth, axis=1) - softmax(people @ known.weights, axis=1)
            sums = UNITS * people.T @ beyond / len(people)
            known = balance.refine(known, SumRound(sums, 1.0, float(UNITS), 1.0))
    return known.weights


@pytest.mark.parametrize("seed", range(3))
def test_few_public_rows_are_believed_no_more_than_so_few_can_tell(seed: int) -> None:
    """Beside sixty public rows of forty features, sums without noise lead nearer to the truth by doubt."""
    draws = np.random.default_rng(seed)
    rows = draws.standard_normal((20_060, 40)) * np.logspace(0, -1, 40)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = draws.standard_normal((40, 3)) * 2
    truth -= truth.mean(axis=1, keepdims=True)
    people, public = rows[60:], rows[:60].astype(np.float32)
    off = [
        np.abs(
            softmax(people @ told_by(people, truth, public, doubtful=doubtful), axis=1)
            - softmax(people @ truth, axis=1)
        ).mean()
        for doubtful in (True, False)
    ]
    assert off[0] < 0.7 * off[1], off


def test_rows_that_were_made_up_of_others_tell_no_more_than_these() -> None:
    """Of rows that stand there twice the first are real: people for a row are counted by them."""
    draws = np.random.default_rng(4)
    public = draws.standard_normal((50, 6)).astype(np.float32) / 3
    both, counts = np.concatenate([public, public]), np.full(100, 0.01, dtype=np.float32)
    released = SumRound(draws.standard_normal((6, 2)) * 300, 1.0, 4000.0, 1.0)
    plain = PublicBalance(public, 2 * counts[:50]).refine(Refined.start(6, 2), released)
    made_up = PublicBalance(both, counts, n_real=50).refine(Refined.start(6, 2), released)
    believed = PublicBalance(both, counts).refine(Refined.start(6, 2), released)
    assert np.allclose(plain.weights, made_up.weights, atol=1e-3)
    assert np.linalg.norm(believed.weights) > 1.05 * np.linalg.norm(plain.weights)


@pytest.mark.parametrize("declared", [1, 300, 10**6])
def test_a_declared_number_that_counts_contradict_is_a_mistake(declared: int) -> None:
    told = SumRound(np.zeros((2, 2)), 1.0, 3000.0, 90.0)
    assert count_units((told,), declared) == pytest.approx(3000.0)
    assert count_units((told,), None) == pytest.approx(3000.0)


def test_a_declared_number_helps_where_counts_are_noisy() -> None:
    noisy = SumRound(np.zeros((2, 2)), 1.0, 1500.0, 2000.0)
    assert count_units((noisy,), 3000) == pytest.approx(2747, abs=1)


def test_doubt_is_how_far_predictions_moved_times_the_units_for_a_row() -> None:
    doubt = PublicDoubt(3 * MANY, scatter=0.5)
    assert doubt.measure(0.0) == 0.0
    assert doubt.measure(0.2**2 * 2) == pytest.approx(3 * MANY * (0.2**2 * 2) / 0.5)


@pytest.mark.parametrize("per_row", [0.05, 3.0, 40.0])
def test_a_model_is_drawn_in_between_no_doubt_and_all_that_there_is(per_row: float) -> None:
    """A model of one number that lies at 1 without doubt, and nearer to 0 the more of it there is."""
    doubt = PublicDoubt(per_row, scatter=1.0)
    settled = doubt.settle(lambda much: 1 / (1 + much), lambda model: model**2)
    drawn_in = 1 / (1 + per_row)
    assert settled == (1.0 if per_row < 0.1 else pytest.approx(1 / (1 + per_row * drawn_in)))
    assert doubt.settle(lambda much: 1 / (1 + much), lambda model: 0.0 * model) == 1.0
