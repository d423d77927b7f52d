"""The guard of `benchmarks/scale_guard.py`: what it takes for slower, and that it knows every stored ratio."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("scale_guard")


def test_a_ratio_below_half_of_the_stored_one_is_slower(guard: Any) -> None:
    assert guard.slower({"ridge": 30.0}, {"ridge": 15.0}) == []
    assert guard.slower({"ridge": 30.0}, {"ridge": 14.9}) == ["ridge: 14.90, stored 30.00"]


def test_a_ratio_that_nobody_stored_or_that_is_no_number_fails(guard: Any) -> None:
    assert len(guard.slower({"ridge": 30.0}, {"forest": 9.0})) == 1
    assert len(guard.slower({"ridge": 30.0}, {"ridge": float("nan")})) == 1


def test_every_case_has_a_stored_ratio_and_no_vote_is_slower_than_the_loop(guard: Any) -> None:
    kept = json.loads((BENCHMARKS / "results" / "scale.json").read_text())["times faster than the loop"]
    assert set(kept) == {f"{name}, {n_classes}, {width}" for name, _, n_classes, width, _ in guard.CASES}
    assert all(ratio > 1 for ratio in kept.values())


def test_every_compiled_case_has_a_stored_ratio(guard: Any) -> None:
    kept = json.loads((BENCHMARKS / "results" / "scale.json").read_text())[guard.NUMBA]
    compiled = [case for case in guard.CASES if isinstance(case[1], guard.COMPILED)]
    assert set(kept) == {f"{name}, {n_classes}, {width}" for name, _, n_classes, width, _ in compiled}


def test_every_kind_of_kept_trees_has_a_stored_ratio_and_few_questions_are_quicker(guard: Any) -> None:
    kept = json.loads((BENCHMARKS / "results" / "scale.json").read_text())[guard.TREES]
    looked_at = [
        f"{name}, {n_classes} classes, {n_teachers} teachers, {n} at once"
        for name, _, n_classes, sizes in guard.SOME_KEPT
        for n_teachers in sizes
        for n in guard.FEW_KEPT
    ]
    assert len(looked_at) >= 10
    assert all(kept[called] > 1 for called in looked_at)


def test_what_was_found_is_told_with_the_load(guard: Any) -> None:
    shares, trees = {"voting": 0.5}, {"forest": 40.0}
    found = {guard.LOOP: {"ridge": 30.0}, guard.NUMBA: {}, guard.PRODUCT: shares, guard.TREES: trees}
    assert "nothing has become slower" in guard.in_words(found, [], "load 2")
    told = guard.in_words(found, ["ridge: 1.00, stored 30.00"], "load 2")
    assert "(load 2): ridge: 1.00, stored 30.00." in told
    assert "By numba, not looked at" in told
    assert "one by one, forest: 40.0." in told
