"""A short calibration: reading, sums, counts and votes of a few made-up rows, timed on this machine.

The rows have the declared shape and are drawn at random; nobody's are looked at.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mapl.data.encoding.choice import for_teachers, make_shared_encoder
from mapl.data.moments.contributions import Contribution, Crowd
from mapl.data.moments.row_map import RowMap, Vectors
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import MOST_ROOM, PrivateRows
from mapl.data.tables.rows import Rows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.engines.files import read_down, write_down
from mapl.pipeline.case import Declared
from mapl.pipeline.counts.cells_plan import plan_cells
from mapl.pipeline.counts.counting import count_in_blocks
from mapl.pipeline.rehearsal.moments import PlayedRounds
from mapl.pipeline.request import Request
from mapl.pipeline.runs.fingerprint import fingerprint
from mapl.pipeline.runs.inputs import declare
from mapl.pipeline.runs.owner.look import OwnerLook
from mapl.pipeline.runs.private_input import read_private
from mapl.pipeline.sums.moments_plan import plan_moments
from mapl.pipeline.sums.summing import follow_rounds
from mapl.planning.costs.reckoning import MeasuredRates
from mapl.planning.costs.work import CostLine, Sizes, Work
from mapl.teachers import as_learner, poll
from mapl.teachers.learners.learner import Learner
from mapl.teachers.together.networks import Networks
from mapl.teachers.together.recognition import syllabus_of
from mapl.types import Budget, Floats, Labels

FEW, MANY = 2_000, 10_000
"""Rows of the two tables that are added up."""

LARGE, CELLS_OF_LARGE = 100_000, 2_000_000
"""Rows and cells at most of the larger table that is read and counted: of a few thousand rows a processor keeps all
at hand, which a run cannot."""

PUBLIC = 300
"""Public rows that maps and cells are made from: what these cost is no matter of the private table."""

TOGETHER, ONE_BY_ONE = (40, 160), (2, 5)
"""Teachers of the two polls, where they are trained many at a time and where each is trained by itself."""

FEWEST_ASKED, MOST_ASKED = 50, 1_000
MOST_ROWS = 500
"""Rows of a shard; of larger ones the time is taken to grow in proportion."""

LABEL = "label"


@dataclass(frozen=True, slots=True, eq=False)
class MadeUp:
    """A table drawn at random, and what is declared about it."""

    table: Any
    labels: Labels
    given: Declared

    @classmethod
    def of(cls, sizes: Sizes, n: int) -> MadeUp:
        """Draw as many rows as asked for."""
        draws = np.random.default_rng(0)  # it protects nobody
        numbers = draws.normal(size=(n, sizes.columns))
        scores = numbers @ draws.normal(size=(sizes.columns, sizes.n_classes)) + draws.gumbel(
            size=(n, sizes.n_classes)
        )
        labels = scores.argmax(axis=1).astype(np.int32)
        labels[: sizes.n_classes] = np.arange(sizes.n_classes)
        names = tuple(map(str, range(sizes.n_classes)))
        columns = {f"column {i}": numbers[:, i] for i in range(sizes.columns)}
        table = pa.table({**columns, LABEL: pa.array(np.array(names)[labels])})
        return cls(table, labels, declare(table, label=LABEL, classes=Classes(names), unit=None, schema=None))

    def rows(self, start: int, stop: int) -> Rows:
        """Return the features of some rows."""
        found: Rows = self.table.select(list(self.given.schema.names)).slice(start, stop - start)
        return found


def calibrate(
    sizes: Sizes,
    budget: Budget,
    model: Any = "ridge",
    *,
    methods: Collection[str],
    n_cells: int = PUBLIC,
    room: int = MOST_ROOM,
) -> MeasuredRates:
    """Time the parts of a run on made-up rows, in a few seconds.

    Parameters
    ----------
    budget
        It decides about the number of rounds of sums.
    model
        Who teaches.
    methods
        What to measure, of moments, cells and teachers.
    n_cells
        How many cells a run would have.
    room
        How many bytes of vectors a run keeps from round to round at most.
    """
    large = min(LARGE, max(MANY, CELLS_OF_LARGE // sizes.columns))
    made = MadeUp.of(sizes, large + PUBLIC)
    found = {}
    if "moments" in methods:
        found["moments"] = _moments(made, sizes, budget, room)
    if "cells" in methods:
        found["cells"] = _cells(made, sizes, budget, n_cells)
    if "teachers" in methods:
        found["teachers"] = _teachers(sizes, model)
    with tempfile.TemporaryDirectory(prefix="mapl-") as name:
        folder = Path(name)
        reading = _line(_reading(made, folder, large), large)
        handing = _line(_handing(made, folder), large)
    return MeasuredRates(reading, handing, found, started=_resident())


def _line(task: Callable[[int], Any], many: int = MANY) -> CostLine:
    """Time a task on few rows and on many, once it has been done before."""
    task(PUBLIC)
    return CostLine.through((FEW, _seconds(lambda: task(FEW))), (many, _seconds(lambda: task(many))))


def _seconds(task: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of a task, the shorter of two attempts: others on this machine may disturb one of them."""
    return min(_seconds_once(task, clock) for _ in range(2))


