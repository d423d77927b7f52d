"""An unfinished run goes on with the very same command and tables, and with nothing else."""

from __future__ import annotations

import fcntl
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.data.synthetic import LABEL, UNIT

Mapl = Callable[..., Any]


def changed(path: Path, column: str, cell: Any, *, row: int = 7) -> pa.Table:
    """Return a table with one cell changed."""
    table = pa.parquet.read_table(path)
    cells = table[column].to_pylist()
    cells[row] = cell
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


def unfinished(mapl: Mapl, clinic: Any, *more: Any) -> None:
    """Leave a run behind that was killed right before its end."""
    assert mapl(*clinic.arguments(*more)).code == 0
    Path("run/private/finished").unlink()


@pytest.mark.parametrize(
    "more",
    [
        ("--epsilon", 21),
        ("--delta", 1e-6),
        ("--teachers", 31),
        ("--learner", "nb"),
        ("--student", "nb"),
        ("--strategy", "voting"),
        ("--mechanism", "noisy-max"),
        ("--queries", 100),
        ("--classes", "yes,no"),
        ("--error-share", 0.1),
        ("--adjacency", "replace-one"),
        ("--group", "region"),
        ("--seed", 1),
    ],
    ids=lambda more: more[0],
)
def test_an_unfinished_run_with_other_settings(mapl: Mapl, clinic: Any, more: tuple[Any, ...]) -> None:
    unfinished(mapl, clinic)
    before = {one: one.read_bytes() for one in Path("run/public").iterdir()}
    ran = mapl(*clinic.arguments(*more))
    assert ran.code == 2
    assert "other settings" in ran.stderr
    assert {one: one.read_bytes() for one in Path("run/public").iterdir()} == before
    assert mapl(*clinic.arguments()).code == 0


def test_an_unfinished_run_with_other_tables(mapl: Mapl, clinic: Any) -> None:
    """Teachers of two partitions must never be counted together."""
    unfinished(mapl, clinic)
    pa.parquet.write_table(changed(clinic.private, "age", 44.0), "other.parquet")
    ran = mapl(*clinic.arguments(private=Path("other.parquet")))
    assert ran.code == 2
    assert "other tables" in ran.stderr
    pa.parquet.write_table(changed(clinic.public, "age", 44.0), "public.parquet")
    ran = mapl(*clinic.arguments("--public", "public.parquet"))
    assert ran.code == 2
    assert "other tables" in ran.stderr
    assert mapl("schema", clinic.public, "--label", LABEL, "--unit", UNIT, "--classes", "no,yes").code == 0
    schema = json.loads(Path("schema.json").read_text())
    schema["columns"] = schema["columns"][::-1]
    Path("schema.json").write_text(json.dumps(schema))
    ran = mapl(*clinic.arguments("--schema", "schema.json"))
    assert ran.code == 2
    assert "other tables" in ran.stderr


LEARNER = """
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

def numbers(X):
    return X[["age", "bmi", "glucose", "pressure"]]

model = make_pipeline(FunctionTransformer(numbers), RidgeClassifier(alpha={alpha}))
"""


def test_an_unfinished_run_with_the_same_learner_but_other_settings(
    mapl: Mapl, clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two learners of one name are not one learner."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def learn(alpha: float) -> Any:
        (tmp_path / "own_ridge.py").write_text(LEARNER.format(alpha=alpha))
        sys.modules.pop("own_ridge", None)
        importlib.invalidate_caches()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "dont_write_bytecode", True)
            return mapl(*clinic.arguments("--learner", "own_ridge:model"))

    assert learn(1.0).code == 0
    Path("run/private/finished").unlink()
    before = {one: one.read_bytes() for one in Path("run/public").iterdir()}
    ran = learn(25.0)
    assert ran.code == 2
    assert "another learner" in ran.stderr
    assert {one: one.read_bytes() for one in Path("run/public").iterdir()} == before
    assert learn(1.0).code == 0


def test_a_column_called_record_is_not_the_record(mapl: Mapl, clinic: Any) -> None:
    """A plan says "record" for both; their shards differ."""
    for name in ("private", "public"):
        table = pa.parquet.read_table(getattr(clinic, name))
        renamed = ["record" if one == UNIT else one for one in table.column_names]
        pa.parquet.write_table(table.rename_columns(renamed), f"{name}.parquet")
    command = clinic.arguments("--public", "public.parquet", "--unit", "record", private=Path("private.parquet"))
    assert mapl(*command).code == 0
    Path("run/private/finished").unlink()
    place = command.index("--unit")
    # The later --unit counts; with none, the ids become a column to learn from.
    ran = mapl(*[one for i, one in enumerate(command[:-2]) if i not in (place, place + 1)], "--unit", "none")
    assert ran.code == 2
    assert "other settings" in ran.stderr


def test_two_processes_on_one_run(mapl: Mapl, clinic: Any) -> None:
    unfinished(mapl, clinic)
    with Path("run/private/lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ran = mapl(*clinic.arguments())
        assert ran.code == 2
        assert "Another process is at work" in ran.stderr
    assert mapl(*clinic.arguments()).code == 0


def test_a_public_file_of_somebody_else_is_not_written_over(mapl: Mapl, clinic: Any) -> None:
    unfinished(mapl, clinic)
    Path("run/public/labels.parquet").write_text("not mine")
    ran = mapl(*clinic.arguments())
    assert ran.code == 2
    assert "labels.parquet is not what this run wrote" in ran.stderr
    assert Path("run/public/labels.parquet").read_text() == "not mine"
