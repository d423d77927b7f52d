"""Ray: a cluster that runs already, or processes that are started on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from mapl.engines.address import HERE, RAY, EngineAddress
from mapl.engines.cluster import MOST_DEATHS, SECONDS_TO_ANSWER, absence, call_within, refuse_absent
from mapl.errors import InvalidParameter

OBJECT_BYTES = 128 << 20
"""Votes and counts are small; Ray itself would take a third of the memory for what tasks return."""


class RayCluster:
    """Workers of Ray, each with one processor."""

    engine = RAY

    def __init__(self, address: EngineAddress, n: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read as it is imported; nothing is reported
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ModuleNotFoundError as missing:
            raise InvalidParameter(f"The engine ray needs {missing.name}: pip install 'mapl[ray]'.") from None
        refuse_absent(address)
        self._ray = ray
        self._joined = ray.is_initialized()  # by whoever calls mapl, who will also leave it
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        try:
            if self._joined:
                pass
            elif address.where is None:
                ray.init(
                    "local",
                    num_cpus=n,
                    object_store_memory=OBJECT_BYTES,
                    include_dashboard=False,
                    _node_ip_address="127.0.0.1",
                    **quiet,
                )
            elif address.where == HERE:
                ray.init(HERE, **quiet)
            else:
                call_within(SECONDS_TO_ANSWER, partial(ray.init, f"ray://{address.where}", **quiet))
        except Exception as failure:
            raise absence(address, type(failure).__name__) from None
        self._run = ray.remote(num_cpus=1, max_retries=MOST_DEATHS, retry_exceptions=False)(_run)

    @property
    def n_workers(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def is_open(self) -> bool:
        return bool(self._ray.is_initialized())

    def muster(self) -> int:
        try:
            return int(call_within(SECONDS_TO_ANSWER, self._ray.cluster_resources).get("CPU", 0))
        except Exception:
            return 0

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = self._run.remote(task, *arguments).future()
        return future

    def close(self) -> None:
        if not self._joined:
            self._ray.shutdown()


def _run(task: Callable[..., Any], *arguments: Any) -> Any:
    return task(*arguments)
