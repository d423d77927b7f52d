"""Bad input: a message that says what to do, exit code 2, nothing written, no value quoted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from typer.testing import CliRunner

from mapl.cli import app
from mapl.mechanisms import REGISTRY
from mapl.mechanisms.registry import Registered

Mapl = Callable[..., Any]

BUDGET = ("--epsilon", "2", "--delta", "1e-5")
GOOD = np.full((4, 2), 125)
SECRET = 8675309


def refused(mapl: Mapl, folder: Path, *arguments: Any) -> str:
    """Run a command that must be refused; return its message on one line."""
    before = sorted(p.name for p in folder.rglob("*"))
    ran = mapl(*arguments)
    assert ran.code == 2, (ran.code, ran.stdout, ran.stderr)
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    assert str(SECRET) not in ran.stderr
    assert sorted(p.name for p in folder.rglob("*")) == before
    return " ".join(ran.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.array([[SECRET, -1], [1, 1]]), "negative"),
        (np.array([[SECRET + 0.5, 1], [1, 1]]), "fractions"),
        (np.array([[SECRET, np.nan], [1, 1]]), "NaN or infinity"),
        (np.array([[SECRET, np.inf], [1, 1]]), "NaN or infinity"),
        (np.array([[SECRET, 1], [1, 1]]), "different totals"),
        (np.array([[SECRET * 10**6, 1], [1, 1]]), "exceed"),
        (np.array([[SECRET], [1]]), "at least two classes"),
        (np.array([SECRET, 1]), "one row per question"),
        (np.zeros((2, 2)), "all zero"),
        (np.zeros((0, 2)), "no rows"),
        (np.array([["8675309", "x"]]), "whole numbers"),
        (np.array([[True, False]]), "unexpected type"),
        (np.array([[1 + 2j, 3]]), "unexpected type"),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), "unexpected type"),
        (np.array([(SECRET, 2.0)], dtype=[("x", int), ("y", float)]), "unexpected type"),
    ],
)
def test_counts(mapl: Mapl, tmp_path: Path, counts: Any, message: str) -> None:
    np.save(tmp_path / "v.npy", counts)
    assert message in refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.csv", b"", "is empty"),
        ("v.npy", b"", "is empty"),
        ("v.parquet", b"", "is empty"),
        ("v.csv", b"1,2\n8675309,x\n", "cannot be read"),
        ("v.csv", b"1,2\n8675309\n", "cannot be read"),
        ("v.csv", b"\xff\xfe8\x006\x00", "cannot be read"),
        ("v.npy", b"8675309", "damaged or cut off"),
        ("v.parquet", b"PAR1 8675309 PAR1", "damaged or cut off"),
        ("v.txt", b"1,2", "convert it"),
    ],
    ids=range(9),
)
def test_files(mapl: Mapl, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert message in refused(mapl, tmp_path, "aggregate", tmp_path / name, *BUDGET)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "epsilon is 0.0; it must be a positive number"),
        (["--epsilon", "-1"], "must be a positive number"),
        (["--epsilon", "nan"], "must be a positive number"),
        (["--epsilon", "inf"], "promises nothing"),
        (["--epsilon", "two"], "--epsilon"),
        (["--delta", "1"], "must lie in [0, 1)"),
        (["--delta", "-0.1"], "must lie in [0, 1)"),
        (["--delta", "0.5"], "delta is 0.5: publishing one person in 2 would keep such a promise"),
        (["--delta", "nan"], "must lie in [0, 1)"),
        (["--delta", "0", "--mechanism", "ladder", "--max-abstentions", "2"], "positive delta"),
        (["--mechanism", "magic"], "no mechanism 'magic'. Choose one of: ladder"),
        (["--mechanism", "ladder", "--sigma", "4"], "ladder has no setting sigma"),
        (["--max-abstentions", "0"], "whole number of at least 1"),
        (["--queries", "0"], "queries is 0"),
        (["--agreement", "lots"], "expected agreement is 'lots'"),
        (["--classes", "a"], "at least two different names"),
        (["--classes", "a,b,c"], "2 columns of counts and 3 classes"),
        (["--per-teacher"], "need declared classes"),
        (["--teachers-in", "rows"], "give --per-teacher"),
        (["--teachers-in", "heaven"], "heaven"),
        (["--truth", "none.npy"], "There is no file none.npy"),
        (["--seed", "-1"], "--seed"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_settings(mapl: Mapl, tmp_path: Path, arguments: list[str], message: str) -> None:
    np.save(tmp_path / "v.npy", GOOD)
    told = refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET, *arguments)
    assert message in told


def test_epsilon_and_delta_are_required(mapl: Mapl, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", GOOD)
    assert "epsilon" in refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", "--delta", "1e-5")


def test_truth(mapl: Mapl, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", GOOD)
    for truth, message in (
        ([0, 1, 0], "3 labels and the votes have 4 questions"),
        ([0, 1, 0, SECRET], "none of the 2 classes"),
        ([0, 1, 0, 0.5], "none of the 2 classes"),
    ):
        np.save(tmp_path / "t.npy", np.array(truth))
        told = refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET, "--truth", tmp_path / "t.npy")
        assert message in told


def test_too_few_teachers(mapl: Mapl, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.full((4, 2), 5))
    told = refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET, "--max-abstentions", 10)
    assert "unanimous vote of 10 teachers" in told
    assert "At least 149 teachers would be needed" in told


def test_binary_only_mechanisms(mapl: Mapl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        REGISTRY, "two-only", Registered(REGISTRY["ladder"].mechanism, (2,), "release", "a stand-in")
    )
    np.save(tmp_path / "v.npy", np.full((4, 10), 25))
    told = refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET, "--mechanism", "two-only")
    assert "two-only works for 2 classes and the votes have 10" in told


def test_output_folders(mapl: Mapl, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", GOOD)
    (tmp_path / "file").touch()
    for out in ("file", "file/below"):
        assert "is a file" in refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET, "--out", out)
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
        told = refused(mapl, tmp_path, "aggregate", tmp_path / "v.npy", *BUDGET, "--out", "closed/x")
        assert "cannot be written" in told


ANYTHING = st.one_of(
    hnp.arrays(np.float64, (3, 2), elements=st.one_of(st.floats(), st.sampled_from([125.0, 100.0, 150.0]))),
    hnp.arrays(np.int64, (3, 2), elements=st.one_of(st.integers(-(2**63), 2**63 - 1), st.just(125))),
    hnp.arrays(np.uint64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
)


@settings(max_examples=40, deadline=None)
@given(array=ANYTHING)
def test_any_array_is_released_or_refused(array: Any) -> None:
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "v.npy", array)
        out = Path(folder) / "out"
        arguments = ["aggregate", f"{folder}/v.npy", *BUDGET, "--max-abstentions", "5", "--out", str(out)]
        ran = CliRunner().invoke(app, arguments)
        assert ran.exit_code in (0, 2)
        assert out.exists() == (ran.exit_code == 0)


@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.one_of(st.floats(), st.floats(0.01, 1000)),
    delta=st.one_of(st.floats(), st.floats(0, 1)),
    limit=st.integers(-1, 20),
)
def test_any_budget_is_released_or_refused(epsilon: float, delta: float, limit: int) -> None:
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "v.npy", GOOD)
        out = Path(folder) / "out"
        budget = [f"--epsilon={epsilon!r}", f"--delta={delta!r}", f"--max-abstentions={limit}"]
        ran = CliRunner().invoke(app, ["aggregate", f"{folder}/v.npy", *budget, "--out", str(out)])
        assert ran.exit_code in (0, 2, 3), ran.stderr
        assert out.exists() == (ran.exit_code != 2)
