"""RobustCAL asks where classifiers differ and infers the rest."""

from __future__ import annotations

import numpy as np
import pytest
from exact_erm import FiniteClass
from hypothesis import given, settings
from hypothesis import strategies as st
from test_batches import answered, pool_of

from mapl.errors import InvalidParameter
from mapl.reproduce.crowds.cut_rules import ThresholdRules
from mapl.students.active.erm import Contest, Linear
from mapl.students.active.robust_cal import RobustCal
from mapl.types import ABSTAIN

LINE = np.sort(np.random.default_rng(0).random(2000)).reshape(-1, 1)


def test_thresholds_need_few_labels() -> None:
    """Without noise the rows in dispute shrink like 1/t, so labels grow like log t; all others are inferred."""
    truth = (LINE[:, 0] > 0.3).astype(np.int32)
    for n in (500, 2000):
        rows, wanted = LINE[:: 2000 // n], truth[:: 2000 // n]
        batches, codes = answered(RobustCal(ThresholdRules())(pool_of(rows), n), wanted)
        assert (codes != wanted).mean() < 0.01
        assert sum(map(len, batches)) < 60


def test_noise_leaves_more_in_dispute() -> None:
    """Labels that are wrong now and then keep the border in dispute, and most rows elsewhere are still inferred."""
    truth = (LINE[:, 0] > 0.3).astype(np.int32)
    wrong = np.random.default_rng(1).random(2000) < 0.1
    batches, codes = answered(RobustCal(ThresholdRules(), constant=0.1)(pool_of(LINE), 2000), truth ^ wrong)
    assert 50 < sum(map(len, batches)) < 1500
    inferred = np.ones(2000, dtype=bool)
    inferred[np.concatenate(batches)] = False
    assert (codes == truth)[inferred].mean() > 0.99


def test_the_limit_ends_it() -> None:
    truth = (LINE[:, 0] > 0.3).astype(np.int32)
    batches, codes = answered(RobustCal(ThresholdRules())(pool_of(LINE), 12), truth)
    assert sum(map(len, batches)) == 12
    assert (codes != ABSTAIN).all()  # what was not asked is inferred


def test_a_service_that_abstains() -> None:
    """Rows without an answer are left out of what is fitted, and inferred at the end."""
    truth = np.where(np.arange(2000) % 3 == 0, ABSTAIN, LINE[:, 0] > 0.3)
    _, codes = answered(RobustCal(ThresholdRules())(pool_of(LINE), 400), truth)
    assert (codes == (LINE[:, 0] > 0.3)).mean() > 0.98


def test_finite_and_linear_classes() -> None:
    points = np.arange(40.0).reshape(-1, 1)
    truth = (points[:, 0] >= 17).astype(np.int32)
    table = (np.arange(40) >= np.arange(41)[:, None]).astype(np.int32)
    _, codes = answered(RobustCal(FiniteClass(table))(pool_of(points), 40), truth)
    assert (codes != truth).mean() < 0.1
    rows = np.random.default_rng(0).normal(size=(600, 2))
    _, codes = answered(RobustCal(Linear(n_columns=2))(pool_of(rows), 150), rows @ [1.0, -1.0] > 0)
    assert (codes == (rows @ [1.0, -1.0] > 0)).mean() > 0.95


def test_everything_is_in_dispute_at_first() -> None:
    rule = RobustCal(ThresholdRules())
    contest = Contest(np.zeros(3, dtype=np.int32), 0.1, np.array([0.1, 0.2, np.inf]))
    assert rule.in_dispute(contest, 2).tolist() == [True, True, False]
    assert rule.in_dispute(contest, 100_000).tolist() == [True, False, False]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(0, 70), st.integers(0, 9))
def test_distinct_rows_within_the_limit(n: int, limit: int, seed: int) -> None:
    rows = np.random.default_rng(seed).random((n, 1))
    truth = np.random.default_rng(seed + 1).integers(0, 2, size=n)
    batches, codes = answered(RobustCal(ThresholdRules())(pool_of(rows), limit), truth)
    asked = [row for batch in batches for row in batch]
    assert len(set(asked)) == len(asked) <= limit
    assert (codes[asked] == truth[asked]).all()


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="3 classes; robust-cal is for two"):
        next(RobustCal(ThresholdRules())(pool_of(LINE, 3), 5))
    for wrong in ({"constant": 0.0}, {"gamma": 1.0}):
        with pytest.raises(InvalidParameter, match="allowed are a constant above 0"):
            RobustCal(ThresholdRules(), **wrong)
