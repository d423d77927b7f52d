"""Which engine is meant, and what is said where it is not there: before anything private is read."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from here_at_once import HereAtOnce

from mapl import PrivateClassifier
from mapl.engines.address import EngineAddress
from mapl.engines.cluster import EngineFailed, Trouble, absence, perform, result_of, software
from mapl.engines.files import read_down, write_down
from mapl.engines.opening import open_cluster
from mapl.errors import InvalidParameter


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("text", "engine", "where"),
    [
        ("local", "local", None),
        ("dask", "dask", None),
        ("dask://host:8786", "dask", "host:8786"),
        ("dask://tls://host:8786", "dask", "tls://host:8786"),
        ("dask://[::1]:8786", "dask", "[::1]:8786"),
        ("ray", "ray", None),
        ("ray://auto", "ray", "auto"),
        ("ray://10.0.0.1:10001", "ray", "10.0.0.1:10001"),
    ],
)
def test_what_an_engine_is_called(text: str, engine: str, where: str | None) -> None:
    assert EngineAddress.parse(text) == EngineAddress(engine, where)


@pytest.mark.parametrize(
    "text",
    [
        *("", "spark", "Dask", "local://x:1", "dask://", "dask://host", "dask://host:0", "dask://host:65536"),
        *("dask://host:x", "dask://:8786", "dask://auto", "dask://a/b:1", "dask://me@host:1", "ray://tls://host:1"),
        *("dask:host:1", "dask://host:²"),
    ],
)
def test_what_is_no_engine_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"dask://host:8786.*Nothing was read or spent"):
        EngineAddress.parse(text)


def test_the_local_engine_is_no_cluster() -> None:
    assert open_cluster("local", 2) is None


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_an_engine_that_is_not_there_is_told_before_private_rows_are_read(
    engine: str, mapl: Callable[..., Any], clinic: Any
) -> None:
    address = f"{engine}://127.0.0.1:{free_port()}"
    for method in ("teachers", "cells", "moments"):
        ran = mapl(*clinic.arguments("--engine", address, "--method", method, teachers="auto"))
        assert ran.code == 2
        told = " ".join(ran.stderr.split())
        assert f"No engine {engine} answers at 127.0.0.1" in told
        assert "--engine local" in told
        assert "nothing was spent" in told
        assert not Path("run").exists()


def test_the_cluster_of_this_machine_has_no_address_in_messages() -> None:
    told = str(absence(EngineAddress.parse("ray://auto"), "ConnectionError"))
    assert "No engine ray answers on this machine (ConnectionError)" in told


def test_python_refuses_in_its_own_words() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 2))
    face = PrivateClassifier(epsilon=1.0, delta=1e-6, classes=(0, 1), n_teachers=2, engine="spark")
    with pytest.raises(InvalidParameter, match="The engine is 'spark'; say with engine local, dask or ray"):
        face.fit(rows, (rows[:, 0] > 0).astype(int), public=rows + 1)


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_an_extra_that_is_missing_is_named(engine: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidParameter, match=rf"pip install 'mapl\[{engine}\]'"):
        open_cluster(f"{engine}://127.0.0.1:{free_port()}", 1)


def send_here(task: Callable[..., Any], *arguments: Any, wanted: dict[str, str] | None = None) -> Any:
    here = HereAtOnce()
    return result_of(here, here.submit(perform, wanted or software(), task, *arguments))


def test_what_a_task_says_is_not_repeated_unless_it_is_public() -> None:
    def quotes() -> None:
        raise ValueError("Ada, 36, positive")

    def asks() -> None:
        raise Trouble("a worker wants something")

    with pytest.raises(EngineFailed, match="failed with ValueError") as told:
        send_here(quotes)
    assert "Ada" not in str(told.value)
    assert told.value.__cause__ is None
    with pytest.raises(EngineFailed, match=r"a worker wants something\. No vote, count or sum depends on that"):
        send_here(asks)
    assert send_here(max, 2, 3) == 3


def test_a_worker_with_other_software_is_refused() -> None:
    with pytest.raises(EngineFailed, match=r"a worker has numpy .* in place of 0\.1"):
        send_here(max, 2, 3, wanted={**software(), "numpy": "0.1"})


def test_a_worker_without_mapl_is_told_from_a_worker_that_died() -> None:
    here = HereAtOnce()

    def lacks() -> None:
        raise ModuleNotFoundError("No module named 'mapl'", name="mapl")

    with pytest.raises(EngineFailed, match="cannot import mapl; install the same mapl"):
        result_of(here, here.submit(lacks))
    cancelled: Future[Any] = Future()
    cancelled.cancel()
    with pytest.raises(EngineFailed, match="gave up with CancelledError"):
        result_of(here, cancelled)


def test_a_folder_that_a_worker_does_not_see_is_no_failed_teacher(tmp_path: Path) -> None:
    path = write_down(tmp_path, [(0, b"rows")])
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_down(path) == [(0, b"rows")]
    with pytest.raises(Trouble, match="put the run on a shared mount"):
        read_down(path, tmp_path / "learner.pickle")
    path.unlink()
    with pytest.raises(Trouble, match="cannot read"):
        read_down(path)


def test_nobody_waits_long_for_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that takes connections and says nothing is no engine either."""
    monkeypatch.setattr("mapl.engines.dask_cluster.SECONDS_TO_ANSWER", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(InvalidParameter, match="No engine dask answers"):
            open_cluster(f"dask://127.0.0.1:{silent.getsockname()[1]}", 1)
