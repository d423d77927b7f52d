"""How many cells: few enough to stand out from the noise, from public facts alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.planning.rules.cells import FEWEST_CELLS, MOST_CELLS, cells_for

counts = st.integers(1, 10**7)
epsilons = st.floats(1e-3, 50)


@pytest.mark.parametrize(
    ("n_units", "n_public", "epsilon", "n_cells"),
    [
        (32_561, 8_140, 1.0, 8_140),  # one per public row
        (32_561, 10_000, 1.0, 8_140),  # four records per cell
        (32_561, 10_000, 0.5, 4_070),  # twice as many where noise is twice as large
        (None, 10_000, 1.0, 10_000),  # four units per public row, if nothing is declared
        (None, 10_000, 0.25, 2_500),
        (10**9, 10**6, 10.0, MOST_CELLS),
        (10, 5_000, 0.1, FEWEST_CELLS),
        (10, 7, 0.1, 7),
    ],
)
def test_figures(n_units: int | None, n_public: int, epsilon: float, n_cells: int) -> None:
    assert cells_for(n_units, n_public, epsilon)[0] == n_cells


def test_the_reason_names_what_was_declared_and_what_was_assumed() -> None:
    assert cells_for(5_000, 100, 0.5)[1] == "for about 5000 declared units, 100 public rows and this budget"
    assert "400 assumed (declare them with --rows" in cells_for(None, 100, 0.5)[1]


@given(n_units=counts, n_public=counts, epsilon=epsilons, factor=st.integers(1, 20))
def test_more_of_anything_never_means_fewer_cells(n_units: int, n_public: int, epsilon: float, factor: int) -> None:
    few = cells_for(n_units, n_public, epsilon)[0]
    assert 1 <= few <= min(n_public, MOST_CELLS)
    assert cells_for(factor * n_units, n_public, epsilon)[0] >= few
    assert cells_for(n_units, factor * n_public, epsilon)[0] >= few
    assert cells_for(n_units, n_public, factor * epsilon)[0] >= few


@pytest.mark.parametrize(("n_units", "n_public"), [(0, 10), (-3, 10), (10, 0)])
def test_senseless_numbers_are_refused(n_units: int, n_public: int) -> None:
    with pytest.raises(InvalidParameter):
        cells_for(n_units, n_public, 1.0)
