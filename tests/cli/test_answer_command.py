"""``mapl answer``: private answers to a file of questions, with their statement, through a durable ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.release.chain import check_export

Mapl = Callable[..., Any]
RULE = 60.0


def table(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {"age": rng.uniform(0, 100, n), "bmi": rng.uniform(15, 40, n)}
    ill = np.where(columns["age"] > RULE, "yes", "no")
    return pa.table({**columns, "ill": ill})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    pa.csv.write_csv(table(2000, 1), tmp_path / "private.csv")
    clear = [2.0, 8.0, 14.0, 88.0, 94.0, 99.0]  # far from the rule, so that coins hardly ever err
    asked = {"age": clear, "bmi": [20.0] * 6, "ill": ["no"] * 3 + ["yes"] * 3}
    pa.csv.write_csv(pa.table(asked), tmp_path / "asked.csv")
    return tmp_path


def command(*more: Any) -> list[Any]:
    return [
        *("answer", "private.csv", "--label", "ill", "--classes", "no,yes", "--questions", "asked.csv"),
        *("--epsilon", 12, "--out", "run", *more),
    ]


def test_answers_come_with_their_statement(mapl: Mapl, files: Path) -> None:
    ran = mapl(*command())
    assert ran.code == 0, ran.stderr
    assert "epsilon guaranteed" in ran.stdout
    assert "delta 0" in ran.stdout
    assert "padded-stumps" in ran.stdout
    said = json.loads(Path("run/public/statement.json").read_text())
    assert said["guaranteed_epsilon"] <= 12
    assert (said["answered"], said["delta"], said["private"]) == (6, 0.0, True)
    labels = pa.parquet.read_table("run/public/labels.parquet")
    assert labels["label"].to_pylist() == pa.csv.read_csv("asked.csv")["ill"].to_pylist()
    lines = [json.loads(line) for line in Path("run/public/ledger.jsonl").read_text().splitlines()]
    assert check_export(lines) == said["ledger_head"]
    assert Path("run/private").stat().st_mode & 0o777 == 0o700
    again = mapl(*command())
    assert again.code == 2
    assert "holds a finished run" in again.stderr


def test_json_holds_everything(mapl: Mapl, files: Path) -> None:
    ran = mapl(*command("--json", "--adjacency", "add-remove", "--features", "age", "--model", "thresholds"))
    said = json.loads(ran.stdout)
    assert (said["method"], said["accuracy"], said["bound"]) == ("padded-stumps", 1.0, None)
    assert said["answers"] == pa.csv.read_csv("asked.csv")["ill"].to_pylist()
    assert "added" in said["adjacency"]
    assert said["parameters"]["epsilon_each"] == pytest.approx(2.0)


def test_a_question_that_stands_twice_is_paid_for_once(mapl: Mapl, files: Path) -> None:
    asked = pa.csv.read_csv("asked.csv")
    pa.csv.write_csv(pa.concat_tables([asked, asked]), files / "asked.csv")
    said = json.loads(mapl(*command("--json")).stdout)
    assert said["answered"] == 6
    assert said["answers"][:6] == said["answers"][6:]
    assert said["parameters"]["epsilon_each"] == pytest.approx(2.0)


def test_all_questions_at_once(mapl: Mapl, files: Path) -> None:
    said = json.loads(mapl(*command("--json", "--method", "semi-private", "--epsilon", 2)).stdout)
    assert (said["mechanism"], said["guaranteed_epsilon"], said["answered"]) == ("semi-private", 2.0, 6)
    assert len(said["answers"]) == 6


@pytest.mark.parametrize("method", ["auto", "semi-private"])
def test_an_unfinished_run_goes_on_and_spends_nothing_more(mapl: Mapl, files: Path, method: str) -> None:
    first = json.loads(mapl(*command("--json", "--method", method, "--epsilon", 1)).stdout)
    Path("run/private/finished").unlink()
    Path("run/public/labels.parquet").unlink()
    other = mapl(*command("--method", method, "--epsilon", 1.5))
    assert other.code == 2
    assert "other settings" in other.stderr
    second = json.loads(mapl(*command("--json", "--method", method, "--epsilon", 1)).stdout)
    assert second == first
    assert Path("run/public/labels.parquet").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--classes", "a,b,c"), "between two"),
        (("--classes", "no,maybe"), "none of the 2 declared classes"),
        (("--model", "trees"), "choose one of thresholds"),
        (("--model", "thresholds"), "look at one feature"),
        (("--method", "magic"), "choose auto"),
        (("--epsilon", -1), "positive"),
        (("--epsilon", 1e-5), "fair coins"),
        (("--features", "age,height"), "no column 'height'"),
        (("--questions", "nowhere.csv"), "no file"),
        (("--label", "sick"), "the label is named with --label"),
        (("--alpha", 0.1), "2000 records are too few"),
        (("--adjacency", "add-remove", "--model", "halfspaces"), "--rows"),
    ],
    ids=lambda one: one[1] if isinstance(one, tuple) else None,
)
def test_bad_input_spends_nothing(mapl: Mapl, files: Path, more: tuple[Any, ...], words: str) -> None:
    ran = mapl(*command(*more))
    assert ran.code == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not Path("run").exists()


def test_a_gap_in_a_private_row_stops_nobody(mapl: Mapl, files: Path) -> None:
    private = pa.csv.read_csv("private.csv")
    ages = private["age"].to_pylist()
    ages[7] = None
    pa.csv.write_csv(private.set_column(0, "age", pa.array(ages)), files / "private.csv")
    for method in ("stable", "semi-private", "padded-stumps"):
        assert mapl(*command("--method", method), "--out", f"run-{method}").code == 0


def test_a_class_too_large_to_list_is_refused_before_there_is_a_folder(mapl: Mapl, files: Path) -> None:
    pa.csv.write_csv(table(600, 2), files / "asked.csv")
    ran = mapl(*command("--method", "semi-private", "--model", "rectangles"))
    assert ran.code == 2
    assert "too many points" in ran.stderr
    assert not Path("run").exists()


def test_text_is_no_feature(mapl: Mapl, files: Path) -> None:
    for name in ("private.csv", "asked.csv"):
        read = pa.csv.read_csv(name)
        pa.csv.write_csv(read.append_column("town", pa.array(["x", "y"] * (len(read) // 2))), files / name)
    ran = mapl(*command())
    assert ran.code == 2
    assert "'town' of the questions is a category" in ran.stderr
    assert mapl(*command("--features", "age,bmi")).code == 0


def test_seeded_coins_are_said_not_to_be_private(mapl: Mapl, files: Path) -> None:
    ran = mapl(*command("--seed", 1))
    assert ran.code == 0
    assert "NOT PRIVATE" in ran.stdout
