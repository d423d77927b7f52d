"""A table in scratch files is the table in memory, cell by cell, however its blocks were cut."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data.sources.spool import Spool
from mapl.errors import InvalidData

LEVELS = pa.array(["no", "yes", "perhaps"])
DAY = datetime(2020, 1, 1, tzinfo=UTC)
IMAGES = pa.list_(pa.float32(), 3)


def columns_of(numbers: list[float | None]) -> list[pa.Array]:
    """Return a column of each kind that conformed rows have, all of them missing where a number is."""
    codes = pa.array([None if one is None else int(abs(one)) % 3 for one in numbers], pa.int8())
    texts = [None if one is None else "ä" * int(abs(one) % 5) for one in numbers]
    return [
        pa.array(numbers, pa.float64()),
        pa.DictionaryArray.from_arrays(codes, LEVELS),
        pa.array([None if one is None else DAY for one in numbers], pa.timestamp("us", "UTC")),
        pa.array(texts, pa.large_string()),
        pa.array([None if one is None else one.encode() for one in texts], pa.large_binary()),
        pa.array([None if one is None else [one, 0.0, 1.0] for one in numbers], IMAGES),
        pa.array(np.arange(len(numbers), dtype=np.int32)),
    ]


@contextmanager
def scratch_files() -> Iterator[list[Any]]:
    """Note every scratch file that is made meanwhile."""
    made: list[Any] = []
    make = tempfile.TemporaryFile
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "TemporaryFile", lambda **how: made.append(make(**how)) or made[-1])
        yield made


FINITE = st.floats(-1e6, 1e6, width=32)


@given(st.lists(st.lists(st.none() | FINITE, max_size=20), min_size=1, max_size=6), st.integers(0, 1000))
def test_files_hold_what_memory_holds(blocks: list[list[float | None]], most: int) -> None:
    with Spool(most) as stored, Spool(1 << 30) as kept:
        for block in blocks:
            stored.add(columns_of(block))
        with scratch_files() as made:
            for block in blocks:
                kept.add(columns_of(block))
        assert not made
        columns = list(zip(stored.columns(), kept.columns(), strict=True))
    stored.let_go()  # what is mapped is there again when somebody looks
    for found, expected in columns:
        found.validate(full=True)
        assert found.to_pylist() == expected.to_pylist()
        assert found.type == expected.type


def test_columns_of_slices_and_chunks_are_whole() -> None:
    whole = pa.chunked_array([pa.array(range(30)), pa.array(range(30, 77))]).cast(pa.float64())
    with Spool(0) as spool, scratch_files() as made:
        spool.add([whole.slice(3, 50)])
        spool.add([whole.slice(53)])
        (found,) = spool.columns()
    assert made
    assert found.to_pylist() == list(range(3, 77))


def test_scratch_files_have_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Spool(0) as spool, scratch_files() as made:
        spool.add(columns_of([1.0] * 100))
        assert made
        assert not list(tmp_path.iterdir())
        assert "private" in repr(spool)
        assert spool.columns()[0].to_pylist() == [1.0] * 100
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")
def test_a_full_disk_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "wb", buffering=0) as full, Spool(0) as spool:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **given: full)
        with pytest.raises(InvalidData, match=r"does not fit into .* \(No space left .*Nothing was spent"):
            spool.add([pa.array([1.0] * 100)])
