"""``mapl teach``: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapl.data.synthetic import LABEL, UNIT
from mapl.pipeline.online.run import OnlineRun

Mapl = Callable[..., Any]


def command(clinic: Any, *more: Any, out: str = "run") -> list[Any]:
    return [
        *("teach", clinic.private, "--public", clinic.public, "--label", LABEL, "--classes", "no,yes"),
        *("--unit", UNIT, "--epsilon", 8, "--delta", 1e-5, "--teachers", 20, "--queries", 60, "--jobs", 1),
        *("--out", out, *more),
    ]


def test_teachers_are_kept_and_what_comes_next_is_said(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*command(clinic))
    assert ran.code == 0, ran.stderr
    shown = " ".join(ran.stdout.replace("│", " ").split())
    assert "nothing so far" in shown
    assert "8 at delta 1e-05" in shown
    assert f"adjacency all records of one {UNIT} are added to the private table or removed from it" in shown
    assert f"unit one {UNIT}, that is all records with one value of the column {UNIT}" in shown
    assert "mapl keys create run" in shown
    assert "mapl serve run" in shown
    assert OnlineRun.read(Path("run")).task.n_queries == 60
    again = mapl(*command(clinic))
    assert again.code == 2
    assert "finished run" in again.stderr


def test_json_says_the_same(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*command(clinic, "--json", "--must-answer"))
    assert ran.code == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["spent"], told["epsilon"], told["delta"]) == (0, 8.0, 1e-5)
    assert (told["adjacency"], told["unit"], told["queries"], told["teachers"]) == ("add-remove", UNIT, 60, 20)
    assert (told["form"], told["learner"], told["classes"]) == ("linear", "ridge", ["no", "yes"])
    assert told["plan_digest"] == OnlineRun.read(Path("run")).plan.digest
    assert told["mechanism"] in ("link", "ladder-then-link", "noisy-max", "ladder-then-max")


def test_whose_rows_are_is_asked_before_anybody_is_taught(mapl: Mapl, clinic: Any) -> None:
    given = command(clinic)
    place = given.index("--unit")
    asked = mapl(*given[:place], *given[place + 2 :])
    assert asked.code == 2
    assert f"Column {UNIT!r} (by its name) may hold ids" in " ".join(asked.stderr.split())
    assert not Path("run").exists()
    ran = mapl(*command(clinic, "--unit", "none", "--json"))
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["unit"] == "record"
    assert f"warning: Column {UNIT!r}" in " ".join(ran.stderr.split())


def test_a_seed_taints_the_run(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*command(clinic, "--seed", 4))
    assert ran.code == 0, ran.stderr
    assert "NOT PRIVATE" in ran.stderr
    assert not OnlineRun.read(Path("run")).coins().private


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--queries", 0), "queries is 0"),
        (("--epsilon", -1), "epsilon"),
        (("--teachers", "many"), "whole number, or auto"),
        (("--time-limit", "soon"), "give seconds"),
        (("--mechanism", "magic"), "no mechanism 'magic'"),
        (("--learner", "magic"), "no learner 'magic'"),
        (("--public", "nowhere.csv"), "nowhere.csv"),
        (("--label", "nothing"), "nothing"),
        (("--agreement", "often"), "expected agreement"),
    ],
    ids=lambda given: str(given),
)
def test_bad_input_is_refused_in_words(mapl: Mapl, clinic: Any, more: tuple[Any, ...], words: str) -> None:
    ran = mapl(*command(clinic, *more))
    assert ran.code == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr + ran.stdout
    assert not (Path("run") / "private" / "finished").exists()
