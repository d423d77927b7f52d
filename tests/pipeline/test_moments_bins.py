"""How finely numbers and sums are cut follows from public facts alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.pipeline.request import Request
from mapl.pipeline.sums.map_maker import MapMaker, make_map_maker
from mapl.students.moments.least_squares import LeastSquares
from mapl.students.moments.surrogate import PublicBalance
from mapl.types import Budget

ROWS = pa.table({"code": np.arange(2000) % 40, "size": np.random.default_rng(0).standard_normal(2000)})
CLASSES = Classes(("no", "yes"))


def maker_of(n_units: int | None, number_range: NumberRange | None = None, n_public: int = 2000) -> MapMaker:
    schema = draft_schema(ROWS, label="label", classes=CLASSES.names)
    request = Request(Budget(1.0, 1e-6), CLASSES, n_rows=n_units, method="moments", number_range=number_range)
    return make_map_maker(request, ROWS[:n_public], schema, made_up=False, one_table=True)


@pytest.mark.parametrize(("n_units", "fine"), [(1000, False), (200_000, True), (None, True)])
def test_many_units_have_fine_bins(n_units: int | None, fine: bool) -> None:
    layout = maker_of(n_units).layout
    assert layout.fine == fine
    assert layout.bins == ((32, 32) if fine else (16, 16))
    assert layout.n_others == 2


def test_bins_stand_behind_all_other_columns() -> None:
    for n_units in (1000, 200_000):
        maker = maker_of(n_units)
        assert maker.beside is not None
        encoded = maker.beside.transform(ROWS)
        assert encoded.shape[1] == maker.most_features - 1
        assert (encoded[:, maker.layout.n_others :].sum(axis=1) == 2).all()  # one bin for each number


def test_labels_that_are_numbers_have_coarse_bins() -> None:
    assert not maker_of(200_000, NumberRange(0.0, 1.0)).layout.fine


@pytest.mark.parametrize("number_range", [None, NumberRange(0.0, 1.0)], ids=["classes", "numbers"])
def test_few_public_rows_tell_of_few_directions_however_many_units_there_are(
    number_range: NumberRange | None,
) -> None:
    some, more, most = (maker_of(n, number_range, n_public=30).draw(None).public for n in (1000, 10**6, 10**7))
    assert some.shape[1] <= more.shape[1] == most.shape[1]
    assert more.shape[1] < maker_of(10**6, number_range).draw(None).public.shape[1]


def test_rows_that_were_made_up_are_not_counted_as_public_ones() -> None:
    drawn = maker_of(1000, n_public=10).draw(None)
    assert isinstance(drawn.refiner, PublicBalance)
    assert drawn.refiner.n_real == 10 < len(drawn.public)
    numbers = maker_of(1000, NumberRange(0.0, 1.0), n_public=10).draw(None).refiner
    assert isinstance(numbers, LeastSquares)
    assert numbers.n_told == 10


@pytest.mark.parametrize(("n_units", "n_public"), [(None, 300), (3000, 300), (None, 20), (None, 600)])
def test_the_number_of_units_is_asked_for_where_it_would_help(n_units: int | None, n_public: int) -> None:
    """So many as 600 public rows tell it, and with so few as 20 there is no finer map."""
    assert maker_of(n_units, n_public=n_public).gains_by_rows == (n_units is None and n_public == 300)
