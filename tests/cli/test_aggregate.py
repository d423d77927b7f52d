"""``mapl aggregate``: what it writes, prints and returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from mapl.cli.releasing.aggregate import AggregateRequest
from mapl.mechanisms import REGISTRY
from mapl.mechanisms.registry import Registered
from mapl.mechanisms.votes.majority import Majority
from mapl.types import ADJACENCY, UNIT, Budget

Mapl = Callable[..., Any]

BUDGET = ("--epsilon", 2, "--delta", "1e-5")
FEW = ("--max-abstentions", 20)
"""Where a test is not about the choice of a mechanism, which looks at many."""

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "votes"
KEYS = {
    "adjacency_kind",
    *("mechanism", "epsilon", "budget_epsilon", "delta", "adjacency", "unit", "queries", "answered", "abstained"),
    *("halted", "not_asked", "usage", "parameters", "label_accuracy", "required_distance_99", "out", "private"),
    *("why", "answered_share", "guaranteed_epsilon", "teachers", "classes", "planned_queries", "noise"),
    *("assumptions", "in_plain_words", "stages", "plan_digest", "ledger_head", "mapl_version", "schema", "checked"),
    *("cells", "selected", "together", "run_id"),
}


def load(text: str) -> dict[str, Any]:
    """Parse JSON strictly: a bare NaN or Infinity is an error."""

    def refuse(token: str) -> None:
        raise AssertionError(f"bare {token}")

    parsed: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return parsed


def test_votes_in_labels_and_statement_out(mapl: Mapl, votes: Path) -> None:
    ran = mapl("aggregate", votes, *BUDGET, "--max-abstentions", 20, "--json")
    assert ran.code == 0, ran.stderr
    said = load(ran.stdout)
    assert set(said) == KEYS
    assert said["mechanism"] == "ladder"
    assert 0 <= said["epsilon"] <= said["guaranteed_epsilon"] <= said["budget_epsilon"] == 2
    assert (said["delta"], said["adjacency"], said["unit"]) == (1e-5, ADJACENCY, UNIT)
    assert said["queries"] == 60 == said["answered"] + said["abstained"] + said["not_asked"]
    assert said["answered"] >= 40
    assert said["usage"] == {
        "answered": said["answered"],
        "abstained": said["abstained"],
        "fallback": 0,
        "limits": {"max_abstentions": 20},
    }
    assert said["parameters"]["max_abstentions"] == 20
    assert said["label_accuracy"] is None
    assert said["answered_share"] == said["answered"] / 60
    assert (said["halted"], said["private"]) == (False, True)
    assert said["out"] == "votes.mapl"
    assert said["why"]


def test_the_two_files(mapl: Mapl, votes: Path) -> None:
    said = load(mapl("aggregate", votes, *BUDGET, "--max-abstentions", 20, "--out", "a/b", "--json").stdout)
    assert sorted(p.name for p in Path("a/b").iterdir()) == ["labels.parquet", "statement.json"]
    stated = load(Path("a/b/statement.json").read_text())
    assert set(stated) == KEYS - {"label_accuracy", "answered_share", "out", "why"}
    assert all(stated[key] == said[key] for key in stated)
    assert "operating system" in stated["noise"]
    assert UNIT in stated["in_plain_words"]
    table = pyarrow.parquet.read_table("a/b/labels.parquet")
    assert [(f.name, str(f.type)) for f in table.schema] == [
        ("question", "int64"),
        ("label", "int32"),
        ("status", "string"),
    ]
    assert table.schema.metadata[b"mapl.private"] == b"true"
    assert b"mapl.warning" not in table.schema.metadata
    rows = table.to_pylist()
    assert [row["question"] for row in rows] == list(range(60))
    assert {row["status"] for row in rows} == {"answered", "abstained"}
    assert all((row["label"] is None) == (row["status"] == "abstained") for row in rows)
    assert sum(row["status"] == "answered" for row in rows) == said["answered"]


def test_the_table_names_what_an_epsilon_means(mapl: Mapl, votes: Path) -> None:
    ran = mapl("aggregate", votes, *BUDGET, "--max-abstentions", 20)
    assert ran.code == 0
    text = " ".join(ran.stdout.replace("│", " ").split())
    for part in ("at delta 1e-05", ADJACENCY, UNIT, "statement.json", "labels.parquet", "ladder"):
        assert part in text
    assert "NOT PRIVATE" not in text
    assert ran.stderr == ""


def test_a_mechanism_that_halts_early_keeps_what_it_has(mapl: Mapl, tmp_path: Path) -> None:
    np.save(tmp_path / "tied.npy", np.full((40, 2), 125))
    ran = mapl("aggregate", tmp_path / "tied.npy", *BUDGET, "--max-abstentions", 7, "--json")
    assert ran.code == 3
    assert "33 questions were not asked" in " ".join(ran.stderr.split())
    said = load(ran.stdout)
    assert (said["halted"], said["abstained"], said["not_asked"]) == (True, 7, 33)
    status = pyarrow.parquet.read_table("tied.mapl/labels.parquet")["status"].to_pylist()
    assert status == ["abstained"] * 7 + ["not asked"] * 33


def test_halting_on_the_last_question_is_a_complete_run(mapl: Mapl, tmp_path: Path) -> None:
    np.save(tmp_path / "tied.npy", np.full((7, 2), 125))
    ran = mapl("aggregate", tmp_path / "tied.npy", *BUDGET, "--max-abstentions", 7, "--json")
    assert ran.code == 0
    assert load(ran.stdout)["halted"] is False


def test_queries_takes_the_first_rows_or_plans_for_more(mapl: Mapl, votes: Path) -> None:
    fewer = load(mapl("aggregate", votes, *BUDGET, *FEW, "--queries", 10, "--out", "fewer", "--json").stdout)
    assert (fewer["queries"], fewer["planned_queries"]) == (10, 10)
    assert pyarrow.parquet.read_table("fewer/labels.parquet").num_rows == 10
    more = load(
        mapl(
            "aggregate", votes, *BUDGET, "--queries", 5000, "--max-abstentions", 20, "--out", "more", "--json"
        ).stdout
    )
    assert (more["queries"], more["planned_queries"]) == (60, 5000)


def test_noise_and_queries_together_are_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    class Noisy:
        @classmethod
        def for_task(cls, task: Any, *, sigma: float | None = None, max_answers: int | None = None) -> None: ...

    monkeypatch.setitem(REGISTRY, "noisy-max", Registered(Noisy, None, "release", "a stand-in"))
    budget, noise = Budget(2, 1e-5), {"sigma": 40.0, "order": None}
    assert AggregateRequest(budget, "noisy-max", None, noise).settings_given() == {"sigma": 40.0}
    assert AggregateRequest(budget, "noisy-max", 9, noise).settings_given() == {"sigma": 40.0, "max_answers": 9}
    assert (
        AggregateRequest(budget, "noisy-max", 9, {**noise, "max_answers": 4}).settings_given()["max_answers"] == 4
    )
    assert AggregateRequest(budget, "noisy-max", 9).settings_given() == {}


def test_truth_is_compared_with_the_answered(mapl: Mapl, votes: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "truth.npy", np.zeros(60, dtype=int))
    said = load(mapl("aggregate", votes, *BUDGET, "--truth", tmp_path / "truth.npy", *FEW, "--json").stdout)
    labels = pyarrow.parquet.read_table("votes.mapl/labels.parquet")["label"].drop_null().to_numpy()
    assert said["label_accuracy"] == (labels == 0).mean()
    assert "label_accuracy" not in load(Path("votes.mapl/statement.json").read_text())


def test_declared_classes_name_the_labels(mapl: Mapl, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("\n".join(",".join(["yes"] * 240 + ["no"] * 10) for _ in range(5)))
    (tmp_path / "t.csv").write_text("truth\n" + "yes\n" * 5)
    ran = mapl(
        *("aggregate", tmp_path / "v.csv", *BUDGET, "--per-teacher", "--classes", "no,yes", "--max-abstentions", 3),
        *("--truth", tmp_path / "t.csv", "--json", "--seed", 1),
    )
    assert ran.code == 0, ran.stderr
    said = load(ran.stdout)
    assert (said["teachers"], said["classes"], said["label_accuracy"]) == (250, 2, 1.0)
    labels = pyarrow.parquet.read_table("v.mapl/labels.parquet")["label"]
    assert str(labels.type) == "string"
    assert set(labels.to_pylist()) <= {"yes", None}


def test_seeded_coins_repeat_and_taint_everything(mapl: Mapl, votes: Path) -> None:
    ran = [mapl("aggregate", votes, *BUDGET, "--seed", 4, "--out", to, "--json") for to in ("a", "b")]
    tables = [pyarrow.parquet.read_table(Path(to) / "labels.parquet") for to in ("a", "b")]
    assert tables[0].equals(tables[1])
    said = load(ran[0].stdout)
    assert said["private"] is False
    assert said["noise"] == "NOT PRIVATE: seeded coins"
    assert said["in_plain_words"].startswith("NOT PRIVATE")
    assert load(Path("a/statement.json").read_text())["private"] is False
    assert tables[0].schema.metadata[b"mapl.private"] == b"false"
    assert tables[0].schema.metadata[b"mapl.warning"] == b"NOT PRIVATE"
    assert "NOT PRIVATE" in mapl("aggregate", votes, *BUDGET, "--seed", 4, "--out", "c").stdout


def test_a_second_release_is_refused(mapl: Mapl, votes: Path) -> None:
    assert mapl("aggregate", votes, *BUDGET).code == 0
    before = {p: p.read_bytes() for p in Path("votes.mapl").iterdir()}
    ran = mapl("aggregate", votes, *BUDGET)
    assert (ran.code, ran.stdout) == (2, "")
    assert "spend the budget again" in ran.stderr
    assert "budgets add up" in ran.stderr
    assert {p: p.read_bytes() for p in Path("votes.mapl").iterdir()} == before


def test_the_statement_is_on_disk_before_the_labels(
    mapl: Mapl, votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def fail_on_labels(source: Path, target: Path) -> None:
        if Path(target).name == "labels.parquet":
            raise OSError(28, "No space left on device")
        link(source, target)

    def no_rename(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", fail_on_labels)
    monkeypatch.setattr(Path, "rename", no_rename)
    ran = mapl("aggregate", votes, *BUDGET)
    assert ran.code == 2
    assert "count this run's budget as spent" in ran.stderr
    assert [p.name for p in Path("votes.mapl").iterdir()] == ["statement.json"]


def test_the_plurality_costs_infinity(mapl: Mapl, votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "majority", Registered(Majority, None, "none", "the plurality"))
    refused = mapl("aggregate", votes, *BUDGET, "--mechanism", "majority")
    assert refused.code == 2
    assert "costs epsilon inf; allowed is 2" in refused.stderr
    assert not Path("votes.mapl").exists()
    ran = mapl("aggregate", votes, "--epsilon", "inf", "--delta", 0, "--mechanism", "majority", "--json")
    assert ran.code == 0, ran.stderr
    said = load(ran.stdout)
    assert said["epsilon"] == said["budget_epsilon"] == "inf"
    assert (said["private"], said["noise"], said["answered"]) == (False, "NOT PRIVATE: no noise", 60)


def test_warnings_of_comparison_mechanisms_go_to_standard_error(
    mapl: Mapl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ladder = REGISTRY["ladder"]
    monkeypatch.setitem(REGISTRY, "ladder", Registered(ladder.mechanism, None, "paper", ladder.summary))
    np.save(tmp_path / "few.npy", np.full((3, 2), 5))
    ran = mapl(
        "aggregate", tmp_path / "few.npy", *BUDGET, "--mechanism", "ladder", "--max-abstentions", 3, "--json"
    )
    assert ran.code == 0
    assert "warning: Even a unanimous vote of 10 teachers" in ran.stderr
    assert load(ran.stdout)["answered"] == 0


def test_an_error_of_mapls_own_quotes_nothing(mapl: Mapl, votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("cell 8675309")

    monkeypatch.setattr("mapl.cli.releasing.aggregate.release", broken)
    ran = mapl("aggregate", votes, *BUDGET)
    assert ran.code == 1
    assert "RuntimeError in test_aggregate.py" in ran.stderr
    assert "8675309" not in ran.stderr + ran.stdout
    assert not Path("votes.mapl").exists()


def test_an_interrupt_ends_with_130(mapl: Mapl, votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mapl.cli.releasing.aggregate.release", interrupted)
    assert mapl("aggregate", votes, *BUDGET).code == 130
    assert not Path("votes.mapl").exists()


def test_the_installed_command(tmp_path: Path, votes: Path) -> None:
    command = [Path(sys.executable).with_name("mapl"), "aggregate", votes, *map(str, (*BUDGET, *FEW))]
    ran = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert load(ran.stdout)["answered"] > 0
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "Traceback" not in again.stderr


def test_version(mapl: Mapl) -> None:
    ran = mapl("--version")
    assert ran.code == 0
    assert ran.stdout.startswith("mapl 0.")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/votes")
def test_published_votes(mapl: Mapl) -> None:
    ran = mapl(
        *("aggregate", SHARED / "mnist_250_teachers.npy", *BUDGET, "--max-abstentions", 50, "--json", "--seed", 0),
        *("--truth", SHARED / "mnist_labels.npy"),
    )
    assert ran.code == 3
    said = load(ran.stdout)
    assert said["queries"] == 9000
    assert said["answered"] > 100
    assert said["label_accuracy"] > 0.95
    assert said["required_distance_99"] <= 126 + 2.52
