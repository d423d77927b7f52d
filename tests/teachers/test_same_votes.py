"""End to end: one unit more or less leaves the votes of all other teachers as they are, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import take
from mapl.data.units.row_digests import digests
from mapl.data.units.shards import Sharded, ShardKey, Shards, unit_bytes
from mapl.teachers import Learner, as_learner
from mapl.teachers.engine import _parcel
from mapl.teachers.workers.dispatch import bench, replies

CLASSES = Classes(("0", "1", "2"))
KEY = ShardKey(bytes(range(32)))
N_TEACHERS = 5
QUESTIONS = np.random.default_rng(1).integers(-4, 5, size=(40, 3)).astype(np.float64)


def votes(learner: Learner, sharded: Sharded, questions: Any, n_jobs: int) -> list[bytes | None]:
    with bench(learner, "vote", n_classes=3, questions=questions) as job:
        came = dict(replies(job, partial(_parcel, sharded, None), range(sharded.n_teachers), n_jobs))
    return [came[k] for k in range(sharded.n_teachers)]


def global_dice(X: Any, y: Any) -> Callable[[Any], Any]:
    """A learner at the mercy of both global generators."""
    import random

    nearest = X[np.random.permutation(len(X))[: random.randint(1, 5)]]  # noqa: NPY002
    labels = np.random.choice(y, size=len(nearest))  # noqa: NPY002

    def predict(Q: Any) -> Any:
        noise = np.random.normal(size=(len(Q), len(nearest)))  # noqa: NPY002
        return labels[np.argmin(np.abs(Q[:, :1] - nearest[:, 0]) + noise, axis=1)]

    return predict


LEARNERS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(max_features=1, splitter="random"),
    "forest": RandomForestClassifier(n_estimators=3, max_features=1),
    "global generators": global_dice,
}


@dataclass(frozen=True)
class Table:
    rows: Any
    labels: Any
    units: list[int] | None

    def sharded(self) -> Sharded:
        if self.units is None:
            ids = [one for block in digests(self.rows, self.labels) for one in block]
        else:
            ids = unit_bytes(self.units_column())
        return Sharded(PrivateRows(self.rows), self.labels, ids, Shards(KEY, N_TEACHERS))

    def units_column(self) -> Any:
        import pyarrow as pa

        return pa.array(self.units)

    def only(self, kept: Any) -> Table:
        where = np.flatnonzero(kept)
        units = None if self.units is None else [self.units[i] for i in where]
        return Table(take(self.rows, where), self.labels[where], units)


def table(seed: int, n_units: int, *, with_units: bool) -> Table:
    """A table with many equal rows and, with units, several rows per unit in no order."""
    generator = np.random.default_rng(seed)
    n = 4 * n_units
    rows = generator.integers(-4, 5, size=(n, 3)).astype(np.float64)
    rows[: n // 2] = rows[generator.integers(0, n, size=n // 2)]
    labels = ((rows[:, 0] > 0) + (rows[:, 1] > 1)).astype(np.int32)
    return Table(rows, labels, generator.integers(0, n_units, size=n).tolist() if with_units else None)


@pytest.mark.parametrize("name", LEARNERS)
@given(
    seed=st.integers(0, 2**32 - 1),
    with_units=st.booleans(),
    which=st.integers(0, 10**6),
    n_jobs=st.permutations([1, 2]),
)
@settings(max_examples=6, deadline=None)
def test_removing_a_unit_changes_one_teacher(
    name: str, seed: int, with_units: bool, which: int, n_jobs: list[int]
) -> None:
    whole = table(seed, 40, with_units=with_units)
    sharded = whole.sharded()
    sharded.verify()
    unit = sharded.ids[which % len(sharded.ids)]
    thinned = whole.only([one != unit for one in sharded.ids])
    learner = as_learner(LEARNERS[name], CLASSES)
    with_unit = votes(learner, sharded, QUESTIONS, n_jobs[0])
    without = votes(learner, thinned.sharded(), QUESTIONS, n_jobs[1])
    home = int(sharded.shards.of([unit])[0])
    for k in range(N_TEACHERS):
        if k != home:
            assert with_unit[k] == without[k]
    assert sum(cast is not None for cast in with_unit) >= N_TEACHERS - 1


def test_removing_one_of_two_equal_rows_changes_one_teacher() -> None:
    whole = table(5, 40, with_units=False)
    ids = whole.sharded().ids
    twice = next(i for i, one in enumerate(ids) if ids.count(one) > 1)
    kept = np.arange(len(ids)) != twice
    learner = as_learner(LEARNERS["tree"], CLASSES)
    one, other = (votes(learner, each.sharded(), QUESTIONS, 2) for each in (whole, whole.only(kept)))
    home = int(whole.sharded().shards.of([ids[twice]])[0])
    assert [k for k in range(N_TEACHERS) if one[k] != other[k]] in ([], [home])


def test_the_votes_do_move_where_a_unit_leaves() -> None:
    """The control: teachers are sensitive enough for the property above to mean something."""
    whole = table(3, 40, with_units=True)
    sharded = whole.sharded()
    learner = as_learner(LEARNERS["tree"], CLASSES)
    before = votes(learner, sharded, QUESTIONS, 1)
    moved = 0
    for unit in set(sharded.ids):
        after = votes(learner, whole.only([one != unit for one in sharded.ids]).sharded(), QUESTIONS, 1)
        changed = [k for k in range(N_TEACHERS) if before[k] != after[k]]
        assert changed in ([], [int(sharded.shards.of([unit])[0])])
        moved += bool(changed)
    assert moved > 20


def test_a_frame_with_an_index_tells_teachers_nothing_about_other_rows() -> None:
    """pandas numbers rows; a teacher that saw these numbers would see how many rows stand before its own."""

    def by_index(X: Any, y: Any) -> Callable[[Any], Any]:
        last = int(X.index[-1])
        return lambda Q: np.full(len(Q), last % 3)

    whole = table(9, 40, with_units=True)
    framed = Table(pd.DataFrame(whole.rows, columns=["a", "b", "c"]), whole.labels, whole.units)
    sharded = framed.sharded()
    unit = sharded.ids[0]
    thinned = framed.only([one != unit for one in sharded.ids])
    learner = as_learner(by_index, CLASSES)
    questions = pd.DataFrame(QUESTIONS, columns=["a", "b", "c"])
    with_unit, without = (votes(learner, each.sharded(), questions, 1) for each in (framed, thinned))
    home = int(sharded.shards.of([unit])[0])
    assert all(with_unit[k] == without[k] for k in range(N_TEACHERS) if k != home)


def test_pipelines_are_fitted_within_each_shard() -> None:
    frame = pd.DataFrame(table(2, 60, with_units=False).rows, columns=["a", "b", "c"])
    frame["c"] = frame["c"].astype(int).astype(str)
    labels = (frame["a"] > 0).to_numpy().astype(np.int32)
    questions = pd.DataFrame(QUESTIONS, columns=["a", "b", "c"])
    questions["c"] = questions["c"].astype(int).astype(str)
    pipeline = make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["a", "b"]), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["c"])
        ),
        DecisionTreeClassifier(max_features=1),
    )
    learner = as_learner(pipeline, CLASSES)
    whole = Table(frame, labels, None)
    ids = whole.sharded().ids
    thinned = whole.only([one != ids[7] for one in ids])
    before, after = (votes(learner, each.sharded(), questions, 2) for each in (whole, thinned))
    assert None not in before
    home = int(whole.sharded().shards.of([ids[7]])[0])
    assert all(before[k] == after[k] for k in range(N_TEACHERS) if k != home)
