"""Running a server: from the folder of a run to a socket, with one worker or several."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.opening import MEMORY, open_ledger
from mapl.service.access.connection import TURNED_AWAY, protocol_within
from mapl.service.service import Service
from mapl.service.settings import ServerSettings
from mapl.service.several.several_runs import SeveralRuns, holds_runs
from mapl.service.watching.log_lines import write_log
from mapl.service.watching.metrics import count_together
from mapl.service.watching.spans import spans_to
from mapl.service.watching.witness import NotedHead, Witness
from mapl.teachers.workers.lifeline import die_with_parent

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mapl.pipeline.online.run import OnlineRun
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.students.student import Student

OPENING = "MAPL_SERVE"
"""The variable that hands an opening over to the workers; it holds no secret."""

PATIENCE = 20
"""Seconds that requests under way get when the server is told to stop; less than whoever stops it waits."""

DESCRIPTORS = 256
"""How many files a worker may have open beside its connections."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What it takes to open a service: public words and paths only, so that workers can be told."""

    run: Path
    ledger: str | None = None
    student: Path | None = None
    settings: ServerSettings = field(default_factory=ServerSettings)
    witness: Path | None = None
    head: str | None = None
    shared: Path | None = None

    @property
    def url(self) -> str:
        """Where the ledger is."""
        return ledger_url(self.run, self.ledger)

    def opened(self) -> Service:
        """Read the run, open its ledger and begin."""
        from mapl.pipeline.online.run import OnlineRun

        run = OnlineRun.read(self.run)
        url = self.url
        plan = run.plan.digest
        aside = None if url == MEMORY else lambda: open_ledger(url, run=plan)
        ledger = open_ledger(url, run=plan)
        if getattr(ledger, "locked", False):
            logging.getLogger("mapl").warning("The ledger is locked: nothing is answered until mapl ledger unlock.")
        return Service.open(
            run,
            ledger,
            run.coins(),
            settings=self.settings,
            student=_student(self.student),
            aside=aside,
            witness=self.witnesses(run),
            shared=self.shared,
            spans=spans_to(self.settings.telemetry_url),
        )

    def witnesses(self, run: OnlineRun) -> Witness:
        """Return who remembers the newest head of the run: its folder, the file that was named, the operator."""
        heads = [] if self.head is None else [HeadMark.read(self.head)]
        return Witness([*witness_files(run.folder, self.witness)], heads)

    def check(self) -> None:
        """Refuse what could not be opened, before there are workers that would all say so."""
        from mapl.pipeline.online.run import OnlineRun

        run = OnlineRun.read(self.run)
        ledger = open_ledger(self.url, run=run.plan.digest)
        try:
            self.witnesses(run).check(ledger)
        finally:
            ledger.close()
        _student(self.student)

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Opening:
        given: dict[str, Any] = json.loads(text)
        settings = given.pop("settings")
        run, student, witness, shared = (_path(given.pop(name)) for name in ("run", "student", "witness", "shared"))
        assert run is not None
        return cls(
            run=run,
            shared=shared,
            student=student,
            witness=witness,
            settings=ServerSettings(
                **{**settings, "hosts": tuple(settings["hosts"]), "alert_at": tuple(settings["alert_at"])}
            ),
            **given,
        )


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


def ledger_url(run: Path, given: str | None = None) -> str:
    """Return where the ledger of a run is: as given, or in its private half."""
    from mapl.pipeline.runs.folder import RunFolder

    return f"sqlite:///{quote(str(RunFolder(run).ledger.absolute()))}" if given is None else given


def witness_files(folder: RunFolder, named: Path | None) -> list[NotedHead]:
    """Return the files that know the newest head: the one in the run's folder, and the one that was named."""
    return [NotedHead(folder.head_note), *([] if named is None else [NotedHead(named, needed=True)])]


def application() -> FastAPI:
    """Return the application of a worker, which its parent process described."""
    from mapl.service.app import create_app

    write_log()
    # A worker that outlived its parent would hold the port, and nobody would stop it. Who started it is asked of
    # multiprocessing: after a slow start on a busy machine the system may have given it another parent already.
    started_by = parent_process()
    die_with_parent(os.getppid() if started_by is None or started_by.pid is None else started_by.pid)
    _allow_connections()
    return create_app(Opening.from_json(os.environ[OPENING]).opened())


