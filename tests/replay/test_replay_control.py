"""The replay itself: its swaps are used, and it catches what leaks."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from neighbours import CROWD, csv
from side import difference

from mapl.cli.console import progress_of, tell
from mapl.data.units.shards import Sharded

TEACHERS = next(case for case in CASES if case.name == "teachers, a preset")


def test_released_labels_go_by_nobody(replays: Any) -> None:
    """All labels turned round: the same bytes with the swap, and other labels without it."""
    turned = csv([one | {"y": {"no": "yes", "yes": "no"}[one["y"]]} for one in CROWD])
    sides = [
        [replays.one(TEACHERS, table, ".csv", frozen=f)[0] for table in (csv(CROWD), turned)] for f in (True, False)
    ]
    (one, other), (real, real_other) = [[side["file run/public/labels.parquet"] for side in pair] for pair in sides]
    assert one == other
    assert real != real_other
    assert difference(*sides[1]) is not None


LEAKS: dict[str, Callable[[int], None]] = {
    "1. mapl learn: stderr": lambda n: tell(f"read {n} rows"),
    "1. mapl learn: stdout": lambda n: print("." * n),
    "warnings": lambda n: warnings.warn(f"{n} rows", stacklevel=2),
    "log": lambda n: logging.getLogger("mapl").debug("%d rows", n),
    "file notes.txt": lambda n: Path("notes.txt").write_bytes(bytes(n)) and None,
}


def leaking(monkeypatch: pytest.MonkeyPatch, leak: Callable[[int], None]) -> None:
    """Let teachers tell how many rows there are."""
    verify = Sharded.verify

    def told(self: Sharded) -> None:
        verify(self)
        leak(len(self.labels))

    monkeypatch.setattr(Sharded, "verify", told)


def test_a_number_of_rows_is_caught_wherever_it_is_told(replays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def everywhere(n: int) -> None:
        for leak in LEAKS.values():
            leak(n)
        with progress_of(quiet=False)("Reading", n) as on_progress:
            assert on_progress is not None
            on_progress(1)

    leaking(monkeypatch, everywhere)
    one, other = (replays.one(TEACHERS, csv(rows), ".csv")[0] for rows in (CROWD, CROWD[:-1]))
    shown = [name for name in one if one[name] != other.get(name)]
    assert set(LEAKS) <= set(shown)
    assert (difference(one, other) or "").startswith(shown[0])
    bars = [side["1. mapl learn: stderr"].decode() for side in (one, other)]
    assert ["1/40" in bars[0], "1/39" in bars[1]] == [True, True]  # drawn into a terminal, step by step


def test_an_exit_code_is_caught(replays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    leaking(monkeypatch, lambda n: sys.exit(n))
    one, other = (replays.one(TEACHERS, csv(rows), ".csv")[0] for rows in (CROWD, CROWD[:-1]))
    assert difference(one, other) == "1. mapl learn: exit code: line 1: '40' and '39'"


def test_a_difference_is_told_in_short() -> None:
    one, other = {"log": b"same\nrow 1 " + b"x" * 9999}, {"log": b"same\nrow 2"}
    found = difference(one, other)
    assert found is not None
    assert found.startswith("log: line 2: 'row 1 x")
    assert len(found) < 400
    assert "file a" in (difference({"file a": b""}, {}) or "")
    assert difference({"a": b"\xff1"}, {"a": b"\xff2"}) == "a: byte 1 of 2 and 2"
    assert difference(one, dict(one)) is None
