"""Fine bins are for many people, by public facts alone, and only where public rows tell how columns go together."""

from __future__ import annotations

import math

import pytest

from mapl.planning.rules.moments import ENOUGH_FOR_FINE, FINE_FROM, USUAL_RATIO, MomentsDesign, design_for

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
