"""Every public file is a function of what was released and of settings, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pinned_runs import RUNS

from mapl.data.synthetic import Clinic


def carried_out(folder: Path, clinic: Any, n_records: int, hash_seed: int) -> dict[str, bytes]:
    """Let another process learn in every way from so many records; return all that it printed or published."""
    folder.mkdir()
    # One path for all tables: a command line is public.
    private = folder.parent / "private.parquet"
    pq.write_table(Clinic(seed=n_records).visits(n_records)[0], private)
    here = Path(__file__).parent
    subprocess.run(
        [sys.executable, "-W", "ignore", here / "pinned_runs.py", private, clinic.public, clinic.test],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "COLUMNS": "200"},
        check=True,
    )
    found = [path for path in folder.rglob("*") if path.is_file()]
    public = [path.relative_to(folder) for path in found if "private" not in path.relative_to(folder).parts]
    return {str(path): (folder / path).read_bytes() for path in sorted(public)}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, clinic: Any) -> list[dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("runs")
    return [carried_out(folder / str(n), clinic, n, seed) for seed, n in enumerate((12, 20_000), start=1)]


def test_every_way_comes_to_its_end_with_any_number_of_records(files: list[dict[str, bytes]]) -> None:
    for found in files:
        codes = {name: text.split(b"\n")[0] for name, text in found.items() if name.startswith("said/")}
        ended = {
            name: found[name].decode() for name, code in codes.items() if "." not in name and code not in b"03"
        }
        assert ended == {}
        for name in RUNS:
            assert f"{name}/public/student.skops" in found
            assert f"{name}/public/report.html" in found


def test_all_that_is_public_has_the_same_bytes_whatever_the_private_table(files: list[dict[str, bytes]]) -> None:
    first, *others = files
    for other in others:
        assert set(other) == set(first)
        assert {name for name in first if first[name] != other[name]} == set()
    assert len(first) > 60
