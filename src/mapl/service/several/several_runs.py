"""A folder of taught runs on one server: /runs/NAME/ is the service of the run in the folder NAME.

Runs share nothing but the process: each has its ledger, keys, limits and metrics. One that cannot be opened is left
out and named in the log. SIGHUP has the folder looked at again: new runs are taken up, those that are gone or were
replaced end when their last reply has left.
"""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mapl.errors import InvalidParameter, MaplError
from mapl.pipeline.runs.folder import RunFolder
from mapl.service.access.guard import Guard, place_of
from mapl.service.page.rendering import whole
from mapl.service.page.routes import static
from mapl.service.problem import NOT_FOUND, Problem, render_problem
from mapl.service.settings import ServerSettings
from mapl.service.several.mounted_run import MountedRun, marks_of
from mapl.service.watching.metrics import Traffic

if TYPE_CHECKING:
    from fastapi import FastAPI

LOG = logging.getLogger("mapl")
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
ROOT = "/runs/"


def holds_runs(path: Path) -> bool:
    """Say whether a folder is no run itself and holds some."""
    return path.is_dir() and not RunFolder(path).public.exists() and any(_candidates(path))


def _candidates(path: Path) -> Iterator[str]:
    """Name the folders in a folder that look like taught runs; OSError if it cannot be read itself."""
    for one in sorted(path.iterdir()):
        try:
            if RunFolder(one).service_key.is_file() and RunFolder(one).public.is_dir():
                yield one.name
        except OSError as failure:  # not ours to read, as the lost+found of a volume
            LOG.warning("%s is passed over: it cannot be read (%s).", ascii(one.name), failure.strerror)


class SeveralRuns:
    """The application of a server with several runs.

    Parameters
    ----------
    folder
        Where the runs are.
    opened
        Opens the service of one of them and returns its application.
    """

    def __init__(self, folder: Path, opened: Callable[[Path], FastAPI], settings: ServerSettings) -> None:
        self._folder, self._opened = folder, opened
        self._runs: dict[str, MountedRun] = {}
        self._left_out: dict[str, tuple[int, ...]] = {}
        self._looking = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        own = Starlette(
            routes=[
                Route("/", self._home),
                Route("/runs", self._listed),
                Route("/healthz", self._health),
                Route("/readyz", self._ready),
                Route("/static/{name}", static),
            ],
            lifespan=self._lifespan,
            exception_handlers={404: _not_found, Problem: _refused},
        )
        own.router.redirect_slashes = False
        self._own = Guard(own, settings=settings, traffic=Traffic())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, slash, _ = scope.get("path", "").removeprefix(ROOT).partition("/")
        run = self._runs.get(name) if slash and scope["path"].startswith(ROOT) else None
        if run is None:
            await self._own(scope, receive, send)
        else:
            await run({**scope, "root_path": f"{scope.get('root_path', '')}{ROOT}{name}"}, receive, send)

    async def look(self) -> None:
        """Take up what is new in the folder, try again what failed, and let go of what is gone or was replaced."""
        async with self._looking:
            try:
                candidates = await asyncio.to_thread(lambda: [*_candidates(self._folder)])
            except OSError as failure:
                LOG.error("%s cannot be read (%s); its runs go on as they are.", self._folder, failure.strerror)
                return
            found = {}
            for name in candidates:
                if NAME.fullmatch(name) is None:
                    LOG.error("The run %s is left out: its name is no part of an address; rename it.", ascii(name))
                    continue
                with suppress(OSError):  # it is gone again
                    found[name] = marks_of(self._folder / name)
            replaced = {name for name, run in self._runs.items() if found.get(name) != run.marks}
            begun = {}
            for name in sorted(found.keys() - (self._runs.keys() - replaced)):
                run = await self._begun(name, found[name])
                if run is not None:
                    begun[name] = run
            self._left_out = {name: marks for name, marks in found.items() if name not in self._runs | begun}
            ending = [self._runs.pop(name) for name in replaced]
            self._runs = dict(sorted((self._runs | begun).items()))
            for run in ending:
                self._keep(run.end())
            LOG.info("Serving %d runs: %s.", len(self._runs), ", ".join(self._runs) or "none")

    async def _begun(self, name: str, marks: tuple[int, ...]) -> MountedRun | None:
        try:
            run = MountedRun(await asyncio.to_thread(self._opened, self._folder / name), marks)
            await run.begin()
        except MaplError as refusal:  # whose words are for operators
            LOG.error("The run %s is left out: %s", name, refusal)
        except Exception as fault:
            LOG.error("The run %s is left out: %s", name, place_of(fault))
        else:
            return run
        return None

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await self.look()
        if not self._runs:
            raise InvalidParameter(f"No run in {self._folder} can be served; the log says why.")
        with suppress(NotImplementedError, RuntimeError, ValueError):  # no such signal, or not the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, lambda: self._keep(self.look()))
        yield
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(run.end() for run in self._runs.values()), return_exceptions=True)

    def _keep(self, work: object) -> None:
        task = asyncio.get_running_loop().create_task(work)  # type: ignore[arg-type,var-annotated]
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:  # asyncio would write its words, and a traceback
            LOG.error("%s", place_of(fault))

    async def _home(self, request: Request) -> Response:
        return whole(request, "runs.html", runs=[*self._runs], left_out=sorted(self._left_out))

    async def _listed(self, request: Request) -> Response:
        return JSONResponse({"runs": [*self._runs], "left_out": sorted(self._left_out)})

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        """Say whether any run is served; /runs/NAME/readyz says it of one."""
        return JSONResponse({"status": "ready" if self._runs else "not ready"}, 200 if self._runs else 503)


async def _not_found(request: Request, error: Exception) -> Response:
    return render_problem(Problem(NOT_FOUND, "Nothing has this address; /runs lists the runs of this server."))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return render_problem(error)
