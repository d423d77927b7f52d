"""Teachers or cells: public facts decide, and where neither is the best choice it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mapl.planning.method_rule import ENOUGH_TEXTS, FEWEST_CELLS, MANY_SWITCHES, Facts, better_elsewhere, method_for

TABLE = Facts(n_public=1000, n_cells=400, kinds={"number", "category"}, n_switches=3)


@pytest.mark.parametrize(
    ("facts", "method", "why"),
    [
        (TABLE, "cells", "all cells share one epsilon"),
        (replace(TABLE, kinds={"image"}), "cells", "share one epsilon"),
        (replace(TABLE, n_cells=FEWEST_CELLS), "cells", "share one epsilon"),
        (replace(TABLE, n_cells=FEWEST_CELLS - 1), "teachers", f"buy {FEWEST_CELLS - 1} cells only"),
        (replace(TABLE, kinds={"number", "text"}), "teachers", "distances between texts mean little"),
        (replace(TABLE, wants_teachers="a learner"), "teachers", "a learner was asked for"),
        (replace(TABLE, kinds={"text"}, wants_cells="a second round"), "cells", "a second round was asked for"),
        (replace(TABLE, n_cells=5, wants_cells="a number of cells"), "cells", "a number of cells was asked for"),
    ],
)
def test_which_way(facts: Facts, method: str, why: str) -> None:
    chosen, because = method_for(facts)
    assert chosen == method
    assert because.startswith(f"{method}, because ")
    assert why in because


def test_a_linear_model_by_dp_sgd_is_named_where_it_is_likely_to_do_better() -> None:
    assert better_elsewhere(TABLE) is None
    few_texts = replace(TABLE, kinds={"text"}, n_public=ENOUGH_TEXTS - 1)
    assert f"there are {ENOUGH_TEXTS - 1} public ones" in str(better_elsewhere(few_texts))
    assert better_elsewhere(replace(few_texts, n_public=ENOUGH_TEXTS)) is None
    switches = replace(TABLE, n_switches=MANY_SWITCHES)
    assert f"{MANY_SWITCHES} columns have two values only" in str(better_elsewhere(switches))
    assert better_elsewhere(replace(TABLE, n_switches=MANY_SWITCHES - 1)) is None
    for said in map(better_elsewhere, (few_texts, switches)):
        for term in (
            "DP-SGD",
            "epsilon 1",
            "delta 1e-5",
            "add or remove one record",
        ):  # no epsilon without its terms
            assert term in str(said)
