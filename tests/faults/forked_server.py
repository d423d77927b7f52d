"""A server that is started in milliseconds, to be killed.

This process imports everything and reads the run once, and forks a new server for every line on its standard input.
Each opens the ledger anew, as a started process does.

    python forked_server.py RUN LEDGER PORT [--releases-first]
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import uvicorn

from mapl.pipeline.online.run import OnlineRun
from mapl.release.ledger.inquiries import Decide, Inquiry, OnlineLedger, Refused, Reply
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.opening import open_ledger
from mapl.service.app import create_app
from mapl.service.service import Service
from mapl.teachers.workers.lifeline import die_with_parent
from mapl.types import Outcome, State


class ReleasesFirst:
    """A ledger in the deliberately unsafe order: it lets answers out, and writes them down a little later."""

    def __init__(self, url: str, seconds: float = 0.005) -> None:
        self._disk = open_ledger(url)
        self._memory = MemoryLedger()
        self._late: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        self._url, self._seconds = url, seconds

    def open(self, *arguments: Any, **named: Any) -> None:
        self._disk.open(*arguments, **named)
        self._memory.open(*arguments, **named)
        Thread(target=self._write, args=arguments, kwargs=named, daemon=True).start()

    def append(self, *arguments: Any, **named: Any) -> None:
        self._memory.append(*arguments, **named)
        if not self._disk.progress("labels").started:
            self._disk.append(*arguments, **named)

    def progress(self, stage: str) -> Any:
        return self._memory.progress(stage)

    def recall(self, inquiries: Sequence[Inquiry]) -> Any:
        return self._memory.recall(inquiries)

    def seen(self, inquiries: Sequence[Inquiry]) -> Any:
        return self._memory.seen(inquiries)

    def exchange(
        self, stage: str, inquiries: Sequence[Inquiry], decide: Decide, *, n_classes: int
    ) -> list[Reply | Refused]:
        outcomes: list[Outcome] = []

        def noted(state: State, questions: Sequence[bytes]) -> Outcome:
            outcomes.append(decide(state, questions))
            return outcomes[-1]

        replies = self._memory.exchange(stage, inquiries, noted, n_classes=n_classes)
        self._late.put((stage, inquiries, outcomes, n_classes))
        return replies

    def _write(self, *arguments: Any, **named: Any) -> None:
        ledger = open_ledger(self._url)
        ledger.open(*arguments, **named)
        while True:
            stage, inquiries, outcomes, n_classes = self._late.get()
            time.sleep(self._seconds)

            def again(state: State, questions: Sequence[bytes], outcomes: list[Outcome] = outcomes) -> Outcome:
                labels = outcomes[0].labels
                answered = int((labels >= 0).sum())
                after = state.after(answered, len(labels) - answered, halted=False, secret=state.secret)
                return Outcome(labels, after, outcomes[0].fallback)

            ledger.exchange(stage, inquiries, again, n_classes=n_classes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._disk, name)


def main(run_folder: str, url: str, port: int, *, releases_first: bool) -> None:
    run = OnlineRun.read(Path(run_folder))
    run.panel.votes(run.conformed([[None] * len(run.schema.columns)]))  # whatever is loaded late is loaded now
    run.mechanism.epsilon(None, run.task.budget.delta)
    listening = socket.create_server(("127.0.0.1", port), reuse_port=False)
    print(listening.getsockname()[1], flush=True)
    parent = os.getpid()
    for _ in sys.stdin:
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        child = os.fork()
        if child == 0:
            die_with_parent(parent)
            ledger: Any = ReleasesFirst(url) if releases_first else open_ledger(url)
            serve(run, ledger, listening)
            os._exit(0)
        print(child, flush=True)


def serve(run: OnlineRun, ledger: OnlineLedger, listening: socket.socket) -> None:
    service = Service.open(run, ledger, run.coins())
    config = uvicorn.Config(
        create_app(service), http="httptools", loop="uvloop", lifespan="on", log_config=None, access_log=False
    )
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    folder, address, number, *unsafe = sys.argv[1:]
    main(folder, address, int(number), releases_first=unsafe == ["--releases-first"])
