"""How finely numbers are cut follows from public facts alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.pipeline.request import Request
from mapl.pipeline.sums.map_maker import MapMaker, make_map_maker
from mapl.types import Budget

ROWS = pa.table({"code": np.arange(2000) % 40, "size": np.random.default_rng(0).standard_normal(2000)})
CLASSES = Classes(("no", "yes"))


def maker_of(n_units: int | None, number_range: NumberRange | None = None) -> MapMaker:
    schema = draft_schema(ROWS, label="label", classes=CLASSES.names)
    request = Request(Budget(1.0, 1e-6), CLASSES, n_rows=n_units, method="moments", number_range=number_range)
    return make_map_maker(request, ROWS, schema, made_up=False, one_table=True)


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
