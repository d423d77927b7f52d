"""``mapl federate``, ``mapl site`` and ``mapl combine``, from the first command to predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

SITES = ("north", "south", "west")


@pytest.fixture(autouse=True)
def tables(mapl: Callable[..., Any]) -> None:
    """Write public rows, test rows and three private tables into the current folder."""
    for number, name in enumerate(("public", "test", *SITES)):
        x = np.random.default_rng(number).normal(size=(400, 2))
        columns: dict[str, Any] = {"a": x[:, 0], "b": x[:, 1]}
        if name != "public":
            columns["y"] = np.where(x[:, 0] > 0, "yes", "no")
        if name in SITES:
            columns["person"] = [f"{name}{i}" for i in range(len(x))]
        pa.csv.write_csv(pa.table(columns), f"{name}.csv")


def federate(mapl: Callable[..., Any], *more: Any) -> Any:
    words = ("--public", "public.csv", "--label", "y", "--classes", "no,yes", "--unit", "person", "--epsilon", 4)
    return mapl("federate", *words, "--sites", "north,south,west", "--sites-per-person", 1, "--out", "plan", *more)


def test_from_a_plan_to_predictions(mapl: Callable[..., Any]) -> None:
    ran = federate(mapl, "--delta", 0, "--cells", 20)
    assert ran.code == 0, ran.stderr
    assert "epsilon 4 at delta 0" in ran.stdout
    assert "adjacency: add-remove; unit: person" in ran.stdout
    for name in SITES:
        ran = mapl("site", "plan", f"{name}.csv", "--name", name, "--out", f"run-{name}")
        assert ran.code == 0, ran.stderr
        assert "epsilon 4 at delta 0" in ran.stdout
        assert (Path(f"run-{name}") / "private").stat().st_mode & 0o777 == 0o700
    answers = [f"run-{name}/public/{name}-1.json" for name in SITES]
    ran = mapl("combine", "plan", *answers[:2], "--out", "together")
    assert ran.code == 2
    assert "--without west" in ran.stderr
    ran = mapl(
        "combine", "plan", *answers, "--student", "ridge", "--test", "test.csv", "--out", "together", "--json"
    )
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["guaranteed_epsilon"], said["delta"]) == (4, 0)
    assert said["unit"].endswith("at one site")
    ran = mapl("predict", "together/public/student.skops", "test.csv", "--out", "predicted.csv")
    assert ran.code == 0, ran.stderr
    assert mapl("report", "together", "--out", "again.html").code == 0
    assert mapl("ledger", "verify", "run-north").code == 0
    again = mapl("site", "plan", "north.csv", "--name", "north", "--out", "run-north", "--json")
    assert again.code == 0
    assert Path(json.loads(again.stdout)["file"]).read_bytes() == Path(answers[0]).read_bytes()
    refused = mapl("site", "plan", "south.csv", "--name", "south", "--out", "run-north")
    assert refused.code == 2
    assert "holds all answers of a site, and none of south" in " ".join(refused.stderr.split())


def test_rounds_go_back_and_forth(mapl: Callable[..., Any]) -> None:
    told = json.loads(federate(mapl, "--delta", 1e-6, "--method", "moments", "--rows", 1200, "--json").stdout)
    assert (told["each_site"], told["promised"]) == ({"epsilon": 4, "delta": 1e-6},) * 2
    assert (told["adjacency"], told["unit"], told["sites_per_person"]) == ("add-remove", "person", 1)
    answers: list[str] = []
    heard: tuple[Any, ...] = ()
    for number in range(1, 9):
        for name in SITES:
            ran = mapl("site", "plan", f"{name}.csv", "--name", name, "--out", f"run-{name}", *heard)
            assert ran.code == 0, ran.stderr
            answers.append(f"run-{name}/public/{name}-{number}.json")
        ran = mapl("combine", "plan", *answers, "--test", "test.csv", "--out", "together")
        assert ran.code == 0, ran.stderr
        heard = ("--rounds", f"together/public/rounds-{number}.json")
        if not Path(heard[1]).exists():
            break
    assert "student accuracy" in ran.stdout
    assert number > 1


def test_teachers_vote_at_sites(mapl: Callable[..., Any]) -> None:
    told = federate(mapl, "--delta", 1e-6, "--method", "votes", "--teachers", 20, "--queries", 30, "--json")
    assert json.loads(told.stdout)["each_site"] == {"epsilon": 4, "delta": 1e-6}
    agreed = json.loads(Path("plan/federation.json").read_text())
    assert [agreed[name] for name in ("n_teachers", "n_queries", "learner")] == [20, 30, "ridge"]
    ran = mapl("site", "plan", "north.csv", "--name", "north", "--jobs", 1, "--out", "run", "--json")
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["statement"]["teachers"] == 20


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--delta", 0, "--sites", "north"), "at least two"),
        (("--delta", 0, "--sites-per-person", 4), "--sites-per-person"),
        (("--delta", 0, "--method", "moments"), "positive delta"),
        (("--delta", 0, "--method", "votes"), "positive delta"),
        (("--delta", 0, "--teachers", 20), "--method votes"),
        (("--delta", 1e-6, "--method", "votes", "--learner", "os:system"), "no learner 'os:system'"),
    ],
)
def test_plans_that_make_no_sense_are_refused(mapl: Callable[..., Any], words: tuple[Any, ...], says: str) -> None:
    ran = federate(mapl, *words)
    assert ran.code == 2
    assert says in ran.stderr
    assert not Path("plan").exists()


def test_folders_that_are_no_plan_are_refused(mapl: Callable[..., Any]) -> None:
    Path("empty").mkdir()
    for words in (("site", "empty", "north.csv", "--name", "north"), ("combine", "empty", "north.csv")):
        ran = mapl(*words, "--out", "run")
        assert ran.code == 2
        assert not Path("run").exists()
