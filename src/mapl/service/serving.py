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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mapl.errors import InvalidParameter
from mapl.release.open_ledger import MEMORY, open_ledger
from mapl.service.noted_head import NotedHead
from mapl.service.service import Service
from mapl.service.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mapl.students.student import Student

OPENING = "MAPL_SERVE"
"""The variable that hands an opening over to the workers; it holds no secret."""

PATIENCE = 30
"""Seconds that requests under way get when the server is told to stop."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What it takes to open a service: public words and paths only, so that workers can be told."""

    run: Path
    ledger: str | None = None
    student: Path | None = None
    settings: Settings = field(default_factory=Settings)

    @property
    def url(self) -> str:
        """Where the ledger is."""
        return ledger_url(self.run, self.ledger)

    def opened(self) -> Service:
        """Read the run, open its ledger and begin."""
        from mapl.pipeline.online import OnlineRun

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
            noted=NotedHead(run.folder.noted_head),
        )

    def check(self) -> None:
        """Refuse what could not be opened, before there are workers that would all say so."""
        from mapl.pipeline.online import OnlineRun

        run = OnlineRun.read(self.run)
        ledger = open_ledger(self.url, run=run.plan.digest)
        try:
            NotedHead(run.folder.noted_head).check(ledger)
        finally:
            ledger.close()
        _student(self.student)

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Opening:
        given: dict[str, Any] = json.loads(text)
        settings = given.pop("settings")
        run, student = Path(given.pop("run")), given.pop("student")
        return cls(
            run=run,
            student=None if student is None else Path(student),
            settings=Settings(**{**settings, "hosts": tuple(settings["hosts"])}),
            **given,
        )


def ledger_url(run: Path, given: str | None = None) -> str:
    """Return where the ledger of a run is: as given, or in its private half."""
    from mapl.pipeline.folder import RunFolder

    return f"sqlite:///{quote(str(RunFolder(run).ledger.absolute()))}" if given is None else given


def application() -> FastAPI:
    """Return the application of a worker, which its parent process described."""
    from mapl.service.app import create_app

    _log()
    return create_app(Opening.from_json(os.environ[OPENING]).opened())


def serve(
    opening: Opening, *, host: str, port: int, workers: int = 1, ready: Callable[[int], None] = lambda port: None
) -> None:
    """Serve until told to stop; requests under way are answered first.

    `ready` is told the port once the run is open and the port is had.
    """
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    _log()
    shared: dict[str, Any] = {
        "loop": "uvloop",
        "http": "httptools",
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
            server = uvicorn.Server(uvicorn.Config(create_app(opening.opened()), **shared))
            for one in sockets:
                one.listen(server.config.backlog)
            ready(sockets[0].getsockname()[1])
            with _ending_well():
                server.run(sockets)
        return
    if opening.url == MEMORY:
        raise InvalidParameter("A ledger in memory is for one worker; several would each spend the whole budget.")
    with _sockets(host, port) as sockets:
        opening.check()
        os.environ[OPENING] = opening.to_json()
        config = uvicorn.Config(f"{__name__}:application", factory=True, workers=workers, **shared)
        ready(sockets[0].getsockname()[1])
        with _ending_well():
            Multiprocess(config, sockets).run()


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
                f"Nothing can listen at port {port} of {host}{why}; try another --port or --host."
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


def _student(path: Path | None) -> Student | None:
    if path is None:
        return None
    from mapl.pipeline.folder import RunFolder
    from mapl.students import load

    return load(RunFolder(path).student if path.is_dir() else path)


def _log() -> None:
    """Write one line per event to standard error, without tracebacks: those would quote what a server works on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s %(name)s %(levelname)s %(message)s"))
    for name, level in (("mapl", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class _OneLine(logging.Formatter):
    def formatException(self, ei: Any) -> str:
        return ""

    def formatStack(self, stack_info: str) -> str:
        return ""