def serve(
    opening: Opening, *, host: str, port: int, workers: int = 1, ready: Callable[[int], None] = lambda port: None
) -> None:
    """Serve until told to stop; requests under way are answered first.

    `ready` is told the port once the run is open and the port is had.
    """
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    write_log()
    _allow_connections()
    shared: dict[str, Any] = {
        "loop": "auto",  # uvloop where it is installed
        "http": protocol_within(opening.settings),
        "ws": "none",  # whatever is installed: its connections would have none of our limits
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": PATIENCE,
    }
    if workers == 1:
        from mapl.service.app import create_app

        with _sockets(host, port) as sockets:
            app = several(opening) if holds_runs(opening.run) else create_app(opening.opened())
            server = uvicorn.Server(uvicorn.Config(app, **shared))
            for one in sockets:
                one.listen(server.config.backlog)
            ready(sockets[0].getsockname()[1])
            with _ending_well():
                server.run(sockets)
        return
    if holds_runs(opening.run):
        raise InvalidParameter("Several runs are served by one worker; give each a server of its own for more.")
    if opening.url == MEMORY:
        raise InvalidParameter("A ledger in memory is for one worker; several would each spend the whole budget.")
    with _sockets(host, port) as sockets, TemporaryDirectory(prefix="mapl-serve-") as folder:
        opening.check()
        count_together(Path(folder))
        os.environ[OPENING] = replace(opening, shared=Path(folder)).to_json()
        config = uvicorn.Config(f"{__name__}:application", factory=True, workers=workers, **shared)
        ready(sockets[0].getsockname()[1])
        with _ending_well():
            Multiprocess(config, sockets).run()


def several(opening: Opening) -> SeveralRuns:
    """Return the application of a folder of runs, each with the ledger in its private half."""
    from mapl.service.app import create_app

    given = {"ledger": opening.ledger, "student": opening.student, "witness": opening.witness, "head": opening.head}
    unfit = [spell(name) for name, value in given.items() if value is not None]
    if unfit:
        raise InvalidParameter(
            f"{opening.run} holds several runs, and {', '.join(unfit)} is about one; serve that one by itself."
        )
    return SeveralRuns(opening.run, lambda run: create_app(replace(opening, run=run).opened()), opening.settings)


@contextmanager
def _sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Have a socket for every address of a host, or say why there is none, before anything is opened."""
    with ExitStack() as had:
        sockets: list[socket.socket] = []
        why = ""
        try:
            for family, kind, proto, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                one = had.enter_context(socket.socket(family, kind, proto))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                try:
                    one.bind((address[0], sockets[0].getsockname()[1] if sockets else port, *address[2:]))
                except OSError as failure:
                    if failure.errno != errno.EADDRNOTAVAIL:  # such as ::1 of localhost where there is no IPv6
                        raise
                    why = f" ({failure.strerror})"
                    continue
                one.set_inheritable(True)
                sockets.append(one)
        except OSError as failure:
            sockets, why = [], f" ({failure.strerror})"
        if not sockets:
            raise InvalidParameter(
                f"Nothing can listen at port {port} of {host}{why}; try another {spell('port')} or {spell('host')}."
            )
        yield sockets


@contextmanager
def _ending_well() -> Iterator[None]:
    """Let a server that was told to stop, and has stopped in order, end like one that has done its work.

    When all is done, uvicorn raises the signal that ended it once more; by then nobody has to hear it.
    """
    told = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in told.items():
            signal.signal(one, handler)


def _allow_connections() -> None:
    """Let this process have as many files open as connections need, where the system allows."""
    if sys.platform == "win32":
        return
    import resource

    wanted = TURNED_AWAY * ServerSettings().most_connections + DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted and (hard == resource.RLIM_INFINITY or hard > soft):
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _student(path: Path | None) -> Student | None:
    if path is None:
        return None
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.students import load

    return load(RunFolder(path).student if path.is_dir() else path)
