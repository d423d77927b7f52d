"""A small run that `mapl teach` made, with canaries in its private rows, and a server process for it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.csv
from typer.testing import CliRunner

from mapl.cli import app

CANARY = "canary"
"""Occurs in private ids and texts, in questions, and nowhere else."""

PATIENCE = 900.0
"""Seconds that a process may take to come up or to end; a busy machine needs many."""

SCHEMA = {
    "mapl_schema": 1,
    "label": "y",
    "classes": ["no", "yes"],
    "unit": "person",
    "columns": [
        {"name": "x", "kind": "number"},
        {"name": "colour", "kind": "category", "categories": ["red", "blue"]},
        {"name": "note", "kind": "text"},
    ],
}


def mapl(*words: Any) -> str:
    """Run a verb in this process and return what it prints."""
    shown = CliRunner().invoke(app, [str(word) for word in words])
    assert shown.exit_code == 0, shown.output
    return str(shown.stdout)


def teach(folder: Path, *, rows: int = 3000, teachers: int = 60, queries: int = 200) -> Path:
    """Teach a run whose label is the sign of x, and return its folder."""
    world = np.random.default_rng(7)
    x = world.normal(size=rows)
    columns = {
        "x": x,
        "colour": world.choice(["red", "blue"], rows),
        "note": [f"{CANARY} {i % 97}" for i in range(rows)],
        "person": [f"{CANARY}-{i}" for i in range(rows)],
        "y": np.where(x > 0, "yes", "no"),
    }
    pa.csv.write_csv(pa.table(columns), folder / "private.csv")
    open_rows = {name: list(columns[name][:50]) for name in ("x", "colour")} | {"note": ["a note"] * 50}
    pa.csv.write_csv(pa.table(open_rows), folder / "public.csv")
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    told = ["--label", "y", "--epsilon", 12, "--delta", 1e-5, "--queries", queries, "--teachers", teachers]
    files = ["--public", folder / "public.csv", "--schema", folder / "schema.json", "--out", folder / "run"]
    mapl("teach", folder / "private.csv", *files, *told, "--jobs", 1, "--json")
    return folder / "run"


def new_key(run: Path, *, scope: str = "ask,read,admin", **options: Any) -> str:
    more = [word for name, value in options.items() for word in (f"--{name}", value)]
    return str(
        json.loads(mapl("keys", "create", run, "--name", "tester", "--scope", scope, "--json", *more))["key"]
    )


@dataclass
class Process:
    """A `mapl serve` at work."""

    url: str
    process: subprocess.Popen[str]
    said: str = ""

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, wait, and keep what it said."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENCE)
        self.said = out + err
        return self.process.returncode


@contextmanager
def process(run: Path, *options: Any) -> Iterator[Process]:
    """Run `mapl serve` until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mapl", "serve", str(run), "--port", str(port), *map(str, options)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    begun = subprocess.Popen(command, env=os.environ, **pipes)  # type: ignore[call-overload]
    running = Process(f"http://127.0.0.1:{port}", begun)
    try:
        _await_ready(running)
        yield running
    finally:
        if begun.poll() is None:
            running.stop()


def _await_ready(running: Process) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if running.process.poll() is not None:
            raise AssertionError(running.process.communicate())
        with suppress(httpx.TransportError):
            if httpx.get(f"{running.url}/readyz", trust_env=False, timeout=PATIENCE).status_code == 200:
                return
        time.sleep(0.2)
    raise AssertionError("the server did not come up")
