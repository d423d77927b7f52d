"""``mapl learn``: files in, a folder out that holds everything a reader needs and nothing else."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.cli.options.labels import FOR_THE_OWNER
from mapl.data.synthetic import CLASSES, LABEL, UNIT
from mapl.release.files.write_once import write_once
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.students import load

Mapl = Callable[..., Any]

FILES = {
    *("card.md", "labels.parquet", "ledger.jsonl", "plan.json", "report.html", "schema.json", "settings.json"),
    *("statement.json", "student.skops"),
}


def labels_of(run: Path) -> list[str]:
    return pa.parquet.read_table(run / "public" / "labels.parquet")["label"].to_pylist()


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_whole_run(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    ran = mapl(*clinic.arguments("--test", clinic.test, "--json"))
    assert (ran.code, ran.stderr) == (0, FOR_THE_OWNER.format(file="run/private/check.json") + "\n")
    said, run = json.loads(ran.stdout), tmp_path / "run"
    assert {one.name for one in (run / "public").iterdir()} == FILES
    statement = json.loads((run / "public" / "statement.json").read_text())
    assert {**said, **statement} == said
    assert said["epsilon"] <= said["guaranteed_epsilon"] <= 20
    assert said["private"] is True
    assert (said["answered"], said["abstained"], said["queries"], said["teachers"]) == (150, 0, 150, 30)
    assert f"all records of one {UNIT}" in said["adjacency"]
    assert (said["out"], said["student"], said["report"]) == (
        "run",
        "run/public/student.skops",
        "run/public/report.html",
    )
    assert 0.7 < said["accuracy"] < 1
    assert (said["label_accuracy"], said["error_rate"]) == (None, None)
    assert (said["student_learner"], said["strategy"]) == ("ridge", "plain")
    plan = json.loads((run / "public" / "plan.json").read_text())
    assert said["why"] == plan["why"]
    assert plan["unit"] == UNIT
    assert set(labels_of(run)) == set(CLASSES)
    page = (run / "public" / "report.html").read_text()
    assert f"{said['accuracy']:.1%}"[:-2] in page
    for outside in ("<script", "http://", "https://", "src=", "@import", "<link"):
        assert outside not in page.replace("http://www.w3.org/2000/svg", "")
    assert load(run / "public" / "student.skops").classes.names == CLASSES


def test_the_private_half_is_its_owners(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    assert mapl(*clinic.arguments()).code == 0
    private = tmp_path / "run" / "private"
    assert permissions(private) == 0o700
    found = {one.name: permissions(one) for one in private.iterdir()}
    assert {"ballot.npz", "check.json", "ledger.sqlite", "request.json", "shard.key"} <= set(found)
    assert set(found.values()) == {0o600}


def test_what_people_read(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--public", clinic.test, "--test", clinic.test))
    assert ran.code == 0, ran.stderr
    text = " ".join(ran.stdout.replace("│", " ").split())
    for part in (
        "A student that may be published",
        "on 300 public test rows",
        "of the released labels",  # these public rows came with labels
        "30 teachers as asked",
        "300 of 300 public rows, 0 abstentions",
        "run/public/report.html",
    ):
        assert part in text


def test_the_accuracy_of_released_labels(mapl: Mapl, clinic: Any) -> None:
    """Labels of public rows tell how good the released ones are; they are no input of anything else."""
    said = json.loads(mapl(*clinic.arguments("--public", clinic.test, "--test", clinic.test, "--json")).stdout)
    truth = pa.parquet.read_table(clinic.test)[LABEL].to_pylist()
    right = sum(a == b for a, b in zip(labels_of(Path("run")), truth, strict=True))
    assert said["label_accuracy"] == pytest.approx(right / 300)
    assert f"{said['label_accuracy']:.1%}" in Path("run/public/report.html").read_text()
    assert LABEL not in {one["name"] for one in json.loads(Path("run/public/schema.json").read_text())["columns"]}


def test_spending_is_on_record_before_anything_is_public(
    mapl: Mapl, clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up when the labels are written loses nothing and spends nothing twice."""
    written: list[str] = []

    def full(path: Path, content: bytes, **named: Any) -> None:
        with SqliteLedger(tmp_path / "run" / "private" / "ledger.sqlite") as ledger:
            assert ledger.progress("labels").state.halted or len(ledger.progress("labels").labels) == 150
        written.append(path.name)
        if path.name == "labels.parquet":
            raise OSError(28, "No space left on device")
        write_once(path, content, **named)

    with monkeypatch.context() as patched:
        patched.setattr("mapl.pipeline.runs.published.write_once", full)
        ran = mapl(*clinic.arguments())
    assert ran.code == 2
    for part in (
        "labels.parquet cannot be written (No space left on device)",
        "is spent",
        "the same command again",
    ):
        assert part in ran.stderr
    assert written.index("statement.json") < written.index("ledger.jsonl") < written.index("labels.parquet")
    public = {one.name for one in (tmp_path / "run" / "public").iterdir()}
    assert {"statement.json", "ledger.jsonl", "plan.json"} <= public
    assert not {"labels.parquet", "student.skops"} & public
    with SqliteLedger(tmp_path / "run" / "private" / "ledger.sqlite") as ledger:
        recorded, head = ledger.progress("labels").labels.tolist(), ledger.head
    assert mapl(*clinic.arguments()).code == 0
    with SqliteLedger(tmp_path / "run" / "private" / "ledger.sqlite") as ledger:
        assert ledger.head == head
    asked = pa.parquet.read_table("run/public/labels.parquet")["label"].to_pylist()
    assert sorted(asked) == sorted(CLASSES[code] for code in recorded)


