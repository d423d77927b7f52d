"""``mapl bounds`` prints what theorems promise, with what they assume, and refuses what makes no sense."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mapl.bounds import Bound
from mapl.bounds.btt18 import theorems as btt18
from mapl.bounds.btt18.rates import realizable_rate
from mapl.cli.planning.bounds import PAPERS, Argument, arguments_of
from mapl.errors import InvalidParameter

Mapl = Callable[..., Any]

GIVEN = ("--n", "1e9", "--vc", "3", "--epsilon", "1", "--delta", "1e-6", "--m", "1000", "--beta", "1/20")


def test_a_bound_with_its_terms_and_the_whole_privacy_promise(mapl: Mapl) -> None:
    ran = mapl("bounds", "btt18", "theorem-3.4", *GIVEN)
    assert ran.code == 0
    assert "theorem-3.4" in ran.stdout
    assert "0.016" in ran.stdout
    assert "teachers 17274" in ran.stdout
    assert "epsilon 1 at delta 1e-6" in ran.stdout
    assert "adjacency: one teacher's votes change arbitrarily" in ran.stdout
    assert "unit: one teacher" in ran.stdout


def test_the_json_is_what_the_function_returns(mapl: Mapl) -> None:
    shown = json.loads(mapl("bounds", "btt18", *GIVEN, "--json").stdout)
    assert shown["paper"] == "btt18"
    assert shown["given"]["beta"] == "1/20"
    found = {row["name"]: row for row in shown["bounds"]}
    expected = realizable_rate(10**9, 3, 1.0, 1e-6, 1000, 0.05)
    row = found["theorem-3.4"]
    assert (row["value"], row["meaning"], row["source"]) == (expected.value, expected.meaning, expected.source)
    assert row["terms"] == dict(expected.terms)
    assert tuple(row["assumptions"]) == expected.assumptions
    left = {row["name"]: row["reason"] for row in shown["not_computed"]}
    assert left["theorem-4.2"] == "needs --alpha."
    assert set(found) | set(left) == set(btt18.BOUNDS)


def test_every_assumption_that_is_numbered_is_listed(mapl: Mapl) -> None:
    ran = mapl("bounds", "btt18", *GIVEN, "--alpha", "0.02", "--gamma", "0.01", "--cutoff", "20")
    assert ran.code == 0
    for words in ("13. ", "the label of one row", "Not computed: lemma-3.3: needs --teachers, --mistakes."):
        assert words in ran.stdout


def test_one_impossible_bound_does_not_hide_the_others(mapl: Mapl) -> None:
    small = mapl("bounds", "btt18", *GIVEN, "--n", "1e6")
    assert small.code == 0
    assert "Not computed: theorem-3.4: No cutoff below m = 1000" in small.stdout
    assert "n would have to grow from 1000000 to about" in small.stdout
    alone = mapl("bounds", "btt18", "theorem-3.4", *GIVEN, "--n", "1e6")
    assert (alone.code, alone.stdout) == (2, "")
    assert "n would have to grow from 1000000 to about" in alone.stderr


def test_the_constants_can_be_the_printed_ones(mapl: Mapl) -> None:
    printed = mapl("bounds", "btt18", "theorem-3.1", *GIVEN, "--cutoff", "20", "--constants", "printed", "--json")
    terms = json.loads(printed.stdout)["bounds"][0]["terms"]
    assert terms["lambda"] == pytest.approx(96.36, abs=0.01)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_lists_its_bounds_and_their_needs(mapl: Mapl, paper: str) -> None:
    ran = mapl("bounds", paper)
    assert ran.code == 0
    assert "--epsilon" in ran.stdout
    helped = mapl("bounds", paper, "--help")
    assert helped.code == 0
    assert "--epsilon" in helped.stdout


def test_the_papers_are_listed(mapl: Mapl) -> None:
    ran = mapl("bounds", "--help")
    assert ran.code == 0
    assert all(paper in ran.stdout for paper in PAPERS)


def test_parameters_are_read_off_the_signature() -> None:
    def invented(rows_each: int, share: float | None = None, *, note: str = "") -> Bound:
        raise NotImplementedError((rows_each, share, note))

    found = arguments_of(invented)
    assert [(a.option, a.kind, a.required) for a in found.values()] == [
        ("--rows-each", int, True),
        ("--share", float, False),
        ("--note", str, False),
    ]


@pytest.mark.parametrize(("text", "value"), [("1e6", 10**6), (" 42 ", 42), ("1_000", 1000), ("10/2", 5)])
def test_whole_numbers_may_be_written_in_short(text: str, value: int) -> None:
    assert Argument("n", int, None).value(text) == value


@pytest.mark.parametrize("text", ["", "many", "1.5", "nan", "inf", "1/0", "0x10"])
def test_other_texts_are_no_whole_numbers(text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"^--n is .*; it must be a "):
        Argument("n", int, None).value(text)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("--n", "0"), "n is 0; it must be a whole number from 1 to 1,000,000,000,000"),
        (("--n", "1e13"), "n is 10000000000000; it must be"),
        (("--m", "0"), "m is 0; it must be"),
        (("--m", "lots"), "--m is 'lots'; it must be a number"),
        (("--epsilon", "-1"), "epsilon is -1.0; it must be"),
        (("--epsilon", "nan"), "--epsilon is 'nan'; it must be a number"),
        (("--epsilon", "1e999999999999"), "--epsilon is '1e999999999999'; it must be a number"),
        (("--delta", "0"), "delta is 0.0; it must be"),
        (("--beta", "1"), "beta is 1.0; it must be"),
        (("--constants", "mine"), "--constants is 'mine'; it must be derived or printed"),
    ],
)
def test_bad_numbers_are_refused(mapl: Mapl, changed: tuple[str, str], message: str) -> None:
    ran = mapl("bounds", "btt18", *GIVEN, *changed)
    assert (ran.code, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("n", ["1", "1e12"])
@pytest.mark.parametrize("m", ["1", "1e12"])
def test_extreme_sizes_are_answered(mapl: Mapl, n: str, m: str) -> None:
    ran = mapl("bounds", "btt18", *GIVEN, "--n", n, "--m", m, "--alpha", "0.01")
    assert ran.code == 0
    assert "would have to" in ran.stdout


def test_too_little_unknown_bounds_and_unknown_papers_are_refused(mapl: Mapl) -> None:
    little = mapl("bounds", "btt18", "--n", "100")
    assert (little.code, little.stdout) == (2, "")
    assert "theorem-2.4 needs --epsilon, --delta." in little.stderr
    unknown = mapl("bounds", "btt18", "theorem-9.9", *GIVEN)
    assert unknown.code == 2
    assert "There is no bound 'theorem-9.9'. Choose from: theorem-2.4" in unknown.stderr
    assert mapl("bounds", "nobody99", *GIVEN).code == 2
    assert mapl("bounds", "btt18", "--sigma", "1").code == 2
