"""A cluster: it takes tasks, runs them again if a worker dies, and hands back what they return.

Tasks are functions that any process with the same mapl can import, and small arguments: paths and public settings.
Whatever goes wrong inside comes back as a value, so no engine ever logs an error with something private in it.
"""

from __future__ import annotations

import pickle
import socket
import sys
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from threading import Thread
from typing import Any, Protocol

from mapl.engines.address import HERE, EngineAddress
from mapl.errors import InvalidParameter, MaplError
from mapl.parameters import spell

ALIKE = ("mapl", "numpy", "scipy", "scikit-learn", "pyarrow", "joblib")
"""Of these, other versions may give other votes from the same rows."""

SECONDS_TO_ANSWER = 30.0

SECONDS_BETWEEN_LOOKS, SECONDS_WITHOUT_WORKERS = 2.0, 300.0
"""How long a cluster may be without any worker: for those that died it starts others, slowly on a busy machine."""

MOST_DEATHS = 3
"""How many workers may die under a task before the run stops: by then it is rather the task."""


class Cluster(Protocol):
    """Workers of an engine, on this machine or on others."""

    @property
    def engine(self) -> str:
        """What the engine is called."""

    @property
    def n_workers(self) -> int:
        """How many tasks it can run at the same time, as of now."""

    @property
    def is_open(self) -> bool:
        """Whether it still takes tasks."""

    def muster(self) -> int:
        """Return the number of workers, 0 if nobody answers; start those of this machine again that are gone."""

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run a task on some worker, and on another one if that dies."""

    def close(self) -> None:
        """Leave the cluster; end it if it was started here."""


class EngineFailed(MaplError):
    """A cluster could not do its work. No vote, count or sum depends on that; the run stops before it spends."""


class Trouble(Exception):
    """Why a worker could not do a task, in words that are public."""


def submit_alike(cluster: Cluster, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Run a task on a worker that has the same software as this process."""
    return cluster.submit(perform, software(), task, *arguments)


def perform(wanted: dict[str, str], task: Callable[..., Any], *arguments: Any) -> tuple[str | None, Any]:
    """Do a task on a worker; return what went wrong in public words, if anything, and what it returns."""
    own = software()
    unlike = [f"{name} {own[name]} in place of {found}" for name, found in wanted.items() if own[name] != found]
    if unlike:
        return f"a worker has {', '.join(unlike)}, which may give other bits; install the same everywhere", None
    try:
        return None, task(*arguments)
    except Trouble as trouble:
        return str(trouble), None
    except MemoryError:
        return "a worker ran out of memory", None
    except Exception as failure:
        # Its own words may quote what it read.
        return f"a worker failed with {type(failure).__name__}", None


def first_done(cluster: Cluster, pending: Collection[Future[Any]]) -> set[Future[Any]]:
    """Wait until one of some tasks is done; return those that are.

    Raises
    ------
    EngineFailed
        If there was no worker for a long time: an engine itself would wait for one for ever.
    """
    left = SECONDS_WITHOUT_WORKERS
    while pending:
        # `wait` passes over a task that was cancelled before anybody took it up.
        if done := {future for future in pending if future.done()}:
            return done
        if done := wait(pending, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED).done:
            return done
        left = SECONDS_WITHOUT_WORKERS if cluster.muster() else left - SECONDS_BETWEEN_LOOKS
        if left <= 0:
            raise _failure(cluster, "none of its workers is left")
    return set()


def result_of(cluster: Cluster, future: Future[Any]) -> Any:
    """Return what a task returned.

    Raises
    ------
    EngineFailed
        If the engine gave the task up, lost it, or has no workers any more.
    """
    first_done(cluster, [future])
    try:
        trouble, result = future.result()
    except (ModuleNotFoundError, AttributeError, pickle.UnpicklingError) as failure:
        lacking = getattr(failure, "name", None) or "mapl"
        trouble = f"a worker cannot import {lacking}; install the same mapl, with what learners need, everywhere"
    except (Exception, CancelledError) as failure:
        trouble = (
            f"it gave up with {type(failure).__name__}: its workers died again and again, for want of memory, say, "
            "or it went away"
        )
    if trouble is not None:
        raise _failure(cluster, trouble)
    return result


def _failure(cluster: Cluster, trouble: str) -> EngineFailed:
    return EngineFailed(
        f"The engine {cluster.engine} could not do its work: {trouble}. No vote, count or sum depends on that: "
        "the run stops before it spends on them, and votes that are in are kept where the run has a folder. "
        f"Give the same command again when that is mended, with any engine ({spell('engine', 'local')}, say). "
        "Do not publish that the run stopped."
    )


def refuse_absent(address: EngineAddress) -> None:
    """Refuse an address at which nobody listens; engines themselves would try for minutes."""
    place = address.host_and_port
    if place is None:
        return
    try:
        socket.create_connection(place, timeout=SECONDS_TO_ANSWER).close()
    except (OSError, UnicodeError) as failure:
        raise absence(address, type(failure).__name__) from None


def call_within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return what a call returns; a port that takes connections and says nothing would keep an engine for ever.

    Raises
    ------
    TimeoutError
        If that takes longer; the call is left behind in a thread that ends with this process.
    """
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as failure:
            done.set_exception(failure)

    Thread(target=run, daemon=True).start()
    return done.result(timeout=seconds)


def absence(address: EngineAddress, why: str) -> InvalidParameter:
    """Return what to say where no engine answers."""
    where = "on this machine" if address.where in (None, HERE) else f"at {address.where}"
    return InvalidParameter(
        f"No engine {address.engine} answers {where} ({why}); start it and check host, port and firewall, or take "
        f"{spell('engine', 'local')}. Nothing private was read and nothing was spent."
    )


@cache
def software() -> dict[str, str]:
    """Return what of this process decides about bits: Python, and the versions of some packages."""
    found = {"Python": ".".join(map(str, sys.version_info[:2]))}
    for name in ALIKE:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found
