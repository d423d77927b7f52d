"""Neighbours show the same bytes: every verb and method on tables that differ in one person like nobody else.

The design covers the lists rather than their product: some cases meet every neighbour of their kind, all others a
few that hold many oddities at once. The second side of every pair runs a day later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from cases import CASES, Case
from frozen import PLACES, UNREACHED
from neighbours import FORMS, Neighbour, neighbours
from side import difference

THOROUGH = {
    "teachers, a preset": (".csv", ".parquet"),
    "cells, points": (".csv", ".arrow", ".jsonl"),
    "columns by hand": (".csv", ".parquet", ".jsonl"),
    **dict.fromkeys(("classifier, teachers", "classifier, cells", "classifier, records", "predictor"), FORMS),
    **dict.fromkeys(("classifier, labels", "classifier, cells of labels"), FORMS),
    **dict.fromkeys(("classifier, replaced", "classifier, replaced in cells"), FORMS),
    **dict.fromkeys(("teachers, replaced", "answer, stable"), (".csv",)),
    **dict.fromkeys(("labels, teachers", "labels, cells"), (".csv", ".jsonl")),
    **dict.fromkeys(("aggregate counts", "aggregate by link"), (".npy",)),
    **dict.fromkeys(("aggregate single votes", "images", "cells, only one record"), (".csv", ".parquet")),
    "moments, images": (".parquet",),
    **dict.fromkeys(("labels, moments", "labels, regression", "labels, several"), (".csv",)),
}
"""These cases meet every neighbour of their kind, in these forms."""

TELLING = (
    *("everything, first (.csv)", "illegible (.csv)", "label outside (.csv)", "float64s (.npy)"),
    *("words for numbers (pandas)", "gaps (polars)", "not finite (numpy)", "label outside (pandas)"),
)
"""These neighbours meet every case of their kind."""

BY_TURNS = ("nobody (.csv)", "text (.parquet)", "nobody else, all odd (.csv)", "gaps in label and unit (.arrow)")
"""These meet one case after the other."""


def design() -> Iterator[tuple[Case, Neighbour]]:
    """Pair cases with neighbours."""
    for number, case in enumerate(CASES):
        telling = (*TELLING, BY_TURNS[number % len(BY_TURNS)])
        for one in neighbours():
            if one.kind == case.kind and (one.suffix in THOROUGH.get(case.name, ()) or str(one) in telling):
                yield case, one


def test_every_neighbour_meets_two_cases() -> None:
    """Those whose kind has two cases."""
    met = Counter((one.name, one.kind) for _, one in design())
    of_kind = Counter(case.kind for case in CASES)
    assert set(of_kind) == {one.kind for one in neighbours()}
    assert [one for one in neighbours() if met[one.name, one.kind] < min(2, of_kind[one.kind])] == []
    least = {case.name: min(2, sum(one.kind == case.kind for one in neighbours())) for case in CASES}
    times = Counter(case.name for case, _ in design())
    assert [
        name for name, number in least.items() if times[name] < number and not name.startswith("aggregate")
    ] == []


@pytest.mark.parametrize(("case", "neighbour"), [pytest.param(*p, id=f"{p[0]} | {p[1]}") for p in design()])
def test_one_person_shows_nowhere(replays: Any, case: Case, neighbour: Neighbour) -> None:
    found = difference(*replays.both(case, neighbour))
    if found is not None:
        pytest.fail(found, pytrace=False)


def test_every_case_does_what_it_is_for(replays: Any) -> None:
    """A verb that refuses every table looks the same on all of them, and says nothing.

    It stands here because the first sides of all pairs are made once a file.
    """
    wrong, passed = {}, set()
    for case in CASES:
        seen, places = replays.base(case, next(one.base for one in neighbours() if one.kind == case.kind))
        codes = [int(code) for name, code in seen.items() if name.endswith("exit code")]
        refusal = seen.get("refused", b"".join(said for name, said in seen.items() if name.endswith("stderr")))
        if (codes or [0])[-1] != case.code or any(codes[:-1]) or "refused" in seen:
            wrong[case.name] = refusal.decode()[-300:]
        elif not places and case.code != 2:
            wrong[case.name] = "passes no place where private values meet noise"
        passed |= set(places)
    assert wrong == {}
    assert set(PLACES) - passed == set(UNREACHED)
