"""``mapl report``: the page of a run is made anew from its public half alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mapl.cli import app

Mapl = Callable[..., Any]


@pytest.fixture(scope="module")
def finished(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("reported") / "run"
    ran = CliRunner().invoke(app, [str(one) for one in clinic.arguments("--out", run, "--group", "region")])
    assert ran.exit_code == 0, ran.stderr
    return run


@pytest.fixture
def run(mapl: Mapl, finished: Path) -> Path:
    """Return a copy of the public half, which is all that a reader has."""
    shutil.copytree(finished / "public", "run/public")
    return Path("run")


def test_the_public_half_is_enough(mapl: Mapl, run: Path) -> None:
    page = (run / "public" / "report.html").read_text()
    ran = mapl("report", run)
    assert (ran.code, ran.stderr) == (0, "")
    assert "run/public/report.html" in ran.stdout
    assert (run / "public" / "report.html").read_text() == page
    assert "region" in page
    assert "accuracy is unknown without public labelled rows (--test)" in " ".join(ran.stdout.split())
    assert "accuracy of the released labels is unknown here" in " ".join(ran.stdout.split())
    assert "How many of the released labels are right is not known on this page" in page


def test_with_test_rows_and_elsewhere(mapl: Mapl, clinic: Any, run: Path) -> None:
    before = (run / "public" / "report.html").read_bytes()
    ran = mapl("report", run, "--test", clinic.test, "--out", "page.html", "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert 0.6 < said["accuracy"] < 1
    assert said["report"] == "page.html"
    assert said["answered"] == 150
    assert f"{said['accuracy']:.1%}"[:-2] in Path("page.html").read_text()
    assert (run / "public" / "report.html").read_bytes() == before
    assert json.loads(mapl("report", run, "--json").stdout)["accuracy"] is None
    for_people = mapl("report", run, "--test", clinic.test, "--out", "page.html").stdout
    assert f"Student accuracy: {said['accuracy']:.2%} on 300 public test rows" in " ".join(for_people.split())
    assert "accuracy of the released labels is unknown here" in " ".join(for_people.split())


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("nothing", "There is no folder elsewhere"),
        ("empty", "holds no finished run"),
        ("public half", "is the public half of a run"),
        ("file", "is a file"),
        ("unfinished", "labels.parquet is missing"),
        ("damaged", "is damaged"),
        ("forged", "chain"),
        ("mixed", "same run"),
    ],
)
def test_bad_runs(mapl: Mapl, run: Path, broken: str, message: str) -> None:
    public = run / "public"
    where = run
    match broken:
        case "nothing":
            where = Path("elsewhere")
        case "empty":
            where = Path("empty")
            where.mkdir()
        case "public half":
            where = public
        case "file":
            where = Path("file")
            where.touch()
        case "unfinished":
            (public / "labels.parquet").unlink()
        case "damaged":
            (public / "labels.parquet").write_bytes(b"PAR1 and so on PAR1")
        case "forged":
            lines = (public / "ledger.jsonl").read_text().splitlines()
            entry = json.loads(lines[-1])
            (public / "ledger.jsonl").write_text("\n".join([*lines[:-1], json.dumps({**entry, "answered": 1})]))
        case "mixed":
            statement = json.loads((public / "statement.json").read_text())
            (public / "statement.json").write_text(json.dumps({**statement, "answered": 149}))
    before = (public / "report.html").read_bytes()
    ran = mapl("report", where)
    assert (ran.code, ran.stdout) == (2, "")
    assert message in " ".join(ran.stderr.split())
    assert (public / "report.html").read_bytes() == before


def test_bad_files(mapl: Mapl, clinic: Any, run: Path) -> None:
    for more, message in (
        (("--test", "nothing.csv"), "There is no file nothing.csv"),
        (("--test", clinic.public), "test rows need their labels"),
        (("--out", "no/where.html"), "cannot be written"),
    ):
        ran = mapl("report", run, *more)
        assert (ran.code, ran.stdout) == (2, "")
        assert message in " ".join(ran.stderr.split())


def test_a_page_is_not_written_over_another_file(mapl: Mapl, run: Path) -> None:
    Path("precious.txt").write_text("mine")
    ran = mapl("report", run, "--out", "precious.txt")
    assert ran.code == 2
    assert "exists and holds something else" in ran.stderr
    assert Path("precious.txt").read_text() == "mine"
