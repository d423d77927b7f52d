"""How many teachers the public rule trains."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mapl.errors import InvalidParameter
from mapl.planning.rules.teachers import DEFAULT_TEACHERS, FEWEST_TEACHERS, teachers_for
from mapl.types import Budget

ONE = Budget(1.0, 1e-5)


def test_the_number_grows_like_the_root_of_the_units() -> None:
    many, few = teachers_for(40_000, ONE)[0], teachers_for(10_000, ONE)[0]
    assert (many, few) == (500, 250)
    assert teachers_for(40_000, ONE, spectral=True)[0] == 800


def test_a_larger_budget_needs_fewer_teachers_within_bounds() -> None:
    found = [teachers_for(10_000, Budget(epsilon, 1e-5))[0] for epsilon in (0.01, 0.1, 0.5, 1, 2, 10, 500)]
    assert all(more >= fewer for more, fewer in pairwise(found))
    assert found[0] == 500
    assert found[-1] == 125


def test_tiny_tables_keep_some_rows_per_teacher_and_some_teachers() -> None:
    assert teachers_for(200, ONE)[0] == 25
    assert teachers_for(3, ONE)[0] == FEWEST_TEACHERS


def test_without_a_declared_number_there_is_a_fixed_one_and_a_hint() -> None:
    n_teachers, why = teachers_for(None, ONE)
    assert n_teachers == DEFAULT_TEACHERS
    assert "--rows" in why


@pytest.mark.parametrize("bad", [0, -5])
def test_senseless_numbers_are_refused(bad: int) -> None:
    with pytest.raises(InvalidParameter, match="rows"):
        teachers_for(bad, ONE)
