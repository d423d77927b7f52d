"""A statement names neighbours and units; queries of mapl that were made for others are refused."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.units.bags import Bagged
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter
from mapl.release import Aggregated, MostRight, StableOracle, TopCategory
from mapl.release.queries.oracle import Block
from mapl.release.queries.subsample import values_of

BUDGET: dict[str, Any] = {"epsilon": 0.5, "delta": 0.01}
MODELS = {"never": lambda rows: np.zeros(len(rows)), "always": lambda rows: np.ones(len(rows))}
KEY = ShardKey(bytes(32))


def given_away(query: TopCategory, oracle: StableOracle, n: int = 41) -> float:
    """Return the delta at the oracle's epsilon of one answer, the worst over all tables of n people and two values
    of which one person changes, by the exact chances that decide it."""

    def law(k: int) -> dict[Any, float]:
        value, distance = query(pa.table({"id": np.arange(n), "c": ["a"] * k + ["b"] * (n - k)}))
        passes = float(oracle._mechanism.chances(Block(np.array([distance])), oracle._state)[0][0])
        return {value: passes, None: 1 - passes}

    laws = [law(k) for k in range(n + 1)]
    pairs = [*pairwise(laws), *pairwise(laws[::-1])]
    return max(
        sum(max(0.0, one.get(o, 0.0) - math.exp(0.5) * other.get(o, 0.0)) for o in {*one, *other})
        for one, other in pairs
    )


def test_a_query_for_removed_people_breaks_the_promise_about_changed_ones_and_is_refused() -> None:
    oracle = StableOracle(None, **BUDGET, adjacency="replace-one", unit="id")
    query = TopCategory("c", unit="id")
    assert given_away(query, oracle) > 0.2
    with pytest.raises(InvalidParameter, match=r"made for the adjacency add-remove, .* promised for replace-one"):
        oracle.answer(query)
    assert given_away(TopCategory("c", unit="id", adjacency="replace-one"), oracle) <= 0.01
    with pytest.raises(InvalidParameter, match="made for the adjacency add-remove"):
        StableOracle(None, **BUDGET, adjacency="labels").answer(MostRight("best", MODELS))
    assert oracle.statement.queries == 0


def test_a_query_that_is_more_careful_than_needed_is_asked() -> None:
    table = pa.table({"id": np.arange(500), "c": ["a"] * 400 + ["b"] * 100})
    careful = TopCategory("c", unit="id", adjacency="replace-one")
    assert StableOracle(table, **BUDGET, unit="id").answer(careful) == ["a"]


@pytest.mark.parametrize(("counted", "promised"), [(None, "person"), ("person", None), ("visit", "person")])
def test_other_units_than_the_promised_ones_are_refused(counted: str | None, promised: str | None) -> None:
    oracle = StableOracle(None, **BUDGET, unit=promised)
    with pytest.raises(InvalidParameter, match="the same unit"):
        oracle.answer(TopCategory("c", unit=counted))
    with pytest.raises(InvalidParameter, match="counts every record"):
        StableOracle(None, **BUDGET, unit="person").answer(MostRight("best", MODELS))


def test_bags_by_content_promise_nothing_about_people() -> None:
    rows = np.arange(30.0).reshape(-1, 1)
    by_content = Bagged.of(rows, n_bags=5, key=KEY)
    for adjacency in ("add-remove", "replace-one"):
        with pytest.raises(InvalidParameter, match=r"by their content; .*groups=ids"):
            StableOracle(by_content, **BUDGET, adjacency=adjacency, unit="person")  # type: ignore[arg-type]
    StableOracle(by_content, **BUDGET)
    StableOracle(Bagged.of(rows, n_bags=5, key=KEY, groups=list(range(30))), **BUDGET, unit="person")


def test_what_one_bag_draws_from_the_global_generator_moves_no_other_bag() -> None:
    def drawing(X: Any) -> int:
        np.random.shuffle(np.arange(len(X)))  # noqa: NPY002
        return int(np.random.randint(2))  # noqa: NPY002

    rows = np.arange(60.0).reshape(-1, 1)
    np.random.seed(0)  # noqa: NPY002
    before = values_of(drawing, Bagged.of(rows, n_bags=20, key=KEY))
    for more in range(100, 120):
        after = values_of(drawing, Bagged.of(np.vstack([rows, [[float(more)]]]), n_bags=20, key=KEY))
        assert sum(one != other for one, other in zip(before, after, strict=True)) <= 1
    state = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    Aggregated("coin", drawing)(Bagged.of(rows, n_bags=20, key=KEY))
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index]  # noqa: NPY002


def test_what_one_bag_draws_by_torch_moves_no_other_bag() -> None:
    torch = pytest.importorskip("torch")
    rows = np.arange(60.0).reshape(-1, 1)
    state = torch.get_rng_state()

    def drawing(X: Any) -> int:
        return int(torch.randint(2, (len(X) + 1,))[-1])

    before = values_of(drawing, Bagged.of(rows, n_bags=20, key=KEY))
    after = values_of(drawing, Bagged.of(np.vstack([rows, [[100.0]]]), n_bags=20, key=KEY))
    assert sum(one != other for one, other in zip(before, after, strict=True)) <= 1
    assert len(set(before)) == 2  # every bag draws by itself
    assert torch.equal(torch.get_rng_state(), state)
