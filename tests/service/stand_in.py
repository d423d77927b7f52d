"""A run of made-up teachers whose votes a test can foresee, a server on loopback, and what a test asks it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Event, Thread
from typing import Any

import httpx
import numpy as np
import uvicorn

from mapl.data.tables.classes import Classes
from mapl.data.tables.schema import Column, Schema
from mapl.mechanisms import Task, make
from mapl.noise import Coins, SeededCoins
from mapl.pipeline.online.questions import QuestionForm
from mapl.planning.plan import Plan, Stage
from mapl.release import Statement, statement_of
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.loop import Released, begin_stage
from mapl.release.statement.promise import add_remove
from mapl.service.access.connection import protocol_within
from mapl.service.access.keys import KeyMaker
from mapl.service.app import create_app
from mapl.service.service import Service
from mapl.service.settings import ServerSettings
from mapl.types import Budget, Tallies

CLASSES = Classes(("no", "certainly"))
TEACHERS = 250
EVERYBODY = ("ask", "read", "admin")


@dataclass
class StandInPanel:
    """Teachers that agree on the sign of the first number, unless it is small: then they are divided."""

    n_teachers: int = TEACHERS
    n_classes: int = 2
    asked: int = 0
    form: QuestionForm = field(init=False)

    def votes(self, rows: Any) -> Tallies:
        self.asked += len(rows)
        x = self.form.table(rows).column("x").to_numpy()
        yes = np.where(np.abs(x) < 1, self.n_teachers // 2, np.where(x > 0, self.n_teachers - 2, 2)).astype(
            np.int64
        )
        return Tallies.checked(np.column_stack([self.n_teachers - yes, yes]))


class GatedPanel(StandInPanel):
    """Teachers that tell when they are asked, and wait until they are let."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.came = Event(), Event()
        self.go.set()

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Let nobody be asked until the end of the block."""
        self.came.clear()
        self.go.clear()
        try:
            yield
        finally:
            self.go.set()

    def votes(self, rows: Any) -> Any:
        self.came.set()
        assert self.go.wait(300)
        return super().votes(rows)


@dataclass
class StandInRun:
    """Has what the service needs of an `OnlineRun`, without a table, shards or training."""

    queries: int = 200
    abstentions: int = 10
    panel: StandInPanel = field(default_factory=StandInPanel)
    service_key: bytes = bytes(range(32))
    classes: Classes = CLASSES

    def __post_init__(self) -> None:
        budget = Budget(8.0, 1e-5)
        self.schema = Schema((Column("x", "number"), Column("note", "text")), "y", CLASSES.names)
        self.form = self.panel.form = QuestionForm(self.schema)
        self.task = Task(n_teachers=self.panel.n_teachers, n_classes=2, n_queries=self.queries, budget=budget)
        self.mechanism = make("ladder", self.task, max_abstentions=self.abstentions)
        stage = Stage("labels", "ladder", self.mechanism.parameters, budget)
        self.promise = add_remove()
        self.plan = Plan(
            CLASSES.names,
            self.panel.n_teachers,
            "add-remove",
            "record",
            self.queries,
            budget,
            (stage,),
            "for tests",
        )

    def conformed(self, rows: list[Any]) -> Any:
        return self.form.read(rows)

    def digests(self, rows: Any) -> list[bytes]:
        return [blake2b(row, key=self.service_key, digest_size=32).digest() for row in rows]

    def begin(self, ledger: Ledger, coins: Coins) -> None:
        ledger.open(self.plan.digest, Limits.of_plan(self.plan))
        begin_stage(ledger, self.mechanism, coins, self.task)

    def statement(self, ledger: Ledger, coins: Coins) -> Statement:
        progress = ledger.progress("labels")
        released = Released(progress.labels, progress.fallback, progress.state, len(progress.labels))
        return statement_of(
            self.mechanism,
            self.task,
            released,
            coins,
            promise=self.promise,
            plan_digest=self.plan.digest,
            ledger_head=ledger.head,
        )


@dataclass
class Served:
    """A running server, and keys for it."""

    url: str
    service: Service
    ledger: Any
    keys: dict[tuple[str, ...], str] = field(default_factory=dict)

    def key(self, *scopes: str, most: int | None = None) -> str:
        """Return a key with these scopes; all scopes if none are named."""
        wanted = scopes or EVERYBODY
        if most is not None or wanted not in self.keys:
            token, record = KeyMaker.of(self.service.run.service_key).new("test", wanted, most=most)
            self.ledger.add_key(record)
            self.service.entrance.forget()
            if most is not None:
                return token
            self.keys[wanted] = token
        return self.keys[wanted]

    def client(self, *scopes: str, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or self.key(*scopes)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=300, trust_env=False)


@contextmanager
def serving(
    run: Any = None,
    ledger: Any = None,
    *,
    settings: ServerSettings | None = None,
    student: Any = None,
    coins: Any = None,
    witness: Any = None,
) -> Iterator[Served]:
    """Run a real uvicorn server on a free port of loopback, in a thread of this process."""
    run, ledger = run or StandInRun(), ledger or MemoryLedger()
    service = Service.open(
        run, ledger, coins or SeededCoins(1), settings=settings, student=student, witness=witness
    )
    with running(create_app(service), service.settings) as url:
        yield Served(url, service, ledger)


@contextmanager
def running(app: Any, settings: ServerSettings) -> Iterator[str]:
    """Run an application on a free port of loopback, in a thread of this process, and return its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=protocol_within(settings),
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def questions(count: int, start: int = 0, size: float = 5.0) -> list[Sequence[Any]]:
    """Return different clear questions; those of an odd number are answered with yes, as a rule."""
    return [[size if i % 2 else -size, f"question {i}"] for i in range(start, start + count)]
