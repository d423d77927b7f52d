"""Public votes stand in for those to come: what they say about winners, distances and truth is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.errors import InvalidData, InvalidParameter
from mapl.planning.votes.sample import VoteSample, _cuts
from mapl.types import Tallies


def votes(n: int = 3000, teachers: int = 100, classes: int = 4, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.multinomial(teachers, rng.dirichlet(np.full(classes, 0.4), n))


def test_few_rows_sum_up_many() -> None:
    counts = votes()
    sample = VoteSample.of(counts)
    assert len(sample.rows) <= 200
    assert sample.weights().sum() == pytest.approx(1)
    real, summed = Tallies(counts).distances, sample.tallies(100, 4).distances
    for distance in range(0, 50, 5):
        share = sample.weights() @ (summed >= distance)
        assert share == pytest.approx((real >= distance).mean(), abs=0.02)


def test_rows_are_kept_for_the_same_teachers_and_shared_out_for_others() -> None:
    sample = VoteSample.of(votes())
    assert sample.tallies(100, 4).counts.tolist() == [list(row) for row in sample.rows]
    more = np.asarray(sample.tallies(250, 4).counts)
    assert (more.sum(axis=1) == 250).all()
    assert np.abs(more / 250 - np.array(sample.rows) / 100).max() <= 1 / 250


def test_truth_is_averaged_by_rank_over_each_group() -> None:
    counts = votes()
    winners = Tallies(counts).values.astype(np.int64)
    rng = np.random.default_rng(8)
    truth = np.where(rng.random(len(counts)) < 0.8, winners, (winners + 1) % 4)
    sample = VoteSample.of(counts, truth=truth)
    law = sample.truth(100, 4)
    assert law is not None
    assert np.allclose(law.sum(axis=1), 1)
    own = law[np.arange(len(law)), sample.tallies(100, 4).values]
    assert sample.weights() @ own == pytest.approx((truth == winners).mean(), abs=1e-3)
    assert VoteSample.of(counts).truth(100, 4) is None


def test_another_question_and_a_wrong_truth_are_refused() -> None:
    sample = VoteSample.of(votes())
    with pytest.raises(InvalidParameter, match="4 classes and 3 are expected"):
        sample.tallies(100, 3)
    with pytest.raises(InvalidData, match="one class number below 4"):
        VoteSample.of(votes(5), truth=np.array([0, 1, 2, 3, 4]))
    with pytest.raises(InvalidData, match="one class number"):
        VoteSample.of(votes(5), truth=np.array([0, 1]))


@given(st.integers(1, 5000), st.integers(1, 300))
def test_cuts_leave_no_group_empty(n_rows: int, groups: int) -> None:
    cuts = _cuts(n_rows, min(groups, n_rows))
    assert all(len(part) for part in np.split(np.arange(n_rows), cuts))
    assert len(cuts) <= 2 * groups
