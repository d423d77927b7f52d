"""The model of time and memory: monotone in every size, divided by workers where they share the work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.planning.costs.reckoning import Cost, MeasuredRates, reckon
from mapl.planning.costs.work import CostLine, Sizes, Work

SIZES = Sizes(rows=50_000, columns=30, n_classes=3, questions=2_000, teachers=500)
WORKS = {
    "moments": Work(0.1, per_row=4e-5, afar=True),
    "cells": Work(0.0, per_row=1e-5, afar=True),
    "teachers": Work(0.5, per_teacher=0.2, per_vote=1e-6, at_home=True, afar=True),
}
MEASURED = MeasuredRates(CostLine(0.01, 1e-6), CostLine(0.0, 5e-7), WORKS, started=300_000_000)
MEMORY = 4 << 30

seconds = st.floats(0.0, 1e3, allow_nan=False)


def of(
    method: str, engine: str, sizes: Sizes = SIZES, *, workers: int = 2, measured: MeasuredRates = MEASURED
) -> Cost:
    found = reckon(measured, sizes, workers=workers, memory=MEMORY)
    return next(one for one in found if (one.method, one.engine) == (method, engine))


@given(seconds, seconds)
def test_a_line_is_never_below_zero_and_never_falls(few: float, many: float) -> None:
    line = CostLine.through((10, few), (50, many))
    assert line.fixed >= 0
    assert line.each >= 0
    assert line.at(20) <= line.at(30)
    if many > 0:
        assert line.at(50) == pytest.approx(max(many, few))


def test_what_was_measured_is_found_again() -> None:
    line = CostLine.through((2_000, 0.3 + 2_000 * 4e-5), (10_000, 0.3 + 10_000 * 4e-5))
    assert (line.fixed, line.each) == (pytest.approx(0.3), pytest.approx(4e-5))


@pytest.mark.parametrize("method", list(WORKS))
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
@pytest.mark.parametrize("size", ["rows", "questions", "teachers", "columns"])
def test_more_never_takes_less(method: str, engine: str, size: str) -> None:
    larger = replace(SIZES, **{size: 3 * getattr(SIZES, size)})
    before, after = of(method, engine), of(method, engine, larger)
    assert after.seconds >= before.seconds
    if size != "teachers":  # smaller shards are smaller tasks
        assert after.memory >= before.memory


def test_ten_times_the_rows_take_ten_times_the_time_but_for_the_fixed_part() -> None:
    fixed = WORKS["moments"].fixed + MEASURED.reading.fixed
    before, after = (of("moments", "local", replace(SIZES, rows=n)).seconds - fixed for n in (10**6, 10**7))
    assert after == pytest.approx(10 * before)


def test_workers_divide_what_they_share_and_nothing_else() -> None:
    one, four = (of("teachers", "local", workers=n).seconds for n in (1, 4))
    shared = 500 * 0.2 + 500 * 2_000 * 1e-6
    assert one - four == pytest.approx(shared * 3 / 4)
    assert of("cells", "local", workers=4) == of("cells", "local", workers=1)  # one process counts
    rows = SIZES.rows * WORKS["cells"].per_row
    handing = MEASURED.handing.at(SIZES.rows)
    assert of("cells", "dask", workers=4).seconds == pytest.approx(
        of("cells", "local").seconds - rows * 3 / 4 + handing
    )


def test_teachers_that_are_trained_together_stay_with_the_driver() -> None:
    together = replace(MEASURED, works={"teachers": replace(WORKS["teachers"], at_home=False, afar=False)})
    at_home = of("teachers", "local", workers=8, measured=together)
    for engine in ("dask", "ray"):
        assert of("teachers", engine, workers=8, measured=together) == replace(at_home, engine=engine)
    assert (at_home.workers, at_home.worker_memory) == (1, None)


def test_memory_stays_within_what_is_allowed_but_for_ids() -> None:
    small, large = (of("cells", "local", replace(SIZES, rows=n)) for n in (10**8, 10**9))
    assert large.memory - small.memory == 24 * (10**9 - 10**8)
    assert small.memory < MEASURED.started + MEMORY / 2 + 24 * 10**8 + (1 << 17) * 244 + 1


def test_what_one_process_keeps_is_not_kept_where_workers_share() -> None:
    keeping = replace(MEASURED, works={"moments": replace(WORKS["moments"], kept=1000)})
    for engine, more in (("local", 1000), ("dask", 0)):
        assert of("moments", engine, measured=keeping).memory == of("moments", engine).memory + more
