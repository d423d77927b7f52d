"""One of several runs that a server serves: an application with a life of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from mapl.pipeline.runs.folder import RunFolder

if TYPE_CHECKING:
    from fastapi import FastAPI


class MountedRun:
    """A run from its beginning to the last reply that it owes."""

    def __init__(self, app: FastAPI, marks: tuple[int, ...]) -> None:
        self.marks = marks
        """By which it is known again; see `marks_of`."""
        self._app = app
        self._life = app.router.lifespan_context(app)
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def begin(self) -> None:
        """Start what works beside the requests."""
        await self._life.__aenter__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._under_way += 1
        self._idle.clear()
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def end(self) -> None:
        """Wait for the requests that are under way, and close."""
        await self._idle.wait()
        await self._life.__aexit__(None, None, None)


def marks_of(path: Path) -> tuple[int, ...]:
    """Return what tells the run in a folder from another one that takes its place; OSError if there is none.

    A number of an inode is given again once its file is gone, and copying over a file keeps it. When a file last
    changed tells them apart: nothing writes to a run's secret or its plan after it was taught.
    """
    folder = RunFolder(path)
    private, *files = (one.stat() for one in (folder.private, folder.service_key, folder.public / "plan.json"))
    marks = [private.st_dev, private.st_ino]
    for file in files:
        marks += (file.st_dev, file.st_ino, file.st_ctime_ns)
    return tuple(marks)
