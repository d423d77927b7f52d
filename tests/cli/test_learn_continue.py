"""``mapl learn --continue``: several runs on the same people within one budget, from files to statements."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Mapl = Callable[..., Any]

FIRST = ("--queries", 8, "--out", "january")


def statement(run: str) -> dict[str, Any]:
    return dict(json.loads((Path(run) / "public" / "statement.json").read_text()))


def read(name: str, run: str = "february") -> str:
    return (Path(run) / "public" / name).read_text()


def plan(run: str) -> dict[str, Any]:
    return dict(json.loads((Path(run) / "public" / "plan.json").read_text()))


@pytest.fixture
def january(mapl: Mapl, clinic: Any, tmp_path: Path) -> float:
    """Carry out a first run and return its epsilon."""
    ran = mapl(*clinic.arguments(*FIRST, teachers=10))
    assert ran.code == 0, ran.stderr
    return float(statement("january")["budget_epsilon"])


def going_on(clinic: Any, *more: Any, epsilon: float, delta: str = "1e-4", out: str = "february") -> list[Any]:
    return [
        *clinic.arguments("--queries", 8, "--out", out, teachers=10),
        *("--epsilon", epsilon, "--delta", delta, *more),
    ]


def test_no_worse_way_is_taken_where_nothing_is_left_of_delta(mapl: Mapl, clinic: Any, january: float) -> None:
    """Moments would be taken, and need some: whoever gave the same delta twice has not asked for another way."""
    whole = plan("january")["budget"]["delta"]
    wanted = going_on(clinic, "--continue", "january", epsilon=january + 5, delta=f"{whole:g}")
    for name in ("--teachers", "--queries"):
        at = wanted.index(name)
        del wanted[at : at + 2]
    ran = mapl(*wanted)
    assert ran.code == 2
    assert f"leave nothing of delta {whole:g}" in ran.stderr
    assert f"--delta {2 * whole:g}" in ran.stderr
    assert not Path("february").exists()
    assert mapl(*wanted, "--method", "cells").code == 0


def test_a_second_run_spends_what_the_first_left(mapl: Mapl, clinic: Any, january: float) -> None:
    ran = mapl(*going_on(clinic, "--continue", "january", epsilon=january + 5))
    assert ran.code == 0, ran.stderr
    said, first = statement("february"), statement("january")
    assert said["budget_epsilon"] == pytest.approx(5)
    assert said["guaranteed_epsilon"] <= 5
    together = said["together"]
    assert together["epsilon"] == pytest.approx(january + 5)
    assert together["epsilon"] <= together["allowed_epsilon"] == january + 5
    assert together["delta"] <= together["allowed_delta"] == 1e-4
    assert (together["adjacency"], together["unit"]) == (said["adjacency"], said["unit"])
    assert [run["run"] for run in together["earlier_runs"]] == ["january"]
    assert together["earlier_runs"][0]["ledger_head"] == first["ledger_head"]
    assert plan("february")["together"]["runs"] == together["earlier_runs"]
    runs = "Together with the earlier run january on the same people"
    words = f"{runs} the promise is epsilon {january + 5:g} (delta"
    assert words in said["in_plain_words"]
    assert words in read("card.md")
    assert words in read("report.html")
    assert f"epsilon and delta of all runs together, at most | {january + 5:g}, 0.0001" in read("card.md")
    assert "<dt>with earlier runs</dt>" in read("report.html")
    table = " ".join(ran.stdout.split())
    assert "with earlier runs" in table
    assert first["together"] is None
    assert "together" not in plan("january")


def test_a_third_run_counts_what_the_second_went_on_from(mapl: Mapl, clinic: Any, january: float) -> None:
    assert mapl(*going_on(clinic, "--continue", "january", epsilon=january + 5)).code == 0
    third = going_on(clinic, "--continue", "february", epsilon=january + 8, delta="2e-4", out="march")
    refused = mapl(*going_on(clinic, "--continue", "february", epsilon=january + 4, out="march"))
    assert refused.code == 2
    assert "The budget is exhausted: february, january have together promised" in refused.stderr
    # Naming the first run as well changes nothing: it counts once.
    both = ("--continue", "february", "--continue", "january")
    again = mapl("plan", "--epsilon", january + 8, "--delta", "2e-4", "--queries", 8, *both, "--json")
    planned = json.loads(again.stdout)
    assert planned["epsilon"] == pytest.approx(3)
    assert len(planned["earlier"]["runs"]) == 2
    ran = mapl(*third)
    assert ran.code == 0, ran.stderr
    said = statement("march")
    assert said["budget_epsilon"] == pytest.approx(3)
    assert [run["run"] for run in said["together"]["earlier_runs"]] == ["february", "january"]
    ids = [run["run_id"] for run in said["together"]["earlier_runs"]]
    assert ids == [statement("february")["run_id"], statement("january")["run_id"]]


def test_what_a_run_left_is_taken_once(mapl: Mapl, clinic: Any, january: float) -> None:
    assert mapl(*going_on(clinic, "--continue", "january", epsilon=january + 2)).code == 0
    total = ("--epsilon", january + 2, "--delta", "1e-4", "--queries", 8)
    for command in (
        going_on(clinic, "--continue", "january", epsilon=january + 2, out="march"),
        ("plan", *total, "--continue", "january"),
    ):
        refused = mapl(*command)
        assert refused.code == 2
        words = " ".join(refused.stderr.split())
        assert "The run february went on from january before and took epsilon 2 and delta" in words
        assert "name february with --continue as well" in words
    assert not Path("march").exists()
    named = ("--continue", "january", "--continue", "february")
    exhausted = mapl(*going_on(clinic, *named, epsilon=january + 2, out="march"))
    assert exhausted.code == 2
    assert "The budget is exhausted" in exhausted.stderr
    ran = mapl(*going_on(clinic, *named, epsilon=january + 3, delta="2e-4", out="march"))
    assert ran.code == 0, ran.stderr
    assert statement("march")["budget_epsilon"] == pytest.approx(1)


def test_runs_that_end_alike_in_folders_of_one_name_are_two(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    """2 and 2, then 3 after the first of them: all were once said to be 5, so that 7 had room for 2 more."""
    for out in ("a/january", "b/january"):
        assert mapl(*clinic.arguments("--queries", 8, "--out", out, teachers=10), "--epsilon", 2).code == 0
    # What equal outcomes gave before ledgers had ids: equal heads.
    file = Path("b/january/public/statement.json")
    file.write_text(json.dumps(statement("b/january") | {"ledger_head": statement("a/january")["ledger_head"]}))
    assert mapl(*going_on(clinic, "--continue", "a/january", epsilon=5, out="march")).code == 0
    both = ("--continue", "b/january", "--continue", "march")
    ran = mapl(*going_on(clinic, *both, epsilon=7, delta="2e-4", out="april"))
    assert ran.code == 2
    assert "have together promised epsilon 7 and" in " ".join(ran.stderr.split())
    assert not Path("april").exists()


def test_where_only_the_public_half_is_nothing_is_spent(mapl: Mapl, clinic: Any, january: float) -> None:
    shutil.rmtree("january/private")
    ran = mapl(*going_on(clinic, "--continue", "january", epsilon=january + 3))
    assert ran.code == 2
    assert "The private half of january is not here" in ran.stderr
    assert not Path("february").exists()
    total = ("--epsilon", january + 3, "--delta", "1e-4", "--queries", 8)
    planned = mapl("plan", *total, "--continue", "january")
    assert planned.code == 0, planned.stderr
    assert "they are not counted, and mapl learn will ask for it" in " ".join(planned.stderr.split())


@pytest.mark.parametrize("method", ["cells", "select:teachers,cells"])
def test_cells_and_selections_go_on_too(mapl: Mapl, clinic: Any, january: float, method: str) -> None:
    known = [str(one) for one in clinic.arguments()]
    options = ("--public", "--label", "--classes", "--unit")
    kept = [word for name in options for word in (name, known[known.index(name) + 1])]
    budget = ("--epsilon", january + 2, "--delta", "1e-4", "--continue", "january")
    ran = mapl(*known[:2], *kept, *budget, "--method", method, "--out", "more", "--jobs", 1, "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["guaranteed_epsilon"] == pytest.approx(2, rel=0.02)
    assert said["together"]["epsilon"] == pytest.approx(january + 2)
    # Cells have delta 0, and the whole budget counts all the same, as it will for later runs.
    assert said["together"]["delta"] == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("epsilon", "more", "parts"),
    [
        (-0.0001, (), ("The budget is exhausted", "Nothing is left of epsilon", "adjacency: add-remove; unit:")),
        (3.0, ("--continue", "january"), ("is given twice",)),
        (3.0, ("--continue", "nowhere"), ("nowhere holds no run", "plan.json is missing")),
    ],
)
def test_what_is_refused_spends_nothing(
    mapl: Mapl, clinic: Any, january: float, epsilon: float, more: tuple[Any, ...], parts: tuple[str, ...]
) -> None:
    ran = mapl(*going_on(clinic, "--continue", "january", *more, epsilon=january + epsilon))
    assert ran.code == 2
    assert all(part in ran.stderr for part in parts), ran.stderr
    assert not Path("february").exists()


def test_another_promise_is_refused(mapl: Mapl, clinic: Any, january: float) -> None:
    ran = mapl(*going_on(clinic, "--continue", "january", "--adjacency", "replace-one", epsilon=january + 3))
    assert ran.code == 2
    assert "do not add up to one promise; ask for the same adjacency and unit" in ran.stderr
    assert not Path("february").exists()


def test_a_run_does_not_go_on_from_itself(mapl: Mapl, clinic: Any, january: float) -> None:
    ran = mapl(*going_on(clinic, "--continue", "january", epsilon=january + 3, out="./january"))
    assert ran.code == 2
    assert "a run cannot go on from itself" in ran.stderr


def test_delta_counts_as_well(mapl: Mapl, clinic: Any, january: float) -> None:
    ran = mapl(*going_on(clinic, "--continue", "january", epsilon=january + 3, delta="1e-9"))
    assert ran.code == 2
    assert "Nothing is left of delta" in ran.stderr


def test_a_run_without_privacy_cannot_be_gone_on_from(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    assert mapl(*clinic.arguments(*FIRST, "--seed", 1, teachers=10)).code == 0
    ran = mapl(*going_on(clinic, "--continue", "january", epsilon=30))
    assert ran.code == 2
    assert "january was not private" in ran.stderr
