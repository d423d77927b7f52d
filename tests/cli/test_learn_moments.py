"""`mapl learn --method moments` on what people have: odd columns, odd people, and words where it cannot go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

Column = Callable[[int, np.random.Generator], Any]

ODD: dict[str, Column] = {
    "numbers as text": lambda n, rng: [" ".join(map(str, rng.integers(0, 10**6, 8))) for _ in range(n)],
    "one value": lambda n, rng: np.ones(n),
    "no number at all": lambda n, rng: np.full(n, np.nan),
    "not finite": lambda n, rng: np.resize([np.inf, np.nan, -np.inf, 1e308, -1e308], n),
}


def table(n: int, seed: int, **more: Any) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    columns = {"x": x, "y": np.where(x > 0, "yes", "no")}
    return pa.table(columns | {name: make(n, rng) for name, make in more.items()})


def written(private: pa.Table, public: pa.Table) -> None:
    pa.parquet.write_table(private, "private.parquet")
    pa.parquet.write_table(public.drop_columns(["y"]), "public.parquet")


def learned(mapl: Callable[..., Any], *more: Any) -> Any:
    given = ("learn", "private.parquet", "--public", "public.parquet", "--label", "y", "--classes", "no,yes")
    usual = ("--epsilon", 4, "--delta", 1e-5, "--method", "moments", "--unit", "none", "--out", "run")
    return mapl(*given, *usual, *more)


def accuracy() -> float:
    from mapl.students import load

    test = table(400, 9)
    student = load(Path("run/public/student.skops"))
    rest = {name: [None] * 400 for name in student.schema.names if name != "x"}
    rows = pa.table({name: test["x"] if name == "x" else pa.array(rest[name]) for name in student.schema.names})
    return float(np.mean(np.asarray(student.predict(rows)) == np.asarray(test["y"])))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_column_does_no_harm(name: str, mapl: Callable[..., Any]) -> None:
    written(table(1500, 1, odd=ODD[name]), table(120, 2, odd=ODD[name]))
    ran = learned(mapl)
    assert ran.code == 0, ran.stderr
    assert json.loads(Path("run/public/statement.json").read_text("utf-8"))["mechanism"] == "moment-sums"


def test_a_column_that_public_rows_know_otherwise(mapl: Callable[..., Any]) -> None:
    """Finite in public, not so in private: it counts as far out, or as missing."""
    written(table(1500, 1, odd=ODD["not finite"]), table(120, 2, odd=lambda n, rng: rng.normal(size=n)))
    assert learned(mapl).code == 0


def test_nothing_but_a_constant_column(mapl: Callable[..., Any]) -> None:
    private, public = table(300, 1, one=ODD["one value"]), table(50, 2, one=ODD["one value"])
    written(private.drop_columns(["x"]), public.drop_columns(["x"]))
    ran = learned(mapl)
    assert ran.code == 0, ran.stderr
    assert "one" in ran.stderr


def test_an_empty_public_column_is_refused(mapl: Callable[..., Any]) -> None:
    written(table(300, 1, odd=lambda n, rng: rng.normal(size=n)), table(50, 2, odd=lambda n, _: pa.nulls(n)))
    ran = learned(mapl)
    assert ran.code == 2
    assert "The public column 'odd' is empty" in ran.stderr
    assert "leave it out with --drop, or give public rows that have it" in " ".join(ran.stderr.split())
    assert not Path("run").exists()


def test_a_class_that_nobody_has(mapl: Callable[..., Any]) -> None:
    written(table(1500, 1), table(120, 2))
    assert learned(mapl, "--classes", "no,yes,never").code == 0
    labels = pa.parquet.read_table("run/public/labels.parquet")["label"].to_pylist()
    assert labels.count("never") < 12


@pytest.mark.parametrize("n", [0, 1, 2])
def test_any_number_of_private_records(n: int, mapl: Callable[..., Any]) -> None:
    written(table(n, 1), table(120, 2))
    assert learned(mapl).code == 0


def test_one_public_row(mapl: Callable[..., Any]) -> None:
    written(table(500, 1), table(1, 2))
    assert learned(mapl).code == 0


def test_one_person_with_very_many_records_counts_once(mapl: Callable[..., Any]) -> None:
    """Somebody contradicts everybody else with a hundred thousand records."""
    crowd, n = table(3000, 1, person=lambda n, rng: np.arange(n)), 100_000
    liar = pa.table({"x": np.full(n, 2.0), "y": ["no"] * n, "person": np.full(n, -1)})
    written(pa.concat_tables([crowd, liar]), table(120, 2, person=lambda n, rng: np.arange(n) + 10**6))
    assert learned(mapl, "--unit", "person").code == 0
    assert accuracy() > 0.85


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--delta", 0), "needs a positive delta, for example 1e-6. Cells need none."),
        (("--epsilon", 28), "noise is calibrated up to 27, and beyond 10 it promises hardly anything. Choose"),
        (("--delta", 1e-30), "it must be 0 or at least 1e-15"),
        (("--adjacency", "replace-one"), "needs a column of ids"),
        (("--unit", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_spent(
    more: tuple[Any, ...], words: str, mapl: Callable[..., Any]
) -> None:
    written(table(100, 1), table(50, 2))
    ran = learned(mapl, *more)
    assert ran.code == 2
    assert words in ran.stderr
    assert not Path("run/private/ledger.sqlite").exists()
    assert "Traceback" not in ran.stderr
