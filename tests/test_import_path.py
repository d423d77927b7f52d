"""Files of the current folder stand in for nothing, neither in the command line nor in its workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl import import_path

TRAIN = """
from helper import LIMIT

def train(X, y):
    from helper import LIMIT
    return lambda rows: ["yes" if value > LIMIT else "no" for value in rows["a"]]
"""
STAND_INS = ("numpy", "pickle", "queue", "random", "selectors", "signal", "socket", "tempfile", "uuid")
ALSO_BEFORE_ANY_OF_OURS = ("types", "enum", "functools", "re", "typing")
"""Python itself takes these from the current folder before ``-m`` gets as far as mapl."""


@pytest.mark.parametrize(("by", "learner"), [("script", "mine:train"), ("module", "ridge")])
def test_nothing_is_taken_from_the_current_folder_but_what_is_named(tmp_path: Path, by: str, learner: str) -> None:
    """Every teacher votes: with a rule of the current folder, which takes a module from there, or with a preset."""
    rng = np.random.default_rng(0)
    private, public = rng.normal(size=(1200, 2)), rng.normal(size=(40, 2))
    public[:, 0] += np.where(public[:, 0] > 0, 1.0, -1.0)  # far from where teachers might disagree
    rows = {"a": private[:, 0], "b": private[:, 1], "id": np.arange(1200)}
    label = pa.array(np.where(private[:, 0] > 0, "yes", "no"))
    pa.csv.write_csv(pa.table({**rows, "label": label}), tmp_path / "private.csv")
    pa.csv.write_csv(pa.table({"a": public[:, 0], "b": public[:, 1]}), tmp_path / "public.csv")
    for name in STAND_INS if by == "module" else (*STAND_INS, *ALSO_BEFORE_ANY_OF_OURS):
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('{name} of the current folder')")
    (tmp_path / "helper.py").write_text("LIMIT = 0.0")
    (tmp_path / "mine.py").write_text(TRAIN)
    program = [sys.executable, "-m", "mapl"] if by == "module" else [str(Path(sys.executable).with_name("mapl"))]
    arguments = (
        "learn private.csv --public public.csv --label label --classes no,yes --unit id --epsilon 20 --delta 1e-5 "
        f"--teachers 40 --learner {learner} --student ridge --mechanism ladder --max-abstentions 2 --jobs 1 "
        "--out run"
    )
    ran = subprocess.run(
        [*program, *arguments.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 0, ran.stderr
    assert "of the current folder" not in ran.stdout + ran.stderr
    released = pa.parquet.read_table(tmp_path / "run" / "public" / "labels.parquet")
    found = {"yes": 0, "no": 0}
    for row, vote in zip(released["question"].to_pylist(), released["label"].to_pylist(), strict=True):
        assert vote in (None, "yes" if public[row, 0] > 0 else "no")
        found[vote] = found.get(vote, 0) + 1
    assert found["yes"] + found["no"] >= 38  # teachers that fail would all vote no
    assert min(found["yes"], found["no"]) > 5


def test_the_current_folder_is_moved_and_never_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here, others = str(tmp_path.resolve()), ["/one", "/two"]
    for given, made in (
        (["", *others], [*others, here]),
        ([here, *others, "."], [*others, here]),
        (others, others),
    ):
        monkeypatch.setattr(sys, "path", [*given])
        import_path.put_current_folder_last()
        assert sys.path == made
    import_path.search_current_folder_too()
    import_path.search_current_folder_too()
    assert sys.path == [*others, here]


DOORS = """
import sys
from mapl.import_path import ClosedDoors
with ClosedDoors("wave", "sys"):
    import sys as seen  # what is there stays there
    try:
        import wave
    except ImportError:
        pass
    else:
        raise AssertionError
import wave
assert seen is sys and sys.modules["wave"] is wave
"""


def test_a_library_stays_outside_until_its_door_is_opened_again() -> None:
    subprocess.run([sys.executable, "-c", DOORS], check=True)
