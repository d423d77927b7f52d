"""Moments, cells or teachers: public facts decide, and where little is to be expected it is said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mapl.planning.rules.method import BOTH, FEWEST_CELLS, FULL_CELLS, TOO_FEW, Facts, caution, method_for

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results"
TABLE = Facts(n_cells=400, kinds={"number", "category"}, epsilon=1.0, delta=1e-6)
PURE = replace(TABLE, delta=0.0)


@pytest.mark.parametrize(
    ("facts", "method", "why"),
    [
        (TABLE, "moments", "a few rounds share one budget"),
        (replace(TABLE, n_cells=FEWEST_CELLS - 1), "moments", "share one budget"),
        (replace(TABLE, kinds={"number", "text"}), "moments", "share one budget"),
        (replace(TABLE, kinds={"number", "text"}, n_cells=FULL_CELLS), "moments", "share one budget"),
        (replace(TABLE, kinds={"image"}), "moments", "share one budget"),
        (replace(TABLE, kinds={"image", "number"}, n_cells=FULL_CELLS), "moments", "share one budget"),
        (replace(TABLE, n_cells=FULL_CELLS), BOTH, "many full cells"),
        (replace(TABLE, n_cells=FULL_CELLS - 1), "moments", "share one budget"),
        (replace(TABLE, made_up=True), "moments", "do without public rows"),
        (PURE, "cells", "delta is 0"),
        (replace(PURE, n_cells=FEWEST_CELLS - 1), "teachers", "delta is 0"),
        (replace(PURE, kinds={"text"}), "teachers", "delta is 0"),
        (replace(TABLE, wants_teachers="a learner"), "teachers", "a learner was asked for"),
        (replace(TABLE, kinds={"text"}, wants_cells="a second round"), "cells", "a second round was asked for"),
        (replace(TABLE, n_cells=5, wants_cells="a number of cells"), "cells", "a number of cells was asked for"),
    ],
)
def test_which_way(facts: Facts, method: str, why: str) -> None:
    way = method_for(facts)
    assert way.method == method
    assert ", because " in way.why
    assert why in way.why
    assert len(way.weights) in (0, way.method.count(",") + 1)


def test_few_people_are_told_of() -> None:
    few = replace(TABLE, n_units=int(TOO_FEW) - 1)
    assert f"About {few.n_units} units at epsilon 1 are few" in str(caution(few, "moments"))
    assert caution(replace(few, n_units=int(TOO_FEW)), "moments") is None
    assert caution(TABLE, "moments") is None


@pytest.mark.parametrize("way", ["teachers", "cells"])
def test_another_way_is_named_where_it_does_better(way: str) -> None:
    named = replace(TABLE, kinds={"text"}, texts=("note", "letter"))
    assert str(caution(named, "cells")).startswith("The rows hold text (note, letter), and moments are")
    texts = replace(TABLE, kinds={"text"})
    for term in (
        "moments",
        "epsilon",
        "delta 1e-5",
        "one record is added or removed",
        "unit: one record",
    ):  # no epsilon without its terms
        assert term in str(caution(texts, way))
    assert caution(texts, "moments") is None
    assert caution(TABLE, way) is None


def test_the_figures_that_are_told_of_texts_are_those_that_were_measured() -> None:
    summary = json.loads((RESULTS / "learn.json").read_text("utf-8"))["summary"]
    measured = {(one["data"], one["method"], one["epsilon"]): one["accuracy"] for one in summary}
    told = str(caution(replace(TABLE, kinds={"text"}), "cells"))
    assert re.findall(r"(\d+\.\d)%", told) == [
        f"{measured['sst2', who, 0.5]:.1f}" for who in ("mapl, moments", "pate")
    ]