def test_a_finished_run_is_never_reopened(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    assert mapl(*clinic.arguments()).code == 0
    before = {one: one.read_bytes() for one in (tmp_path / "run").rglob("*") if one.is_file()}
    ran = mapl(*clinic.arguments())
    assert ran.code == 2
    assert "holds a finished run" in ran.stderr
    assert "choose another --out" in ran.stderr
    assert {one: one.read_bytes() for one in (tmp_path / "run").rglob("*") if one.is_file()} == before


def test_fewer_questions_than_public_rows(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--queries", 60, "--json"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["queries"], said["answered"], said["not_asked"], said["halted"]) == (60, 60, 0, False)
    labels = pa.parquet.read_table("run/public/labels.parquet")
    assert labels.num_rows == 150
    assert labels["label"].null_count == 90
    assert labels["status"].to_pylist().count("not asked") == 90
    assert mapl("report", "run").code == 0


def test_more_questions_than_public_rows(mapl: Mapl, clinic: Any) -> None:
    said = json.loads(mapl(*clinic.arguments("--queries", 10_000, "--json")).stdout)
    assert (said["queries"], said["answered"]) == (150, 150)


def test_a_run_that_halts_tells_what_it_has(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--mechanism", "ladder", "--max-abstentions", 3, "--test", clinic.test, "--json"))
    assert ran.code == 3
    assert "reached its limit" in ran.stderr
    said = json.loads(ran.stdout)
    assert said["halted"]
    assert said["abstained"] == 3
    assert said["answered"] + said["abstained"] + said["not_asked"] == 150
    assert said["accuracy"] > 0.4
    assert Path("run/public/student.skops").exists()
    assert mapl("report", "run").code == 0
    assert mapl(*clinic.arguments("--mechanism", "ladder", "--max-abstentions", 3)).code == 2


def test_a_run_without_any_label_has_no_student(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    """The first question is a hopeless one, and the first abstention ends the run: spent, and nothing to learn."""
    private, public = pa.parquet.read_table(clinic.private), pa.parquet.read_table(clinic.public)
    noise = [CLASSES[i % 2] for i in range(private.num_rows)]
    column = private.column_names.index(LABEL)
    pa.parquet.write_table(private.set_column(column, LABEL, pa.array(noise)), tmp_path / "noise.parquet")
    pa.parquet.write_table(public.slice(0, 2), tmp_path / "two.parquet")
    command = clinic.arguments(
        *("--public", "two.parquet", "--mechanism", "ladder", "--max-abstentions", 1, "--epsilon", 2),
        *("--delta", 1e-6, "--test", clinic.test, "--seed", 1, "--json"),
        private=tmp_path / "noise.parquet",
        teachers=60,
    )
    ran = mapl(*command)
    assert ran.code == 3
    said = json.loads(ran.stdout)
    assert (said["answered"], said["student"], said["accuracy"]) == (0, None, None)
    assert "there is no student" in ran.stderr
    assert not Path("run/public/student.skops").exists()
    assert mapl("report", "run").code == 0
    assert "no student to test" in mapl("report", "run", "--test", clinic.test).stderr
    assert "finished run" in mapl(*command).stderr


def test_an_estimate_of_the_error_comes_first(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--error-share", 0.2, "--json"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert 0 <= said["error_rate"] <= 1
    assert [stage["name"] for stage in said["stages"]] == ["error", "labels"]
    assert said["guaranteed_epsilon"] <= said["budget_epsilon"] == 20
    assert said["stages"][0]["epsilon"] == pytest.approx(4)
    assert "privately estimated" in said["why"]
    chain = [json.loads(line) for line in Path("run/public/ledger.jsonl").read_text().splitlines()]
    assert [entry["stage"] for entry in chain if entry["kind"] == "start"] == ["error", "labels"]
    assert "error" in Path("run/public/report.html").read_text()


def test_an_estimate_whose_labels_would_be_refused_is_refused_first(mapl: Mapl, clinic: Any) -> None:
    many = ",".join(["no", "yes", *map(str, range(8))])
    ran = mapl(*clinic.arguments("--error-share", 0.5, "--epsilon", 0.5, "--classes", many))
    assert ran.code == 2
    assert "unanimous vote" in ran.stderr
    assert not Path("run").exists()


def test_label_private(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(
        *("learn", clinic.private, "--label-private", "--label", LABEL, "--classes", "no,yes", "--unit", UNIT),
        *("--epsilon", 20, "--delta", 1e-5, "--jobs", 1, "--out", "run", "--test", clinic.test, "--json"),
    )
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["adjacency"].startswith(f"the labels of all records of one {UNIT} change")
    assert 150 < said["queries"] < 450  # a fifth of the patients
    assert said["accuracy"] > 0.7
    assert said["mechanism"] == "moment-sums"


def test_replace_one(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--adjacency", "replace-one", "--teachers", "auto", "--json"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert "replaced by any other records with the same" in said["adjacency"]
    assert said["teachers"] < 100


def test_seeded_coins_are_marked_everywhere(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--seed", 3))
    assert ran.code == 0
    assert "NOT PRIVATE" in ran.stdout
    for name in ("statement.json", "report.html", "card.md"):
        assert "NOT PRIVATE" in Path("run/public", name).read_text(), name
