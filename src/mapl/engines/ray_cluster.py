"""Ray: a cluster that runs already, or processes that are started on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Thread
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
        self._run = ray.remote(num_cpus=1, max_retries=0, retry_exceptions=False)(_run)

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
        outcome: Future[Any] = Future()
        self._attempt(outcome, MOST_DEATHS, task, *arguments)
        return outcome

    def _attempt(self, outcome: Future[Any], lives: int, *what: Any) -> None:
        """Run a task, and again if its worker dies. Where memory was short, Ray by itself would do so for ever."""

        def look(tried: Future[Any]) -> None:
            failure: BaseException | None
            try:
                result, failure = tried.result(), None
            except BaseException as raised:
                result, failure = None, raised
            if lives and self._is_death(failure) and not outcome.cancelled():
                # Not from here: this is a thread of Ray's own.
                Thread(target=self._attempt, args=(outcome, lives - 1, *what), daemon=True).start()
            elif outcome.set_running_or_notify_cancel():
                outcome.set_result(result) if failure is None else outcome.set_exception(failure)

        try:
            self._run.remote(*what).future().add_done_callback(look)
        except Exception as failure:
            if lives == MOST_DEATHS:
                raise
            if outcome.set_running_or_notify_cancel():
                outcome.set_exception(failure)

    def _is_death(self, failure: BaseException | None) -> bool:
        """Say whether it is a worker that failed, and not what it was given to do."""
        told = self._ray.exceptions
        return isinstance(failure, told.RayError) and not isinstance(
            failure, told.RayTaskError | told.TaskCancelledError
        )

    def close(self) -> None:
        if not self._joined:
            self._ray.shutdown()


def _run(task: Callable[..., Any], *arguments: Any) -> Any:
    return task(*arguments)
