"""Engines with limits to memory of their own: the run ends with a clear message, and its rest is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mapl.engines.cluster import EngineFailed, result_of, submit_alike
from mapl.engines.opening import close_clusters, open_cluster


@pytest.fixture(autouse=True)
def no_clusters() -> Iterator[None]:
    close_clusters()
    yield
    close_clusters()


def fill() -> None:
    """Take much more memory than a worker may have, bit by bit."""
    held = []
    for _ in range(16):
        held.append(np.ones(1 << 23))
        time.sleep(0.2)


def wait() -> None:
    time.sleep(600)


def test_a_worker_of_dask_that_fills_its_memory_stops_the_run() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit="512MB"
    ) as limited:
        cluster: Any = open_cluster("dask://" + limited.scheduler_address.removeprefix("tcp://"), 1)
        with pytest.raises(EngineFailed, match="died again and again, for want of memory, say"):
            result_of(cluster, submit_alike(cluster, fill))
        assert result_of(cluster, submit_alike(cluster, int)) == 0


def test_a_worker_of_ray_that_is_ended_for_want_of_memory_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself tries again for ever. Its bound is so low here that whatever takes a while is too much."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.001")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "50")
    cluster: Any = open_cluster("ray", 1)
    with pytest.raises(EngineFailed, match="died again and again, for want of memory, say"):
        result_of(cluster, submit_alike(cluster, wait))
