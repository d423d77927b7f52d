"""Cells and moments on workers of a cluster: blocks go there as files, and whole numbers come back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from here_at_once import HereAtOnce

from mapl.data.synthetic import LABEL
from mapl.engines import opening
from mapl.engines.cluster import EngineFailed
from mapl.engines.files import folder_afar, map_files, write_down
from mapl.pipeline.counts import counting_afar
from mapl.pipeline.sums import summing_afar


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the engine be this process, and files be small."""
    monkeypatch.setattr(opening, "_connect", lambda address, n: HereAtOnce())
    monkeypatch.setattr(counting_afar, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(summing_afar, "ROWS_AT_ONCE", 100)
    yield
    opening.close_clusters()


@pytest.mark.parametrize(
    "how",
    [
        ("--method", "cells", "--cells", 20, "--partition", "leaves", "--rounds", 2),
        ("--method", "moments"),
        ("--method", "moments", "--unit", "none"),
        ("--method", "moments", "--epsilon", 4, "--rows", 9_000_000),
    ],
)
def test_a_run_says_the_same_and_releases_the_same(
    how: tuple[Any, ...], mapl: Callable[..., Any], clinic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def write(folder: Path, content: Any) -> Path:
        written.append(write_down(folder, content))
        assert Path("run/private").resolve() in written[-1].resolve().parents
        return written[-1]

    for module in (counting_afar, summing_afar):
        monkeypatch.setattr(module, "write_down", write)

    def learn(*more: Any) -> tuple[str, str, list[bytes]]:
        ran = mapl(*clinic.arguments("--seed", 3, *how, *more, teachers="auto"))
        assert ran.code == 0, ran.stderr
        # All else names the run, which is another one each time.
        files = [path.read_bytes() for path in sorted(Path("run/public").glob("*.parquet"))]
        shutil.rmtree("run")
        return ran.stdout, ran.stderr, files

    alone = learn()
    assert written == []
    assert learn("--engine", "dask") == alone
    assert len(written) > 4
    assert not any(path.exists() for path in written)


def test_files_go_when_they_are_done_with_and_nothing_stays(tmp_path: Path) -> None:
    def add(shared: int, some: list[int]) -> int:
        return shared + sum(some)

    with folder_afar(tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        files = (write_down(folder, [number, 1]) for number in range(7))
        assert sorted(map_files(HereAtOnce(), add, 10, files, folder)) == list(range(11, 18))
        assert list(folder.iterdir()) == []
        kept = [write_down(folder, [number]) for number in range(3)]
        for _ in range(2):
            assert sorted(map_files(HereAtOnce(), add, 0, kept, folder, keep=True)) == [0, 1, 2]
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_a_row_is_not_told(tmp_path: Path) -> None:
    def quote(shared: None, some: list[str]) -> None:
        raise ValueError(some[0])

    with folder_afar(tmp_path) as folder, pytest.raises(EngineFailed, match="failed with ValueError") as told:
        list(map_files(HereAtOnce(), quote, None, [write_down(folder, [f"Ada has {LABEL}"])], folder))
    assert "Ada" not in str(told.value)
    assert list(tmp_path.iterdir()) == []