def _seconds_once(task: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    task()
    return clock() - began


def _reading(made: MadeUp, folder: Path, large: int) -> Callable[[int], Any]:
    for n in (PUBLIC, FEW, large):
        pq.write_table(made.table.slice(0, n), folder / f"{n}.parquet")

    def read(n: int) -> None:
        read_private(folder / f"{n}.parquet", made.given, look=OwnerLook())
        fingerprint(made.rows(0, n), made.labels[:n])

    return read


def _handing(made: MadeUp, folder: Path) -> Callable[[int], Any]:
    return lambda n: read_down(write_down(folder, (made.rows(0, n), made.labels[:n])))


class TimedRounds(PlayedRounds):
    """Rounds of sums of a few rows, prepared as those of the whole table would be."""

    declared: int = 0
    room: int = 0

    def prepare(self, vectors: RowMap, width: int) -> Vectors:
        kept = _kept(self.declared, width, self.room) and not self.planned.maker.design.apart
        return PlayedRounds.prepare(self, vectors, width) if kept else vectors

    def tell(self, contribution: Contribution) -> Floats:
        everybody, design = self.crowd, self.planned.maker.design
        if design.apart:
            mine = np.arange(self.done, len(everybody.rows), design.rounds)
            self.crowd = replace(everybody, alone=mine)
        told = PlayedRounds.tell(self, contribution)
        self.crowd = everybody
        return told


def _kept(n_rows: int, width: int, room: int) -> int:
    """Return how many bytes of vectors of so many rows are kept from round to round."""
    return n_rows * width * 4 if n_rows * width * 4 <= room else 0


def _moments(made: MadeUp, sizes: Sizes, budget: Budget, room: int) -> Work:
    request = Request(budget, made.given.classes, n_rows=sizes.rows, method="moments")
    planned = plan_moments(request, made.rows(MANY, MANY + PUBLIC), made.given.schema, why="calibrated")

    def add_up(n: int) -> None:
        rounds = TimedRounds(
            planned, Crowd(PrivateRows(made.rows(0, n)), made.labels[:n], None), 1.0, np.random.default_rng(0)
        )
        rounds.declared, rounds.room = sizes.rows, room
        follow_rounds(planned, rounds)

    line = _line(add_up)
    width = planned.maker.draw(None).vectors.features.width
    kept = 0 if planned.maker.design.apart else _kept(sizes.rows, width, room)
    return Work(line.fixed, per_row=line.each, afar=True, kept=kept)


def _cells(made: MadeUp, sizes: Sizes, budget: Budget, n_cells: int) -> Work:
    public = made.rows(0, min(max(n_cells, PUBLIC), MANY))
    request = Request(budget, made.given.classes, n_rows=sizes.rows, method="cells")
    encoder = make_shared_encoder(made.given.schema, public, (None,))
    cells = plan_cells(request, public, made.given.schema, encoder, why="calibrated").cells

    def count(n: int) -> None:
        count_in_blocks(cells, PrivateTable(PrivateRows(made.rows(0, n)), made.labels[:n]), sizes.n_classes)

    line = _line(count, len(made.labels) - PUBLIC)
    return Work(line.fixed, per_row=line.each, afar=True)


def _teachers(sizes: Sizes, model: Any) -> Work:
    """Poll few and more teachers, on few questions and on more: what each teacher costs, and each vote."""
    per_shard = max(1, sizes.rows // max(sizes.teachers, 1))
    rows = min(per_shard, MOST_ROWS)
    made = MadeUp.of(sizes, max(max(TOGETHER) * rows, MOST_ASKED))
    public = made.rows(0, PUBLIC)
    encoder = for_teachers(make_shared_encoder(made.given.schema, public, [model]))
    learner = as_learner(model, made.given.classes, made.given.schema, encoder)
    syllabus = syllabus_of(learner)
    together = syllabus is not None and not isinstance(syllabus.family, Networks)  # those may go to processes
    few, many = TOGETHER if together else ONE_BY_ONE
    # Processes of teachers have clocks of their own.
    clock = time.process_time if together else time.perf_counter

    def seconds(teachers: int, questions: int) -> float:
        return _seconds(lambda: _poll(made, learner, teachers, rows, questions, sizes.n_classes), clock)

    seconds(few, FEWEST_ASKED)
    line = CostLine.through((few, seconds(few, FEWEST_ASKED)), (many, seconds(many, FEWEST_ASKED)))
    asked = many * FEWEST_ASKED, many * MOST_ASKED
    votes = CostLine.through((asked[0], line.at(many)), (asked[1], seconds(many, MOST_ASKED)))
    training = max(0.0, line.each - FEWEST_ASKED * votes.each) * per_shard / rows
    return Work(line.fixed, per_teacher=training, per_vote=votes.each, at_home=not together, afar=not together)


def _poll(made: MadeUp, learner: Learner, teachers: int, rows: int, questions: int, n_classes: int) -> None:
    n = teachers * rows
    ids = [str(i).encode() for i in range(n)]
    shards = Shards(ShardKey(bytes(32)), teachers)
    sharded = Sharded(PrivateRows(made.rows(0, n)), made.labels[:n], ids, shards)
    poll(learner, sharded, made.rows(0, questions), n_classes=n_classes, n_jobs=1)


def _resident() -> int:
    """Return the bytes of memory that this process has taken so far."""
    import resource  # which Windows has not

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
