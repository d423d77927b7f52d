"""Batches of doubtful rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.encoder import Encoder
from mapl.errors import InvalidParameter
from mapl.students.active import Active, Inquiry, Pool
from mapl.students.active.batches import ROUNDS, by_batches
from mapl.students.active.doubt import committee, margin
from mapl.types import ABSTAIN


def pool_of(rows: Any, n_classes: int = 2, known: Any = None) -> Pool:
    codes = np.full(len(rows), ABSTAIN, dtype=np.int32) if known is None else np.asarray(known, dtype=np.int32)
    return Pool(np.asarray(rows, dtype=np.float64), n_classes, codes)


def answered(inquiry: Inquiry, truth: Any) -> tuple[list[list[int]], Any]:
    """Answer an inquiry with the truth, and return its batches and what it learned."""
    batches = []
    try:
        rows = next(inquiry)
        while True:
            batches.append(rows.tolist())
            rows = inquiry.send(np.asarray(truth)[rows].astype(np.int32))
    except StopIteration as ended:
        return batches, ended.value


@pytest.mark.parametrize("doubt", [margin, committee])
def test_doubtful_rows_lie_at_the_border(doubt: Any) -> None:
    x = np.linspace(-6, 6, 401)
    rows = np.column_stack([x, np.random.default_rng(0).normal(size=401)])
    batches, codes = answered(by_batches(pool_of(rows), 60, doubt), x > 0)
    assert [len(batch) for batch in batches] == [6] * ROUNDS
    assert np.abs(x[np.concatenate(batches[3:])]).mean() < 2.0  # of all rows, 3.0
    assert (codes[codes != ABSTAIN] == (x > 0)[codes != ABSTAIN]).all()


def test_more_classes() -> None:
    rows = np.random.default_rng(1).normal(size=(300, 3))
    truth = rows.argmax(axis=1)
    for doubt in (margin, committee):
        batches, codes = answered(by_batches(pool_of(rows, 3), 45, doubt), truth)
        assert sum(map(len, batches)) == 45
        assert set(codes.tolist()) == {ABSTAIN, 0, 1, 2}


def test_known_rows_are_not_asked() -> None:
    rows = np.random.default_rng(2).normal(size=(80, 2))
    truth = (rows[:, 0] > 0).astype(np.int32)
    known = np.where(np.arange(80) < 30, truth, ABSTAIN)
    batches, codes = answered(by_batches(pool_of(rows, known=known), 20, margin), truth)
    assert min(min(batch) for batch in batches) >= 30
    assert np.count_nonzero(codes != ABSTAIN) == 50


def test_one_class_so_far() -> None:
    """Before two classes have been met there is no model, and rows are random."""
    rows = np.random.default_rng(3).normal(size=(50, 2))
    batches, codes = answered(by_batches(pool_of(rows), 20, margin), np.zeros(50))
    assert sum(map(len, batches)) == 20
    assert (codes[codes != ABSTAIN] == 0).all()


def test_of_equal_rows_many_may_be_asked() -> None:
    rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 40, axis=0)
    truth = np.repeat([0, 1], 40)
    batches, _ = answered(by_batches(pool_of(rows), 40, margin), truth)
    assert sum(map(len, batches)) == 40


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(0, 60), st.integers(0, 5))
def test_distinct_rows_up_to_the_limit(n: int, limit: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    truth = rows[:, 0] > 0
    batches, codes = answered(by_batches(pool_of(rows), limit, margin), truth)
    asked = [row for batch in batches for row in batch]
    assert len(asked) == len(set(asked)) == min(n, limit)
    assert np.flatnonzero(codes != ABSTAIN).tolist() == sorted(asked)
    again, _ = answered(by_batches(pool_of(rows), limit, margin), truth)
    assert again == batches


def test_sparse_rows_are_seen_in_a_few_directions() -> None:
    import pyarrow as pa

    draws = np.random.default_rng(0)
    texts = [" ".join(draws.choice(["red", "green", "blue", "grey", "pink"], 6)) for _ in range(60)]
    table = pa.table({"text": texts, "size": draws.normal(size=60)})
    schema = draft_schema(table, classes=("no", "yes"))
    pool = Pool.of(table, Encoder.of(schema), 2)
    assert pool.rows.shape[0] == 60
    assert isinstance(pool.rows, np.ndarray)
    batches, _ = answered(by_batches(pool, 20, margin), np.array(["red" in one for one in texts]))
    assert sum(map(len, batches)) == 20


def test_without_scikit_activeml(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("skactiveml")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "skactiveml", None)
    for choice in ("margin", "committee"):
        with pytest.raises(InvalidParameter, match=r"scikit-activeml.*'mapl\[active\]'.*robust-cal"):
            Active(choice).refuse_unfit(2)
    Active("robust-cal").refuse_unfit(2)
