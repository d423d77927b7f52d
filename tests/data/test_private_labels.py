"""Private labels beside public features in a file of text: none of them changes how anything else is read."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mapl.data import read_table

NAMES = (".csv", ".csv.gz", ".tsv", ".jsonl", ".jsonl.gz")
WHO = 3
"""Whose label is changed."""


def read(folder: Path, name: str, label: Any) -> pa.Table:
    """Write a table in which all labels but one are usual, and read it."""
    rows = [
        {"age": 20 + i, "town": f"town {i}", "y": label if i == WHO else ("no", "yes")[i % 2], "day": "2024-01-31"}
        for i in range(8)
    ]
    if name.startswith(".json"):
        content = "".join(json.dumps(one) + "\n" for one in rows).encode()
    else:
        text = io.StringIO()
        lines = csv.writer(text, delimiter="\t" if name.startswith(".tsv") else ",", quoting=csv.QUOTE_ALL)
        lines.writerows([list(rows[0]), *(one.values() for one in rows)])
        content = text.getvalue().encode()
    path = folder / f"table{name}"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return read_table(path, what="private rows", private=("y",))


@pytest.mark.parametrize("label", ["x" * 3_000_000, "a\rb", "a\n\r\nb", 'a "b, c"', "\0\ufeff\u2028", ""])
@pytest.mark.parametrize("name", NAMES)
def test_no_label_says_how_others_are_read(tmp_path: Path, name: str, label: str) -> None:
    usual, odd = read(tmp_path, name, "yes"), read(tmp_path, name, label)
    assert odd.drop_columns(["y"]).equals(usual.drop_columns(["y"]))
    said, expected = odd.column("y").to_pylist(), usual.column("y").to_pylist()
    assert [*said[:WHO], *said[WHO + 1 :]] == [*expected[:WHO], *expected[WHO + 1 :]]


@pytest.mark.parametrize("label", [["yes"], [], [1.0, 2], {"of": "yes"}, None, True, 7.5, [["yes"]]])
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(".json")])
def test_no_label_of_json_lines_takes_those_of_others_away(tmp_path: Path, name: str, label: Any) -> None:
    """One list would make a column of lists of numbers, in which nobody else has a label."""
    usual, odd = read(tmp_path, name, "yes"), read(tmp_path, name, label)
    assert odd.schema.equals(usual.schema)
    said, expected = odd.column("y").to_pylist(), usual.column("y").to_pylist()
    assert [*said[:WHO], *said[WHO + 1 :]] == [*expected[:WHO], *expected[WHO + 1 :]]
    assert said[WHO] == {True: "true", 7.5: "7.5"}.get(label if isinstance(label, bool | float) else None, "")


@pytest.mark.parametrize("name", [".csv", ".csv.gz", ".jsonl"])
def test_the_length_of_a_label_moves_no_end_of_a_line(tmp_path: Path, name: str) -> None:
    """pyarrow reads a mebibyte at a time, and dropped the second half of a line end that one began with."""
    note = "\r\n" * 500
    for length in range(4):
        label = "x" * length
        if name == ".jsonl":
            content = "".join(json.dumps({"y": label, "note": note}) + "\n" for _ in range(2200)).encode()
        else:
            content = (f'y,note\n{label},""\n' + f'no,"{note}"\n' * 2200).encode()
        path = tmp_path / f"table{name}"
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        found = read_table(path, what="private rows", private=("y",)).column("note").to_pylist()
        assert found[1:] == [note] * (len(found) - 1)
