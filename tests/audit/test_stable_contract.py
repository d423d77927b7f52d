"""Queries from the real code keep their contract on every small table; each broken twin is caught."""

from __future__ import annotations

import pytest

from mapl.audit.stable.contract import SmallTables, stable_contract
from mapl.audit.stable.twins import HONEST, TWINS, counts_query
from mapl.errors import InvalidParameter


@pytest.mark.parametrize("name", HONEST)
def test_honest_queries_keep_the_contract(name: str) -> None:
    found = stable_contract(HONEST[name])
    assert not found.violated, found.details
    assert found.certified
    assert found.found_delta_lower <= found.delta
    assert found.details["farthest"] >= 1  # else the contract would be kept by doing nothing
    assert found.details["changes"] == 2916


def test_a_replaced_unit_moves_counts_by_two() -> None:
    assert not stable_contract(counts_query(2), adjacency="replace-one").violated


@pytest.mark.parametrize("name", TWINS)
def test_broken_twins_are_caught(name: str) -> None:
    twin = TWINS[name]
    found = stable_contract(twin.query, adjacency=twin.adjacency, crowd=twin.crowd)
    assert found.violated
    assert found.found_delta_lower > found.delta  # an explicit pair of tables tells more than was paid for
    assert found.details["witness"]


def test_too_large_a_crowd_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="59,049 tables"):
        stable_contract(HONEST["counts"], crowd=SmallTables(tuple("abcdefghij")))
