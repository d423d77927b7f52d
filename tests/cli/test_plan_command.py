"""``mapl plan``: what it prints, the fields of its JSON, bad input, and that it is quick."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.cli.planning.plan_wording import WITHIN_A_POINT
from mapl.planning.plan import Plan, Stage
from mapl.release.statement.plain_words import at_most
from mapl.types import Budget

Mapl = Callable[..., Any]

CURVE = ("--error-at", "100:0.20,1000:0.16")
USUAL = ("plan", "--epsilon", 1, "--delta", "1e-6", "--rows", 20000, "--queries", 1000, *CURVE)
FIELDS = {
    *("schema", "epsilon", "delta", "adjacency", "unit", "rows", "queries", "n_classes", "must_answer"),
    *("learning_curve", "agreement", "solved_for", "value", "wish", "proposals", "cells", "earlier", "out"),
    *("ways", "commonest_class", "cautions", "teachers_refused", "rests_on", "costs"),
}
WAY_FIELDS = {
    *("rank", "method", "what", "epsilon", "delta", "student_accuracy", "student_forecast", "error", "assumes"),
    "command",
}
PROPOSAL_FIELDS = {
    *("rank", "mechanism", "teachers", "rows_per_teacher", "asked", "max_abstentions", "parameters", "answered"),
    *("answered_with_winner", "abstained", "label_accuracy", "plurality_accuracy", "student_accuracy"),
    *("student_forecast", "calibrated", "assumes", "command", "caution"),
}
MOST_CPU = 6.0
"""Seconds; an idle core needs less than 2 with start-up, and this machine may be busy."""


def earlier_run(folder: Path, *, epsilon: float = 0.4, unit: str = "record", finished: bool = True) -> Path:
    """Write the public files that tell what a run has promised."""
    budget = Budget(epsilon, 1e-7)
    stages = (Stage("labels", "ladder", {}, budget),)
    plan = Plan(("no", "yes"), 250, "add-remove", unit, 1000, budget, stages, "as asked")
    public = folder / "public"
    public.mkdir(parents=True)
    (public / "plan.json").write_text(plan.to_json())
    said = {"guaranteed_epsilon": epsilon, "delta": 1e-7, "private": True, "plan_digest": plan.digest}
    if finished:
        (public / "statement.json").write_text(json.dumps(said | {"ledger_head": folder.name}))
    return folder


def test_a_table_with_assumptions_and_all_terms_of_epsilon(mapl: Mapl) -> None:
    ran = mapl(*USUAL)
    assert ran.code == 0, ran.stderr
    words = " ".join(ran.stdout.split())
    assert "ladder" in words
    assert "link" in words
    for line in ran.stdout.splitlines():
        if "epsilon" in line and "mapl learn" not in line:
            assert "delta" in line
            assert "adjacency: one record is added" in line
            assert "unit: one record" in line
    assert "Assumed of the first plan for teachers: One teacher errs on" in words
    assert "Assumed of cells, 1000 of them at epsilon 1, pure (delta 0;" in words
    assert "To carry the first out: mapl learn" in words
    assert words.count("mapl learn PRIVATE --public PUBLIC") == 3  # moments, cells and teachers


def test_costs_are_told_per_engine_in_words_and_json(mapl: Mapl) -> None:
    small = ("plan", "--epsilon", 1, "--delta", "1e-6", "--rows", 20000, "--queries", 1000, "--teachers", 400)
    ran = mapl(*small, "--costs", "--columns", 3, "--jobs", 2, "--json")
    assert ran.code == 0, ran.stderr
    costs = json.loads(ran.stdout)["costs"]
    assert {(one["method"], one["engine"]) for one in costs} == {
        ("teachers", engine) for engine in ("local", "dask", "ray")
    }
    for one in costs:
        assert set(one) == {"method", "engine", "workers", "seconds", "memory", "worker_memory"}
        assert one["seconds"] > 0
    ran = mapl(*small, "--costs", "--columns", 3)
    words = " ".join(ran.stdout.split())
    assert "What a run takes" in words
    assert "3 columns of numbers, measured for a few seconds on made-up rows" in words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--columns", 5), "--columns belongs to --costs"),
        (("--memory", "1GB"), "--memory belongs to --costs"),
        (("--costs", "--columns", 0), "There are 0 columns"),
        (("--costs", "--jobs", 0), "give a number of processes"),
        (("--costs", "--learner", "nobody"), "There is no learner 'nobody'"),
    ],
)
def test_costs_refuse_what_they_cannot_be_about(mapl: Mapl, options: tuple[Any, ...], words: str) -> None:
    ran = mapl(
        "plan", "--epsilon", 1, "--delta", "1e-6", "--rows", 9000, "--queries", 9, "--teachers", 90, *options
    )
    assert ran.code == 2
    assert words in ran.stderr


def test_the_fields_of_the_json(mapl: Mapl) -> None:
    ran = mapl(*USUAL, "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert set(said) == FIELDS
    assert (said["epsilon"], said["delta"], said["rows"], said["queries"]) == (1, 1e-6, 20000, 1000)
    assert [one["rank"] for one in said["proposals"]] == list(range(1, len(said["proposals"]) + 1))
    assert all(set(one) == PROPOSAL_FIELDS for one in said["proposals"])
    assert all(set(one) == WAY_FIELDS for one in said["ways"])
    assert {one["method"] for one in said["ways"]} == {"moments", "cells", "teachers"}
    accuracies = [one["student_accuracy"] for one in said["ways"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert said["rests_on"] == "learning curve"
    assert "mapl aggregate" not in said["proposals"][0]["command"]
    assert said["cells"]["delta"] == 0
    assert said["solved_for"] is said["wish"] is said["earlier"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        USUAL,
        ("plan", "--delta", "1e-6", "--rows", 20000, "--queries", 1000, "--want-accuracy", 0.83, *CURVE),
    ],
)
def test_it_is_quick_with_start_up(arguments: tuple[Any, ...], tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mapl", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, timeout=900)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stderr
    if "--epsilon" not in arguments:
        assert "it takes at least epsilon" in ran.stdout.decode()
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < MOST_CPU


def test_it_does_not_import_what_it_does_not_need(tmp_path: Path) -> None:
    code = (
        "import sys, mapl.cli; assert not {'sklearn', 'scipy.signal', 'scipy.stats', 'jinja2'} & set(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, timeout=900)
    assert ran.returncode == 0, ran.stderr


def test_epsilon_is_solved_for(mapl: Mapl) -> None:
    ran = mapl(
        *("plan", "--delta", "1e-6", "--rows", 20000, "--queries", 1000, *CURVE, "--want-accuracy", 0.83, "--json")
    )
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["solved_for"] == "epsilon"
    assert said["value"] == said["epsilon"] > 0
    assert said["wish"] == {"answered": None, "accuracy": 0.83}
    assert said["proposals"][0]["student_accuracy"] >= 0.83


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*USUAL, "--rows", 0), "rows is 0; give a whole number from 1"),
        ((*USUAL, "--rows", 10**12), "rows is 1000000000000"),
        ((*USUAL, "--queries", 0), "queries is 0"),
        ((*USUAL, "--queries", 10**12), "queries is 1000000000000"),
        ((*USUAL, "--error-at", "100:0.1,1000:0.2"), "never grows"),
        ((*USUAL, "--error-at", "100:1.5"), "a rate lies in [0, 1]"),
        ((*USUAL, "--error-at", "many:few"), "write rows:error"),
        ((*USUAL, "--agreement", "0.9"), "one of them only"),
        ((*USUAL, "--n-classes", 0), "There are 0 classes (--classes); plans are made for 2 to"),
        ((*USUAL[:-2], "--n-classes", 0), "plans are made for 2 to"),
        ((*USUAL, "--label", "x"), "--label belongs to --public-sample"),
        ((*USUAL, "--learning-curve", "none.csv"), "not both"),
        ((*USUAL, "--want-answered", 0.9, "--want-accuracy", 0.8), "exactly one"),
        ((*USUAL, "--want-answered", 0.9, "--teachers", 9, "--max-abstentions", 9), "Nothing is left to solve for"),
        ((*USUAL, "--epsilon", "nan"), "epsilon is nan"),
        ((*USUAL, "--delta", 1), "delta is 1"),
        ((*USUAL, "--adjacency", "replace-one"), "needs a column of ids"),
        ((*USUAL, "--continue", "nowhere"), "holds no run: plan.json is missing"),
        ((*USUAL, "--teachers", 10**6), "teachers cannot learn from 20000 rows"),
        (("plan", "--delta", "1e-6", "--queries", 9, *CURVE), "epsilon and rows are not given"),
        (("plan", "--delta", "1e-6", "--queries", 9, "--rows", 100, *CURVE), "epsilon is not given. Give it, or"),
        ((*USUAL, "--want-accuracy", 0.99), "the learner itself comes to an accuracy of"),
        (
            (*USUAL[:1], "--epsilon", 0.5, "--delta", "1e-6", "--rows", 40, "--queries", 10, *CURVE),
            "would have to grow",
        ),
    ],
)
def test_bad_input_is_refused_in_words(mapl: Mapl, arguments: tuple[Any, ...], words: str) -> None:
    ran = mapl(*arguments)
    assert ran.code == 2, ran.stdout
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


def test_a_curve_may_stand_in_a_file(mapl: Mapl, tmp_path: Path) -> None:
    (tmp_path / "curve.json").write_text('{"100": 0.20, "1000": 0.16}')
    (tmp_path / "curve.csv").write_text("rows,error\n100,0.20\n1000,0.16\n")
    answers = [
        json.loads(mapl(*USUAL[:-2], *option, "--json").stdout)
        for option in (CURVE, ("--learning-curve", "curve.json"), ("--learning-curve", "curve.csv"))
    ]
    assert answers[0] == answers[1] == answers[2]
    broken = mapl(*USUAL[:-2], "--learning-curve", "nothing.json")
    assert broken.code == 2
    assert "cannot be read" in broken.stderr
    (tmp_path / "deep.json").write_text("[" * 100_000)
    deep = mapl(*USUAL[:-2], "--learning-curve", "deep.json")
    assert deep.code == 2
    assert "Traceback" not in deep.stderr


def test_an_agreement_may_be_declared_instead(mapl: Mapl) -> None:
    ran = mapl(*USUAL[:-2], "--agreement", "0.97:0.8,0.6:0.2", "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["agreement"] == "0.97:0.8,0.6:0.2"
    assert all(one["student_accuracy"] is None for one in said["proposals"])
    usual = json.loads(mapl(*USUAL[:-2], "--json").stdout)
    assert usual["agreement"] == "0.95:0.6,0.75:0.25,0.55:0.15"  # what was assumed is said
    assert json.loads(mapl(*USUAL, "--json").stdout)["agreement"] is None


def test_what_is_no_accuracy_does_not_read_like_one(mapl: Mapl) -> None:
    ran = mapl(*USUAL[:-2])
    assert ran.code == 0, ran.stderr
    words = " ".join(ran.stdout.split())
    assert "No accuracy is forecast, because nothing tells how well your data can be learned." in words
    assert "It is no accuracy: nothing tells how often that winner is right." in words
    assert "agrees with" in words
    assert "labels" not in words.split("Plans for teachers")[1].split("Assumed")[0]
    said = json.loads(mapl(*USUAL[:-2], "--json").stdout)
    assert said["rests_on"] == "agreement assumed by default"
    assert [one["method"] for one in said["ways"]] == ["moments", "cells", "teachers"]
    assert all(one["student_accuracy"] is one["student_forecast"] is None for one in said["ways"])


def test_too_few_rows_are_said_plainly(mapl: Mapl) -> None:
    few = mapl("plan", "--epsilon", 0.25, "--delta", "1e-6", "--rows", 1000, "--queries", 500, *CURVE)
    assert few.code == 0, few.stderr
    assert "Too few rows: about 1,000 units at this budget" in few.stdout
    assert "DP-SGD" not in few.stdout
    small = mapl("plan", "--epsilon", 2, "--delta", "1e-6", "--rows", 2000, "--queries", 500, *CURVE)
    assert "logistic regression by DP-SGD may do better" in small.stdout
    assert "Too few rows" not in small.stdout
    assert "DP-SGD" not in mapl(*USUAL).stdout


def test_others_are_planned_for_where_teachers_cannot(mapl: Mapl) -> None:
    asked = ("plan", "--epsilon", 0.1, "--delta", "1e-6", "--rows", 4000, "--queries", 50, "--n-classes", 9)
    ran = mapl(*asked, "--error-at", "100:0.5,1000:0.4")
    assert ran.code == 0, ran.stderr
    assert "No plan for teachers: " in ran.stdout
    assert "To carry the first out: mapl learn" in ran.stdout
    said = json.loads(mapl(*asked, "--error-at", "100:0.5,1000:0.4", "--json", "--out", "plan.html").stdout)
    assert said["proposals"] == []
    assert said["teachers_refused"]
    assert "teachers" not in {one["method"] for one in said["ways"]}


def test_a_public_sample_is_measured(mapl: Mapl, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 3))
    sick = np.where(x[:, 0] + 0.5 * rng.normal(size=240) > 0, "yes", "no")
    pa.parquet.write_table(
        pa.table({"who": range(240), "a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "sick": sick}),
        tmp_path / "sample.parquet",
    )
    sample = ("--public-sample", "sample.parquet", "--label", "sick", "--learner", "nb", "--teachers", 100)
    sample = (*sample, "--unit", "who")
    ran = mapl(*USUAL[:-2], *sample, "--json")
    assert ran.code == 0, ran.stderr
    assert "columns of the sample: 3 numbers" in " ".join(ran.stderr.split())  # and no ids
    said = json.loads(ran.stdout)
    assert said["learning_curve"].count(":") >= 3
    assert said["proposals"][0]["student_accuracy"] > 0.6
    assert any("measured on the public sample" in words for words in said["proposals"][0]["assumes"])
    # 240 rows cannot be asked 1000 questions, so the rule stays and says so.
    assert {one["student_forecast"] for one in said["proposals"] if one["asked"] > 120} == {"rule"}
    numbers = mapl(*USUAL[:-2], "--public-sample", "sample.parquet", "--label", "a")
    assert numbers.code == 2
    assert "Column 'a' of the public sample has 240 different values; plans are made for 2 to 100" in numbers.stderr
    assert str(x[0, 0])[:6] not in numbers.stderr
    wrong = mapl(*USUAL[:-2], "--public-sample", "sample.parquet", "--label", "health")
    assert wrong.code == 2
    assert "has no column 'health'" in wrong.stderr


def test_nobody_in_a_public_sample_is_learned_from_and_tested_on(mapl: Mapl, tmp_path: Path) -> None:
    """Labels are a coin for everybody: who knows a person's other rows knows the label, and nobody else does."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(150), 10)
    x, sick = rng.normal(size=(150, 4))[who], rng.integers(2, size=150)[who]
    columns = {"who": who, **{f"x{j}": x[:, j] for j in range(4)}, "sick": np.where(sick, "yes", "no")}
    pa.parquet.write_table(pa.table(columns), tmp_path / "sample.parquet")
    asked = (
        "plan",
        "--epsilon",
        2,
        "--delta",
        "1e-6",
        "--rows",
        4000,
        "--queries",
        60,
        "--teachers",
        100,
        "--json",
    )
    asked = (*asked, "--public-sample", "sample.parquet", "--label", "sick", "--learner", "hgb")
    told = {}
    for unit in ("who", "none"):
        ran = mapl(*asked, "--unit", unit, *(() if unit == "who" else ("--drop", "who")))
        assert ran.code == 0, ran.stderr
        curve = json.loads(ran.stdout)["learning_curve"]
        told[unit] = 1 - min(float(point.partition(":")[2]) for point in curve.split(","))
        assert ("one row of each who counts, 150 of 1,500" in " ".join(ran.stderr.split())) == (unit == "who")
    assert told["who"] < 0.65
    assert told["none"] > 0.9  # so that the test can fail


