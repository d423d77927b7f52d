"""What one cell makes of the storage of a column reaches nobody else: not teachers, not programs, not cells.

Each of these changed every teacher's vote, or every count, while a writer's types reached the learners.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from watched import Poll, one_moved_vote

from mapl.data.units.shards import ShardKey
from mapl.pipeline.runs.cells_file import COUNT

N = 600


def labels(n: int) -> list[str]:
    return [("no", "yes")[i % 3 > 0] for i in range(n)]


def learning(private: Path, *more: Any) -> list[Any]:
    return [
        *("learn", private, "--public", "public.parquet", "--label", "y", "--classes", "no,yes", "--unit", "who"),
        *("--epsilon", 400, "--delta", 1e-5, "--jobs", 1, *more),
    ]


def records(column: Any, n: int = N) -> pa.Table:
    return pa.table({"a": column, "b": np.arange(n) % 7 / 7, "who": [f"p{i}" for i in range(n)], "y": labels(n)})


def stamps(n: int) -> list[int]:
    """Nanoseconds since 1970: far beyond 2^53, and different in their last digits."""
    return [1_700_000_000_000_000_001 + 86_399_999_999_999 * i for i in range(n)]


@pytest.mark.parametrize(
    "learner", [("--learner", "sklearn.tree:DecisionTreeClassifier"), ("--learner", "ridge")], ids=["own", "named"]
)
def test_an_empty_cell_among_long_numbers_moves_one_teacher(
    polled: Callable[..., Poll], tmp_path: Path, learner: tuple[str, str]
) -> None:
    """Without that person the column is int64, with them float64, as pandas has it; one cast used to fail."""
    public = pa.table({"a": stamps(60), "b": np.arange(60) % 7 / 7})
    pa.parquet.write_table(public, tmp_path / "public.parquet")
    alone = records(pa.array(stamps(N), pa.int64()))
    beside = records(pa.array([*map(float, stamps(N)), None], pa.float64()), N + 1)

    def command(*more: Any, private: Path) -> list[Any]:
        return learning(private, *learner, "--teachers", 12, "--student", "ridge", *more)

    one, other = (polled(table, command=command) for table in (alone, beside))
    (k,) = one.changed_shards(other)
    assert one.changed_teachers(other) in ([], [k])
    assert one_moved_vote(one.counts, other.counts)
    assert None not in one.votes.values()


RIGHT, WRONG = 267.46, 267.46000000000004
"""What 267.460 is, and what Arrow makes of it where some other cell has four digits behind the point."""


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_digit_more_is_one_count_more(
    mapl: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, suffix: str
) -> None:
    """At epsilon 400 noise is other than zero less than once in 10^15 counts: what is released was counted."""
    monkeypatch.setattr(ShardKey, "fresh", classmethod(lambda cls: cls(b"k" * 32)))
    pa.parquet.write_table(pa.table({"a": [RIGHT, WRONG] * 30}), tmp_path / "public.parquet")

    def counts(scale: int, *more: str) -> Any:
        cells = [Decimal("267.460")] * N + [Decimal(one) for one in more]
        table = records(pa.array(cells, pa.decimal128(12, scale)), len(cells)).drop_columns(["b"])
        path = tmp_path / f"private-{scale}{suffix}"
        (pa.parquet.write_table if suffix == ".parquet" else pa.csv.write_csv)(table, path)
        out = tmp_path / f"run-{scale}"
        ran = mapl(*learning(path, "--method", "cells", "--cells", 2, "--student", "ridge", "--out", out))
        assert ran.code == 0, ran.stderr
        released = pa.parquet.read_table(out / "public" / "cells.parquet")
        return np.column_stack([released[f"{COUNT}{name}"].to_numpy() for name in ("no", "yes")])

    one, other = counts(3), counts(4, "267.4601")
    assert one.sum() == N
    assert np.abs(one - other).sum() == 1
