"""Fine bins are for many people, by public facts alone, and only where public rows tell how columns go together."""

from __future__ import annotations

import math

import pytest

from mapl.planning.rules.moments import (
    ENOUGH_FOR_FINE,
    FEWEST_UNITS,
    FINE_FROM,
    TOLD_BY_A_ROW,
    USUAL_RATIO,
    MomentsDesign,
    design_for,
    units_of,
)

MU, WIDE = 0.1, 300


def fewest(n_classes: int, words: float = 0.0) -> int:
    """Return from how many units on bins are fine."""
    return math.ceil(FINE_FROM * n_classes / MU / math.sqrt(1 - words))


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("words", [0.0, 0.5])
def test_bins_are_fine_from_so_many_units_on(n_classes: int, words: float) -> None:
    design = design_for(5000, 40, MU, words=words)
    many = fewest(n_classes, words) + 1
    assert design.has_fine_bins(many, 5000, WIDE, MU, n_classes)
    assert not design.has_fine_bins(many - 2, 5000, WIDE, MU, n_classes)
    assert not design.has_fine_bins(many, 5000, WIDE, MU / 2, n_classes)


def test_without_a_declared_number_public_rows_tell_it() -> None:
    design = design_for(5000, 40, MU)
    enough = fewest(2) // USUAL_RATIO + 1
    assert design.has_fine_bins(None, enough, WIDE, MU, 2)
    assert not design.has_fine_bins(None, enough - 2, WIDE, MU, 2)


def test_few_public_rows_stand_for_no_fewer_than_so_many_units() -> None:
    assert units_of(None, 10) == units_of(None, FEWEST_UNITS // USUAL_RATIO) == FEWEST_UNITS
    assert units_of(None, FEWEST_UNITS) == USUAL_RATIO * FEWEST_UNITS
    assert units_of(700, 10) == 700


@pytest.mark.parametrize("n_public", [20, 100, 1000])
def test_sums_may_be_clearer_than_public_rows_can_tell(n_public: int) -> None:
    """However much budget and however many people there are, few public rows tell of few directions."""
    design = design_for(n_public, 10, 1.0)
    most = design.signal(10**9, n_public, 1.0, 2)
    assert most == design.signal(10**8, n_public, 4.0, 2) == (TOLD_BY_A_ROW * n_public) ** 2
    assert design.signal(1000, n_public, 0.01, 2) < most
    # Where products of features are released, these tell of directions, and no public row does.
    released = design_for(n_public, 10, 1.0, made_up=True)
    assert released.signal(10**9, n_public, 1.0, 2) > most


@pytest.mark.parametrize(
    "design",
    [design_for(100, 40, MU), design_for(20, 40, MU), design_for(5000, 40, MU, made_up=True)],
    ids=["few public rows", "hardly any", "none"],
)
def test_few_public_rows_have_coarse_bins(design: MomentsDesign) -> None:
    assert not design.has_fine_bins(10**9, 5000, WIDE, MU, 2)


def test_fine_bins_want_public_rows_for_each_of_them() -> None:
    design = design_for(5000, 40, MU)
    assert design.has_fine_bins(10**9, ENOUGH_FOR_FINE * WIDE, WIDE, MU, 2)
    assert not design.has_fine_bins(10**9, ENOUGH_FOR_FINE * WIDE - 1, WIDE, MU, 2)