def test_plans_are_rehearsed_on_a_public_sample(mapl: Mapl, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2))
    noisy = np.where(rng.random(600) < 0.2, rng.random(600) < 0.5, x[:, 0] > 0)
    pa.parquet.write_table(pa.table({"a": x[:, 0], "b": x[:, 1], "sick": noisy}), tmp_path / "sample.parquet")
    asked = ("plan", "--epsilon", 1, "--delta", "1e-6", "--rows", 4000, "--queries", 100, "--teachers", 100)
    shown = mapl(*asked, "--public-sample", "sample.parquet", "--label", "sick", "--learner", "nb")
    assert shown.code == 0, shown.stderr
    assert "Students of teachers: rehearsed, by playing these plans through on the public sample." in shown.stdout
    assert "treated as public" in shown.stderr
    assert "Students of teachers: by rule, from the learning curve." in mapl(*USUAL).stdout


def test_public_votes_say_what_to_expect(mapl: Mapl, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    np.save(tmp_path / "votes.npy", rng.multinomial(300, [0.9, 0.07, 0.03], size=500))
    asked = ("plan", "--epsilon", 2, "--delta", "1e-6", "--queries", 400)
    ran = mapl(*asked, "--votes", "votes.npy", "--json")
    assert ran.code == 0, ran.stderr
    assert "the votes are treated as public" in ran.stderr
    said = json.loads(ran.stdout)
    assert said["n_classes"] == 3
    assert "a public sample of votes" in said["agreement"]
    best = said["proposals"][0]
    assert (best["teachers"], best["student_forecast"]) == (300, None)
    assert best["answered"] > 380
    assert best["label_accuracy"] == pytest.approx(0.9, abs=0.02)
    assert "the 300 teachers in the file of public votes" in best["assumes"][0]
    many = json.loads(mapl(*asked, "--votes", "votes.npy", "--teachers", 30, "--json").stdout)
    assert many["proposals"][0]["answered"] < best["answered"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--agreement", "0.9"), "Given were --votes and --agreement"),
        (CURVE, "Given were --votes and --error-at or --learning-curve"),
        (("--n-classes", 4), "The public votes are on 3 classes and 4 are given"),
    ],
)
def test_public_votes_stand_alone(mapl: Mapl, votes: Path, more: tuple[Any, ...], words: str) -> None:
    ran = mapl("plan", "--epsilon", 1, "--delta", "1e-6", "--rows", 20000, "--queries", 50, "--votes", votes, *more)
    assert ran.code == 2
    assert words in ran.stderr


