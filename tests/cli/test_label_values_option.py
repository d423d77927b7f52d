"""Labels 0 and 1 with classes that are words: declared by an option, told to the owner, hinted at to everybody."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.cli.options.labels import FOR_THE_OWNER

Mapl = Callable[..., Any]

USUAL = ("--label", "y", "--unit", "none")
BUDGET = ("--epsilon", 50, "--delta", 1e-5, "--jobs", 1, "--out", "run")
LEARN = ("learn", "private.parquet", "--public", "public.parquet", *USUAL, *BUDGET)
LEARN += ("--student", "ridge", "--teachers", 10, "--seed", 1)
TEACH = ("teach", "private.parquet", "--public", "public.parquet", *USUAL, *BUDGET)
TEACH += ("--queries", 9, "--teachers", 10)
ANSWER = ("answer", "private.parquet", "--questions", "public.parquet", *USUAL, "--epsilon", 90, "--out", "run")
ANSWER += ("--seed", 1)
CHECK = ("check", "private.parquet", "--public", "public.parquet", *USUAL, "--json")
VERBS = pytest.mark.parametrize("verb", [LEARN, TEACH, ANSWER], ids=lambda verb: verb[0])
MEANT = ("--label-values", "0=no,1=yes")
HINT = "labels are matched by name"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = np.random.default_rng(0).normal(size=(400, 2))
    for name, some in (("private", rows[:300]), ("public", rows[300:]), ("test", rows[300:])):
        table = pa.table({"a": some[:, 0], "b": some[:, 1]})
        if name != "public":
            table = table.append_column("y", [(some[:, 0] > 0).astype(int)])
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
    return tmp_path


def with_words(files: Path) -> None:
    """Write the private labels as words."""
    table = pa.parquet.read_table(files / "private.parquet")
    words = np.where(table["y"].to_numpy() == 1, "yes", "no")
    pa.parquet.write_table(table.set_column(2, "y", [words]), files / "private.parquet")


def told_to_the_owner() -> dict[str, Any]:
    said: dict[str, Any] = json.loads(Path("run/private/check.json").read_text())
    return said


@VERBS
def test_without_a_declaration_only_the_owner_is_told_what_was_left_out(mapl: Mapl, files: Path, verb: Any) -> None:
    said = []
    for prepare in (lambda files: None, with_words):
        prepare(files)
        ran = mapl(*verb, "--classes", "no,yes")
        assert ran.code == 0, ran.stderr
        said.append((ran.stderr, told_to_the_owner()))
        Path("run").rename(f"run {len(said)}")
    for shown, _ in said:  # the same bytes, whatever the labels are; between them stand words about releases
        assert shown.count(HINT) == 1
        assert shown.splitlines()[0] == said[0][0].splitlines()[0]
        assert shown.splitlines()[-1] == FOR_THE_OWNER.format(file="run/private/check.json")
    assert (said[0][1]["n_of_other_class"], said[0][1]["n_used"]) == (300, 0)
    assert (said[1][1]["n_of_other_class"], said[1][1]["n_used"]) == (0, 300)
    assert said[0][1]["private"].startswith("PRIVATE")


@VERBS
def test_declared_values_count(mapl: Mapl, files: Path, verb: Any) -> None:
    ran = mapl(*verb, "--classes", "no,yes", *MEANT)
    assert ran.code == 0, ran.stderr
    assert HINT not in ran.stderr
    assert told_to_the_owner()["n_used"] == 300
    assert (Path("run/private/check.json").stat().st_mode & 0o777) == 0o600


def test_values_are_learned_as_words_are(mapl: Mapl, files: Path) -> None:
    released = []
    for prepare, values in ((lambda files: None, MEANT), (with_words, ())):
        prepare(files)
        ran = mapl(*LEARN, "--classes", "no,yes", *values)
        assert ran.code == 0, ran.stderr
        released.append(pa.parquet.read_table("run/public/labels.parquet")["label"].to_pylist())
        Path("run").rename(f"run {len(released)}")
    assert released[0] == released[1]


@VERBS
def test_settings_of_a_run_tell_them(mapl: Mapl, files: Path, verb: Any) -> None:
    assert mapl(*verb, "--classes", "no,yes", *MEANT).code == 0
    assert json.loads(Path("run/public/settings.json").read_text())["options"]["label_values"] == ["0=no", "1=yes"]
    Path("run").rename("first")
    local = (*verb[1:4], "--out", "run", *(() if verb[0] == "answer" else ("--jobs", 1)))
    ran = mapl(verb[0], "first/public/settings.json", *local)
    assert ran.code == 0, ran.stderr
    assert told_to_the_owner()["n_used"] == 300


def test_test_rows_and_rows_to_predict_are_read_alike(mapl: Mapl, files: Path) -> None:
    ran = mapl(*LEARN, "--classes", "no,yes", *MEANT, "--test", "test.parquet", "--json")
    assert ran.code == 0, ran.stderr
    accuracy = json.loads(ran.stdout)["accuracy"]
    assert accuracy > 0.8
    ran = mapl("report", "run", "--test", "test.parquet", "--json")
    assert json.loads(ran.stdout)["accuracy"] == accuracy
    student = "run/public/student.skops"
    ran = mapl("predict", student, "test.parquet", "--json")
    assert ran.code == 2
    assert "--label-values 0=no,1=yes" in ran.stderr
    ran = mapl("predict", student, "test.parquet", *MEANT, "--json")
    assert json.loads(ran.stdout)["accuracy"] == accuracy


def test_check_takes_them_too(mapl: Mapl, files: Path) -> None:
    assert json.loads(mapl(*CHECK, "--classes", "no,yes").stdout)["n_of_other_class"] == 300
    assert json.loads(mapl(*CHECK, "--classes", "no,yes", *MEANT).stdout)["n_used"] == 300


@pytest.mark.parametrize("classes", ["0,1", "false,true", "<=50K,>50K", "no,maybe,yes"])
def test_classes_that_are_no_words_for_0_and_1_need_no_hint(mapl: Mapl, files: Path, classes: str) -> None:
    ran = mapl(*LEARN, "--classes", classes)
    assert ran.code == 0, ran.stderr
    assert HINT not in ran.stderr


def test_a_look_that_fails_ends_no_run(mapl: Mapl, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> None:
        raise ZeroDivisionError("a private cell")

    monkeypatch.setattr("mapl.pipeline.runs.owner.look.OwnerLook.add", fails)
    ran = mapl(*LEARN, "--classes", "no,yes")
    assert ran.code == 0
    assert told_to_the_owner()["failed"] == "ZeroDivisionError"
    assert "a private cell" not in ran.stderr + Path("run/private/check.json").read_text()


@pytest.mark.parametrize("values", ["0", "0=maybe", "0=no,0.0=yes"])
def test_what_has_no_meaning_is_refused_before_anything_is_begun(mapl: Mapl, files: Path, values: str) -> None:
    for verb in (LEARN, TEACH, ANSWER, CHECK):
        ran = mapl(*verb, "--classes", "no,yes", "--label-values", values)
        assert ran.code == 2, verb
        assert "0=no,1=yes" in ran.stderr or "--label-values" in ran.stderr
    assert not Path("run").exists()
