"""``mapl margin`` measures public rows, says loudly that it is not private, and refuses what it cannot measure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise
from mapl.types import ADJACENCY, UNIT

Mapl = Callable[..., Any]


@pytest.fixture
def public(tmp_path: Path) -> Path:
    X, y = HalfspaceWorld(noise=LabelNoise(0.5)).sample(900, np.random.default_rng(1))
    rows = pa.table({"a<b>": X[:, 0], "b": X[:, 1], "sick": np.where(y == 1, "<i>yes", "no")})
    pa.csv.write_csv(rows, tmp_path / "public.csv")
    return tmp_path / "public.csv"


def arguments(public: Path, *more: Any) -> tuple[Any, ...]:
    return ("margin", public, "--label", "sick", "--sizes", "40,20", "--teachers", 12, "--jobs", 1, *more)


def test_tables_for_people_and_a_page_that_works_offline(mapl: Mapl, public: Path, tmp_path: Path) -> None:
    ran = mapl(
        *arguments(public, "--epsilon", 2, "--delta", 1e-6, "--queries", 500, "--out", tmp_path / "page.html")
    )
    assert ran.code == 0, ran.stderr
    assert "NOT PRIVATE" in ran.stdout
    assert "NOT PRIVATE: the rows were treated as public" in ran.stderr
    shown = " ".join(ran.stdout.split())
    for words in ("tau 0.", "eta 1.", "K, ladder", "epsilon 2 at delta 1e-06", ADJACENCY, UNIT, "page.html"):
        assert words in shown
    page = (tmp_path / "page.html").read_text()
    assert "<strong>NOT PRIVATE</strong>" in page
    assert page.count("<svg") == 1
    assert "&lt;i&gt;yes" in page
    assert "<i>" not in page
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|<script""", page)
    assert ADJACENCY in page.replace("&#39;", "'")
    assert "nan" not in page


def test_json_holds_the_whole_curve(mapl: Mapl, public: Path) -> None:
    ran = mapl(*arguments(public, "--json", "--learner", "logistic"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["private"] is False
    assert "NOT PRIVATE" in said["notice"]
    assert (said["learner"], said["teachers"], said["asked"], said["out"]) == ("logistic", 12, None, None)
    assert [one["rows_per_teacher"] for one in said["sizes"]] == [20, 40]
    for one in said["sizes"]:
        nus = [point["nu"] for point in one["curve"]]
        assert nus == sorted(nus)
        assert nus[-1] == 1.0
        assert all(point["interval"][0] <= point["nu"] <= point["interval"][1] for point in one["curve"])
    assert 0 <= said["tsybakov"]["low"] <= said["tsybakov"]["high"] <= 1


def test_three_classes_are_measured_without_tau(mapl: Mapl, public: Path, tmp_path: Path) -> None:
    rows = pa.csv.read_csv(public)
    third = np.where(rows["b"].to_numpy() > 0.7, "<i>maybe", rows["sick"].to_numpy())
    pa.csv.write_csv(rows.set_column(2, "sick", pa.array(third)), tmp_path / "three.csv")
    asked = ("--epsilon", 2, "--delta", 1e-6, "--queries", 500, "--out", tmp_path / "page.html", "--json")
    ran = mapl(*arguments(tmp_path / "three.csv", *asked))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert len(said["classes"]) == 3
    assert (said["tsybakov"], said["regression_by"], said["regression_resolution"]) == (None, None, None)
    assert "about two classes" in said["tsybakov_unknown_because"]
    assert all(plan["teachers"] * plan["size"] == plan["rows"] for plan in said["asked"]["plans"])
    page = (tmp_path / "page.html").read_text()
    assert "for one of 3 classes" in page
    assert "more than two classes" in page
    assert "(first − second share of votes) / 2" in page
    assert "None" not in page


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--sizes", "500"), "sizes of at most 157"),
        (("--sizes", "1000000000000"), "sizes of at most 157"),
        (("--sizes", "10,x"), "numbers of rows separated by commas"),
        (("--sizes", "0"), "at least 2"),
        (("--teachers", 3), "give 4 to 10000"),
        (("--teachers", 10**12), "give 4 to 10000"),
        (("--label", "health"), "no column 'health'"),
        (("--label", "b"), "has 900 classes; margins are measured for 2 to 100"),
        (("--learner", "oracle"), "There is no learner 'oracle'"),
        (("--learner", "moments"), "it is a method, --method moments where one learns"),
        (("--epsilon", 1), "give all or none"),
        (("--epsilon", 1, "--delta", 0, "--queries", 10), "delta is 0"),
        (("--epsilon", 1, "--delta", 1e-6, "--queries", 0), "queries is 0"),
        (("--epsilon", 1, "--delta", 1e-6, "--queries", 10**12), "at most 100000000"),
        (("--epsilon", 1, "--delta", 1e-6, "--queries", 10, "--failure", 1), "failure is 1"),
        (("--out", "public.csv"), "exists already"),
        (("--out", "nowhere/page.html"), "folder that does not exist"),
    ],
)
def test_bad_input_is_refused_with_exit_code_2(mapl: Mapl, public: Path, more: tuple[Any, ...], words: str) -> None:
    ran = mapl(*arguments(public, *more))
    assert (ran.code, ran.stdout) == (2, "")
    assert words in " ".join(ran.stderr.split())


def test_one_class_only_is_refused(mapl: Mapl, tmp_path: Path) -> None:
    rows = pa.table({"a": np.arange(500.0), "sick": ["no"] * 500})
    pa.csv.write_csv(rows, tmp_path / "one.csv")
    ran = mapl(*arguments(tmp_path / "one.csv"))
    assert ran.code == 2
    assert "has 1 different values; expected 2" in ran.stderr