@pytest.mark.parametrize("option", ["--votes", "--public-sample", "--learning-curve"])
def test_nothing_in_a_private_half_is_planned_by(mapl: Mapl, tmp_path: Path, option: str) -> None:
    private = tmp_path / "run" / "private"
    private.mkdir(parents=True)
    (private / "shard.key").write_bytes(bytes(32))
    np.save(private / "ballot.npy", np.full((9, 2), 5))
    (tmp_path / "link.npy").symlink_to(private / "ballot.npy")
    for path in ("run/private/ballot.npy", "link.npy"):
        label = ("--label", "y") if option == "--public-sample" else ()
        ran = mapl(*USUAL[:-2], option, path, *label)
        assert ran.code == 2
        assert "lies in the private half of a run" in ran.stderr


def test_earlier_runs_count(mapl: Mapl, tmp_path: Path) -> None:
    one, two = earlier_run(tmp_path / "one"), earlier_run(tmp_path / "two", finished=False)
    ran = mapl(*USUAL, "--continue", one, "--continue", two, "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["earlier"]["epsilon"] == pytest.approx(0.8)
    assert [run["run"] for run in said["earlier"]["runs"]] == [str(one), str(two)]
    assert said["epsilon"] == pytest.approx(0.2)
    assert said["epsilon"] + said["earlier"]["epsilon"] <= 1
    assert said["delta"] == pytest.approx(8e-7)
    assert said["earlier"]["total"] == pytest.approx({"epsilon": 1, "delta": 1e-6})
    written = said["proposals"][0]["command"].split()
    # `learn` is told the total and which runs went before, and takes them off itself.
    assert float(written[written.index("--epsilon") + 1]) == 1
    assert float(written[written.index("--delta") + 1]) == 1e-6
    assert [written[i + 1] for i, word in enumerate(written) if word == "--continue"] == [str(one), str(two)]
    shown = mapl(*USUAL, "--continue", one).stdout
    assert "has promised epsilon 0.4" in shown
    assert "0.6 is left" in " ".join(shown.split())


def test_the_same_unfinished_run_is_not_counted_twice(mapl: Mapl, tmp_path: Path) -> None:
    one = earlier_run(tmp_path / "one", finished=False)
    (tmp_path / "link").symlink_to(one)
    for again in (one, "one", "./one/../one", "link"):
        ran = mapl(*USUAL, "--continue", one, "--continue", again)
        assert ran.code == 2, ran.stdout
        assert "is given twice" in ran.stderr


def test_a_solved_epsilon_is_told_with_the_total_that_it_needs(mapl: Mapl, tmp_path: Path) -> None:
    asked = ("plan", "--delta", "1e-6", "--rows", 20000, "--queries", 1000, *CURVE, "--want-accuracy", 0.8)
    one = earlier_run(tmp_path / "one")
    said = json.loads(mapl(*asked, "--continue", one, "--json").stdout)
    total = said["earlier"]["total"]
    assert total == pytest.approx({"epsilon": said["epsilon"] + 0.4, "delta": 1e-6})
    words = " ".join(mapl(*asked, "--continue", one).stdout.split())
    assert (
        f"With the new run a total of epsilon {at_most(total['epsilon'], 6)} has to be allowed (delta 1e-06;"
        in words
    )
    assert "is left" not in words


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("plan.json", "[" * 100_000),
        ("plan.json", None),
        ("statement.json", "[" * 100_000),
    ],
)
def test_a_damaged_earlier_run_is_named(mapl: Mapl, tmp_path: Path, file: str, text: str | None) -> None:
    public = earlier_run(tmp_path / "one") / "public"
    strange = json.dumps(json.loads((public / "plan.json").read_text()) | {"unit": ["a"]})
    (public / file).write_text(strange if text is None else text)
    ran = mapl(*USUAL, "--continue", "one")
    assert ran.code == 2, ran.stdout
    assert "of one is damaged" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_exhausted_budget_is_said(mapl: Mapl, tmp_path: Path) -> None:
    ran = mapl(*USUAL, "--continue", earlier_run(tmp_path / "one", epsilon=1.0))
    assert ran.code == 2
    assert "The budget is exhausted" in ran.stderr
    assert "adjacency: add-remove; unit: record" in ran.stderr


