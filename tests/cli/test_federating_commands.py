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
WORDS = (
    *("--public", "public.csv", "--label", "y", "--classes", "no,yes", "--unit", "person", "--epsilon", 4),
    *("--sites", "north,south,west", "--sites-per-person", 1),
)


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
    return mapl("federate", *WORDS, "--out", "plan", *more)


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
        heard = ("--past-rounds", f"together/public/rounds-{number}.json")
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


def test_labels_of_other_names_are_warned_of_and_can_be_declared(mapl: Callable[..., Any]) -> None:
    ran = federate(mapl, "--delta", 0, "--cells", 20)
    assert "--label-values 0=CLASS,1=CLASS" in ran.stderr
    ran = mapl("federate", *WORDS, "--label-values", "1=maybe", "--out", "other", "--delta", 0)
    assert ran.code == 2
    assert "'maybe', which is none of the classes" in ran.stderr
    for name in SITES:
        table = pa.csv.read_csv(f"{name}.csv")
        coded = pa.array([1 if one == "yes" else 0 for one in table["y"].to_pylist()])
        pa.csv.write_csv(table.set_column(table.column_names.index("y"), "y", coded), f"{name}.csv")
    ran = mapl("federate", *WORDS, "--label-values", "0=no,1=yes", "--out", "coded", "--delta", 0, "--cells", 20)
    assert ran.code == 0
    assert "left out without a word" not in ran.stderr
    answers = []
    for name in SITES:
        assert mapl("site", "coded", f"{name}.csv", "--name", name, "--out", f"run-{name}").code == 0
        answers.append(f"run-{name}/public/{name}-1.json")
    ran = mapl("combine", "coded", *answers, "--test", "test.csv", "--student", "ridge", "--out", "all", "--json")
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["accuracy"] > 0.8  # as good as with names, where no label counts it is a guess


def test_columns_can_be_left_out_and_declared_in_a_plan(mapl: Callable[..., Any]) -> None:
    assert federate(mapl, "--delta", 0, "--drop", "b", "--cells", 20).code == 0
    agreed = json.loads(Path("plan/federation.json").read_text())
    assert agreed["schema"]["dropped"] == ["b"]
    ran = mapl("site", "plan", "north.csv", "--name", "north", "--out", "run-north")
    assert ran.code == 0, ran.stderr
    ran = mapl("federate", *WORDS, "--delta", 0, "--drop", "bb", "--out", "other")
    assert ran.code == 2
    assert "Did you mean 'b'?" in ran.stderr


def test_sites_are_told_of_options_where_they_are(mapl: Callable[..., Any]) -> None:
    federate(mapl, "--delta", 0, "--cells", 20)
    table = pa.csv.read_csv("north.csv")
    pa.csv.write_csv(table.append_column("extra", table["a"]), "wider.csv")
    pa.csv.write_csv(table.drop_columns(["y"]), "unlabelled.csv")
    for file in ("wider.csv", "unlabelled.csv"):
        ran = mapl("site", "plan", file, "--name", "north", "--out", f"run-{file}")
        assert ran.code == 2
        assert "--label of mapl federate" in " ".join(ran.stderr.split())


def test_combine_says_which_sites_are_in(mapl: Callable[..., Any]) -> None:
    federate(mapl, "--delta", 0, "--cells", 20)
    for name in SITES[:2]:
        mapl("site", "plan", f"{name}.csv", "--name", name, "--out", f"run-{name}")
    words = ("combine", "plan", *(f"run-{name}/public/{name}-1.json" for name in SITES[:2]), "--without", "west")
    ran = mapl(*words, "--student", "ridge", "--out", "two")
    assert ran.code == 0, ran.stderr
    assert "north, south" in ran.stdout
    assert "left out" in ran.stdout
    assert "west" in ran.stdout
    assert "--drop" not in ran.stdout
    said = json.loads(mapl(*words, "--student", "ridge", "--out", "again", "--json").stdout)
    assert (said["sites"], said["left out"]) == (["north", "south"], ["west"])
