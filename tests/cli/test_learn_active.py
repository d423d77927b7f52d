"""``mapl learn --strategy active``: a student that chooses the rows it asks about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from mapl.release.ledger.chain import check_export

Mapl = Callable[..., Any]
QUESTIONS = 40


def chain() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("run/public/ledger.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("choice", ["margin", "committee", "robust-cal"])
def test_rows_are_chosen(mapl: Mapl, clinic: Any, choice: str) -> None:
    more = ("--strategy", "active", "--queries", QUESTIONS, "--active", choice, "--test", clinic.test, "--json")
    ran = mapl(*clinic.arguments(*more))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["strategy"] == "active"
    assert said["mechanism"] == "link"
    assert said["answered"] <= QUESTIONS
    assert said["guaranteed_epsilon"] <= 20
    assert said["accuracy"] > 0.65
    statuses = pyarrow.parquet.read_table("run/public/labels.parquet")["status"].to_pylist()
    assert statuses.count("answered") == said["answered"]
    assert statuses.count("not asked") == 150 - said["answered"]
    settings = json.loads(Path("run/public/settings.json").read_text())
    assert (settings["strategy"], settings["questions"], settings["label_service"]) == ("active", choice, "auto")
    plan = json.loads(Path("run/public/plan.json").read_text())
    assert [stage["name"] for stage in plan["stages"]] == ["labels"]
    assert f"{QUESTIONS} of 150 public rows, chosen by {choice}, are asked of link" in plan["why"]
    check_export(chain())
    assert "The student chose the rows to ask about" in Path("run/public/card.md").read_text()


def test_the_ledger_says_which_rows_were_asked(mapl: Mapl, clinic: Any) -> None:
    assert mapl(*clinic.arguments("--strategy", "active", "--queries", QUESTIONS)).code == 0
    rows = [row for entry in chain() for row in entry["payload"].get("rows", ())]
    labels = pyarrow.parquet.read_table("run/public/labels.parquet")
    assert len(set(rows)) == len(rows) == QUESTIONS
    answered = [row for row, status in enumerate(labels["status"].to_pylist()) if status == "answered"]
    assert sorted(rows) == answered


def test_a_quarter_of_the_rows_unless_said(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--strategy", "active", "--json"))
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["answered"] == 37


def test_the_ladder_answers(mapl: Mapl, clinic: Any) -> None:
    more = ("--strategy", "active", "--queries", QUESTIONS, "--label-service", "ladder", "--max-abstentions", 30)
    ran = mapl(*clinic.arguments(*more, "--json"))
    assert ran.code in (0, 3), ran.stderr
    said = json.loads(ran.stdout)
    assert said["mechanism"] == "ladder"
    assert said["answered"] + said["abstained"] <= QUESTIONS
    assert said["abstained"] <= 30


@pytest.mark.parametrize("choice", ["margin", "robust-cal"])
def test_hybrid(mapl: Mapl, clinic: Any, choice: str) -> None:
    """Two stages that share the budget, one statement that covers both."""
    more = ("--strategy", "active", "--queries", 20, "--label-service", "hybrid", "--active", choice)
    ran = mapl(*clinic.arguments(*more, "--test", clinic.test, "--json"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    statement = json.loads(Path("run/public/statement.json").read_text())
    plan = json.loads(Path("run/public/plan.json").read_text())
    assert [(one["name"], one["mechanism"]) for one in plan["stages"]] == [
        ("consensus", "ladder"),
        ("labels", "link"),
    ]
    assert [one["budget"]["epsilon"] for one in plan["stages"]] == [10.0, 10.0]
    assert [one["name"] for one in statement["stages"]] == ["consensus", "labels"]
    assert statement["guaranteed_epsilon"] <= 20
    assert statement["delta"] <= 1e-5
    assert sum(one["epsilon"] for one in statement["stages"]) <= statement["guaranteed_epsilon"]
    assert "(consensus)" in statement["in_plain_words"]
    labels = pyarrow.parquet.read_table("run/public/labels.parquet")["status"].to_pylist()
    assert labels.count("fallback") <= 20
    assert labels.count("answered") + labels.count("fallback") == statement["answered"]
    assert labels.count("abstained") == statement["abstained"]
    assert said["accuracy"] > 0.65
    check_export(chain())


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--active", "margin"), "--active and --label-service are for --strategy active"),
        (("--strategy", "plain", "--label-service", "link"), "the strategy is plain"),
        (
            ("--strategy", "voting", "--fill", "random"),
            "--fill is for --strategy imputed, and the strategy is voting",
        ),
        (("--voters", 3), "--voters is for --strategy voting, and the strategy is auto"),
        (("--strategy", "imputed", "--fill", "often"), "fill is 'often'; give the number of a class, or 'random'"),
        (("--strategy", "active", "--mechanism", "link"), "a mechanism was named"),
        (("--strategy", "active", "--error-share", 0.1), "an estimate of the teachers' error was asked for"),
        (("--strategy", "active", "--may-abstain"), "leave to abstain was given"),
        (("--strategy", "active", "--method", "select:teachers,cells"), "several methods are to be tried"),
        (("--strategy", "active", "--method", "cells"), "Cells have no teachers"),
        (("--strategy", "active", "--queries", 0), "queries is 0"),
        (("--strategy", "active", "--max-abstentions", 3), "link has no setting max_abstentions"),
    ],
)
def test_what_does_not_fit_is_refused(mapl: Mapl, clinic: Any, more: tuple[Any, ...], part: str) -> None:
    ran = mapl(*clinic.arguments(*more, private=Path("nowhere.parquet")))
    assert ran.code == 2
    assert part in ran.stderr
    assert not Path("run").exists()