def test_runs_about_other_units_are_refused(mapl: Mapl, tmp_path: Path) -> None:
    one, two = earlier_run(tmp_path / "one"), earlier_run(tmp_path / "two", unit="patient")
    ran = mapl(*USUAL, "--continue", one, "--continue", two)
    assert ran.code == 2
    assert "promise different things" in ran.stderr
    other = mapl(*USUAL, "--continue", one, "--unit", "patient")
    assert other.code == 2
    assert "do not add up" in other.stderr


def test_a_real_run_can_be_continued_from_its_public_half(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    ran = mapl(*clinic.arguments("--queries", 10, teachers=10))
    assert ran.code == 0, ran.stderr
    told = json.loads((tmp_path / "run" / "public" / "statement.json").read_text())
    (tmp_path / "run" / "private").rename(tmp_path / "elsewhere")
    total = ("--epsilon", 24, "--delta", "1e-4", "--rows", 5000, "--queries", 100)
    ran = mapl("plan", *total, *CURVE, "--continue", "run", "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["earlier"]["epsilon"] == told["budget_epsilon"] >= told["guaranteed_epsilon"]
    assert said["unit"] == told["unit"]
    assert said["adjacency"] == told["adjacency"]


def test_the_page_is_written_once(mapl: Mapl, tmp_path: Path) -> None:
    ran = mapl(*USUAL, "--out", "plan.html")
    assert ran.code == 0, ran.stderr
    assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    again = mapl(*USUAL, "--out", "plan.html")
    assert again.code == 2
    assert "exists already" in again.stderr
    lost = mapl(*USUAL, "--out", "no/where.html")
    assert lost.code == 2
    assert "folder that does not exist" in lost.stderr


def test_one_question_is_one_question(mapl: Mapl) -> None:
    ran = mapl("plan", "--epsilon", 1, "--delta", "1e-6", "--rows", 20000, "--queries", 1, *CURVE)
    assert "Plans for teachers for 1 question of 2 classes" in ran.stdout


@pytest.mark.parametrize("method", ["moments", "cells"])
def test_the_commands_of_other_ways_run_as_printed(mapl: Mapl, clinic: Any, tmp_path: Path, method: str) -> None:
    arguments = [str(one) for one in clinic.arguments(teachers=10)]
    files = {name: arguments[arguments.index(name) + 1] for name in ("--public", "--label")}
    budget = ("--epsilon", 4, "--delta", "1e-5", "--rows", 400, "--queries", 60, *CURVE)
    planned = json.loads(mapl("plan", *budget, "--unit", "patient_id", "--json").stdout)
    one = next(one for one in planned["ways"] if one["method"] == method)
    filled = one["command"].replace("PRIVATE", arguments[1]).replace("PUBLIC", files["--public"])
    filled = filled.replace("COLUMN", files["--label"]).replace(" A,B ", " no,yes ").replace("RUN", "run")
    ran = mapl(*filled.split()[1:])
    assert ran.code == 0, ran.stderr
    told = json.loads((tmp_path / "run" / "public" / "statement.json").read_text())
    assert (told["adjacency"], told["unit"]) == (planned["adjacency"], planned["unit"])
    assert told["delta"] == one["delta"]


def test_the_printed_command_runs_and_promises_what_was_planned(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    arguments = [str(one) for one in clinic.arguments(teachers=10)]
    files = {name: arguments[arguments.index(name) + 1] for name in ("--public", "--label")}
    budget = ("--epsilon", 8, "--delta", "1e-5", "--queries", 10, "--teachers", 10, "--agreement", "1")
    promise = ("--adjacency", "replace-one", "--unit", "patient_id")
    planned = json.loads(mapl("plan", *budget, *promise, "--json").stdout)
    one = next(one for one in planned["proposals"] if one["caution"] is None)
    filled = one["command"].replace("PRIVATE", arguments[1]).replace("PUBLIC", files["--public"])
    filled = filled.replace("COLUMN", files["--label"]).replace(" A,B ", " no,yes ").replace("RUN", "run")
    ran = mapl(*filled.split()[1:], "--jobs", 1)
    assert ran.code == 0, ran.stderr
    told = json.loads((tmp_path / "run" / "public" / "statement.json").read_text())
    assert (told["adjacency"], told["unit"]) == (planned["adjacency"], planned["unit"])


def test_what_is_said_of_rehearsed_forecasts_is_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    measured = [
        re.findall(r"^- student within one point: (\d+ of \d+);", (root / name).read_text("utf-8"), re.MULTILINE)
        for name in ("benchmarks/results/plan_moments.md", "benchmarks/results/plan_moments_other.md")
    ]
    first, other = (only for (only,) in measured)
    assert f"{first} and {other}" == WITHIN_A_POINT
    assert f"| {first}, and {other} |" in (root / "docs/measured/plan.md").read_text("utf-8")
