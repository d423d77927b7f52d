"""Dask: a cluster that runs already, or processes that are started on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from mapl.engines.address import DASK, EngineAddress
from mapl.engines.cluster import MOST_DEATHS, SECONDS_TO_ANSWER, absence, call_within, refuse_absent
from mapl.errors import InvalidParameter

NO_PAGES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Without a dashboard, too, pages would tell whoever else is on this machine which task runs where."""


class DaskCluster:
    """Workers of dask.distributed."""

    engine = DASK

    def __init__(self, address: EngineAddress, n: int) -> None:
        try:
            import dask
            from distributed import Client, LocalCluster
        except ModuleNotFoundError as missing:
            raise InvalidParameter(f"The engine dask needs {missing.name}: pip install 'mapl[dask]'.") from None
        refuse_absent(address)
        self._own, self._n = None, n
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would tell which worker died, and when
        with dask.config.set({**NO_PAGES, "distributed.scheduler.allowed-failures": MOST_DEATHS}):
            try:
                if address.where is None:
                    # Without a limit to its memory a worker never spills results, which are private, to a disk.
                    self._own = LocalCluster(
                        n_workers=n,
                        threads_per_worker=1,
                        host="127.0.0.1",
                        dashboard_address="127.0.0.1:0",  # None would stand for a port that others may have
                        scheduler_kwargs={"dashboard": False},
                        config=NO_PAGES,  # of workers that are started again, too
                        memory_limit=None,
                        silence_logs=logging.CRITICAL,
                    )
                    self._client = Client(self._own, set_as_default=False)
                else:
                    join = partial(Client, address.where, timeout=SECONDS_TO_ANSWER, set_as_default=False)
                    self._client = call_within(SECONDS_TO_ANSWER, join)
            except Exception as failure:
                if self._own is not None:
                    self._own.close()
                raise absence(address, type(failure).__name__) from None
        self._executor = self._client.get_executor(pure=False)

    @property
    def n_workers(self) -> int:
        return max(1, int(sum(self._client.nthreads().values())))

    @property
    def is_open(self) -> bool:
        return bool(self._client.status == "running")

    def muster(self) -> int:
        try:
            found = int(sum(call_within(SECONDS_TO_ANSWER, self._client.nthreads).values()))
        except Exception:
            return 0
        if self._own is not None and found < self._n:
            # A worker that takes long to start again, as on a busy machine, is given up by its cluster.
            self._own.scale(self._n)
        return found

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = self._executor.submit(task, *arguments)
        return future

    def close(self) -> None:
        self._client.close()
        if self._own is not None:
            self._own.close()
