"""A run by cells played through on public rows: the counts of stand-ins, scaled to the declared number of units."""

from __future__ import annotations

import numpy as np

from mapl.data.encoding.choice import make_shared_encoder
from mapl.data.tables.rows import Rows, take
from mapl.data.tables.schema import Schema
from mapl.noise import SeededCoins
from mapl.pipeline.counts.cells_plan import FIRST, plan_cells
from mapl.pipeline.rehearsal.stand_ins import StandIns
from mapl.pipeline.request import Request
from mapl.students.on_counts import CountStudent
from mapl.students.taught_by_counts import Round
from mapl.types import Integers, Labels


def play_cells(request: Request, schema: Schema, rows: Rows, labels: Labels, who: StandIns, seed: int) -> float:
    """Return how often the student of a run would be right about the rows that test it."""
    public = take(rows, who.public)
    encoder = make_shared_encoder(schema, public, (None,))
    planned = plan_cells(request, public, schema, encoder, why="rehearsed")
    cells = planned.cells
    mechanism = planned.mechanism(FIRST, cells.n_cells)
    counts = cells.counts(take(rows, who.private), labels[who.private], len(request.classes))
    noisy = mechanism.release(_scaled(counts, who.times, seed), SeededCoins(seed))
    student = CountStudent(request.classes, schema, None, encoder)
    taught = student.train(public, (Round(cells.public, noisy, mechanism.epsilon),))
    return float((taught.predict_codes(take(rows, who.fresh)) == labels[who.fresh]).mean())


def _scaled(counts: Integers, times: float, seed: int) -> Integers:
    """Return counts of so many times as many rows, rounded up or down at random."""
    whole = counts * times
    return np.floor(whole + np.random.default_rng(seed).random(whole.shape)).astype(np.int64)
