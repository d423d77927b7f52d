"""``mapl answer``: private answers to a file of questions, with their statement, through a durable ledger."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.release.ledger.chain import check_export
from mapl.release.ledger.sqlite import SqliteLedger

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


def test_whose_rows_are_is_asked_where_questions_have_ids(mapl: Mapl, files: Path) -> None:
    for name in ("private.csv", "asked.csv"):
        read = pa.csv.read_csv(name)
        pa.csv.write_csv(read.append_column("patient_id", pa.array(np.arange(len(read)) % 3)), name)
    asked = mapl(*command())
    assert asked.code == 2
    said = " ".join(asked.stderr.split())
    assert "Column 'patient_id' (by its name) may hold ids, and single answers protect single records" in said
    assert "--unit COLUMN" not in said  # which is refused
    assert not Path("run").exists()
    named = mapl(*command("--unit", "patient_id"))
    assert named.code == 2
    assert "single answers protect single records" in " ".join(named.stderr.split())
    ran = mapl(*command("--unit", "none", "--features", "age,bmi"))
    assert ran.code == 0, ran.stderr
    assert "warning: Column 'patient_id'" in " ".join(ran.stderr.split())


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
    assert "holds a finished run; its answers are in run/public/labels.parquet. Asking again" in again.stderr
    page = Path("run/public/report.html").read_text()
    assert "Price of one answer" in page
    assert "100%" in page


def test_the_report_is_made_anew_from_the_public_half(mapl: Mapl, files: Path) -> None:
    assert mapl(*command()).code == 0
    page = Path("run/public/report.html").read_text()
    shutil.rmtree("run/private")
    Path("run/public/report.html").unlink()
    ran = mapl("report", "run")
    assert (ran.code, ran.stderr) == (0, "")
    assert "Accuracy of the answers: 100.00%" in ran.stdout
    assert Path("run/public/report.html").read_text() == page
    said = json.loads(mapl("report", "run", "--json", "--out", "page.html").stdout)
    assert (said["accuracy"], said["report"], said["answered"]) == (1.0, "page.html", 6)
    refused = mapl("report", "run", "--test", "asked.csv")
    assert refused.code == 2
    assert "has no student to test" in refused.stderr


def answered(ledger: Path) -> list[int]:
    """Return the answers on record; none while there is no ledger yet."""
    if not ledger.exists():
        return []
    with SqliteLedger(ledger) as opened:
        labels: list[int] = opened.progress("answers").labels.tolist()
        return labels


def test_a_killed_run_goes_on_and_spends_nothing_twice(mapl: Mapl, files: Path) -> None:
    asked = pa.table({"age": np.linspace(1.0, 99.0, 60), "bmi": [20.0] * 60})
    pa.csv.write_csv(asked, files / "asked.csv")
    given = list(map(str, command("--method", "stable", "--json")))
    process = subprocess.Popen([sys.executable, "-m", "mapl", *given], stdout=subprocess.DEVNULL)
    ledger = Path("run/private/ledger.sqlite")
    until = time.monotonic() + 900
    while not answered(ledger) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    told = answered(ledger)
    assert not Path("run/public/labels.parquet").exists() or len(told) == 60
    ran = mapl(*command("--method", "stable", "--json"))
    if process.returncode == 0:  # it was quicker than the signal
        assert ran.code == 2
        return
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["answered"], len(said["answers"])) == (60, 60)
    assert [int(one == "yes") for one in said["answers"]][: len(told)] == told
    assert said["guaranteed_epsilon"] <= 12
    lines = [json.loads(line) for line in Path("run/public/ledger.jsonl").read_text().splitlines()]
    assert check_export(lines) == said["ledger_head"]
    assert sum(line["answered"] for line in lines) == 60


@pytest.mark.parametrize(
    ("private", "asked", "more", "words"),
    [
        (("age", "bmi"), ("age", "bmi", "pulse"), (), "private rows lack column 'pulse' of the questions"),
        (("age", "bmi", "pulse"), ("age", "bmi"), (), "private rows have column 'pulse', which the questions lack"),
        (("alter", "gewicht"), ("age", "bmi"), (), "Name the columns in its first line"),
        (("age",), (), (), "no column besides the label"),
        (("age", "bmi"), ("age", "bmi"), ("--features", "age,age"), "names a column twice"),
        (("age", "bmi"), ("age", "bmi"), ("--features", "age,ill"), "which is the label"),
    ],
)
def test_columns_that_differ_blame_the_right_table(
    mapl: Mapl, files: Path, private: Any, asked: Any, more: Any, words: str
) -> None:
    for name, columns in (("private.csv", private), ("asked.csv", asked)):
        table = pa.table({one: [1.0, 2.0, 3.0, 4.0] for one in columns} | {"ill": ["no", "yes"] * 2})
        pa.csv.write_csv(table, files / name)
    ran = mapl(*command(*more))
    assert ran.code == 2
    assert words in ran.stderr
    for other in ("--unit", "schema", "alter", "gewicht", "Traceback"):
        assert other not in ran.stderr
    assert not Path("run").exists()


def test_named_columns_may_stand_beside_others(mapl: Mapl, files: Path) -> None:
    for name, beside in (("private.csv", "town"), ("asked.csv", "street")):
        read = pa.csv.read_csv(name)
        pa.csv.write_csv(read.append_column(beside, pa.array(["x"] * len(read))), files / name)
    ran = mapl(*command("--features", "age", "--model", "thresholds", "--json"))
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["accuracy"] == 1.0


def test_text_among_private_numbers_refuses_nothing_and_is_quoted_nowhere(mapl: Mapl, files: Path) -> None:
    Path("private.csv").write_text("age,bmi,ill\nsecret99,20,no\n" + "50,20,yes\n30,20,no\n" * 20)
    ran = mapl(*command())
    assert ran.code == 0, ran.stderr
    assert "secret99" not in ran.stdout + ran.stderr


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
        (("--epsilon", 1e-5), "take an epsilon of at least 0.0001"),
        (("--epsilon", 0.0004), "ask at most 4"),
        (("--alpha", 1e-6), "out of reach of all bounds known, even for 1,000,000,000,000 records"),
        (("--method", "semi-private", "--epsilon", 1e9), "at most 1000"),
        (("--model", "unions:99999999999999", "--features", "age"), "at most 100"),
        (("--rows", 0), "Invalid value"),
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
