"""Time and memory of a run on every engine, from rates that were measured on made-up rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mapl.engines.address import DASK, LOCAL, RAY
from mapl.planning.costs.work import CostLine, Sizes, Work

ENGINES = (LOCAL, DASK, RAY)

BYTES = 8
"""Of a number."""

BYTES_OF_LABEL = 4

BYTES_OF_IDENTITY = 24
"""An id of sixteen bytes, and the place of its row."""

SHARE_KEPT = 0.25
"""How much of the memory allowed a table takes before it goes to scratch files, as in `pipeline.runs`."""

ROWS_OF_A_TASK = 1 << 17
"""How many rows a worker of a cluster is given at a time where rows are counted or added up."""

TEACHERS_AT_ONCE = 1024
"""How many shards are in memory at a time where teachers are trained together."""


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """What was measured on this machine.

    Parameters
    ----------
    reading
        Seconds to read so many rows, take them by their schema, and note by what they are known again.
    handing
        Seconds to write so many rows down for workers of a cluster, and to read them there.
    works
        What each way of learning computes.
    started
        Bytes of a process that has read and counted a few rows.
    """

    reading: CostLine
    handing: CostLine
    works: Mapping[str, Work]
    started: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What one way of learning takes on one engine, without engine, student and report themselves.

    Parameters
    ----------
    memory
        Bytes of the process that is started, at its peak.
    worker_memory
        Bytes of each other process, None where there is none.
    """

    method: str
    engine: str
    workers: int
    seconds: float
    memory: int
    worker_memory: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def reckon(measured: MeasuredRates, sizes: Sizes, *, workers: int, memory: int) -> tuple[Cost, ...]:
    """Return what every way that was measured takes on every engine.

    *Model.* Seconds are those of reading, a fixed part, and the part in proportion to rows, teachers and votes,
    divided by the number of workers where workers share it; rows that go to workers of a cluster are written down
    first. Memory is that of a process with a few rows, the table as far as it is kept in memory (twice while
    its blocks are put together), ids, votes, vectors that are kept, and the rows that are worked on.

    Parameters
    ----------
    workers
        How many processes, of this machine or of a cluster.
    memory
        How many bytes the run may use (`--memory`).
    """
    return tuple(
        _cost(measured, sizes, method, work, engine, workers, memory)
        for method, work in measured.works.items()
        for engine in ENGINES
    )


def _cost(
    measured: MeasuredRates, sizes: Sizes, method: str, work: Work, engine: str, workers: int, memory: int
) -> Cost:
    shared = work.at_home if engine == LOCAL else work.afar
    part = work.in_proportion(sizes)
    seconds = measured.reading.at(sizes.rows) + work.fixed + (part / workers if shared else part)
    if shared and engine != LOCAL:
        seconds += measured.handing.at(sizes.rows)
    row = BYTES * sizes.columns + BYTES_OF_LABEL
    table = 2 * min(row * sizes.rows, int(memory * SHARE_KEPT))
    votes = BYTES_OF_LABEL * sizes.questions * sizes.n_classes if method == "teachers" else 0
    at_work = row * _rows_at_work(sizes, method, shared=shared)
    return Cost(
        method,
        engine,
        workers if shared else 1,
        seconds,
        measured.started + table + BYTES_OF_IDENTITY * sizes.rows + votes + at_work + (0 if shared else work.kept),
        measured.started + votes + at_work if shared else None,
    )


def _rows_at_work(sizes: Sizes, method: str, *, shared: bool) -> int:
    """Return how many rows one process has in hand: some shards, or a block."""
    if method != "teachers":
        return min(sizes.rows, ROWS_OF_A_TASK)
    at_once = 1 if shared else TEACHERS_AT_ONCE
    return -(-sizes.rows // max(sizes.teachers, 1)) * min(at_once, sizes.teachers)
