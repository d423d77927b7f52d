"""A run by moments played through on public rows: the sums of stand-ins, scaled to the declared number of units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mapl.data.moments.contributions import Contribution, Crowd, sum_contributions
from mapl.data.moments.row_map import KeptVectors, RowMap, Vectors
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, take
from mapl.data.tables.schema import Schema
from mapl.noise.gaussian import DEVIATION_BITS
from mapl.pipeline.rehearsal.stand_ins import StandIns
from mapl.pipeline.request import Request
from mapl.pipeline.sums.moments_plan import PlannedMoments, plan_moments
from mapl.pipeline.sums.summing import follow_rounds
from mapl.students.moments.student import MomentsLesson
from mapl.types import Floats, Labels


@dataclass(slots=True)
class PlayedRounds:
    """Rounds of sums over public stand-ins, with noise as large as in a run; nothing here protects anybody.

    Parameters
    ----------
    times
        How many units each stand-in counts for.
    """

    planned: PlannedMoments
    crowd: Crowd
    times: float
    draws: np.random.Generator
    done: int = 0

    def prepare(self, vectors: RowMap, width: int) -> Vectors:
        """Encode all stand-ins once."""
        ready = self.crowd.prepared(vectors, width)
        if ready is None:
            return vectors
        self.crowd = ready
        return KeptVectors()

    def tell(self, contribution: Contribution) -> Floats:
        """Return the sums of the next round as a release tells them."""
        sums = sum_contributions(self.crowd, contribution, self.planned.clip(self.done))
        self.done += 1
        exact = sums.high + sums.low / float(1 << DEVIATION_BITS)
        design = self.planned.maker.design
        times = self.times / design.rounds if design.apart else self.times
        return np.asarray(exact * times + self.draws.standard_normal(len(exact)))


def play_moments(request: Request, schema: Schema, rows: Rows, labels: Labels, who: StandIns, seed: int) -> float:
    """Return how often the student of a run would be right about the rows that test it."""
    planned = plan_moments(request, take(rows, who.public), schema, why="rehearsed")
    crowd = Crowd(PrivateRows(take(rows, who.private)), labels[who.private], None)
    played = follow_rounds(planned, PlayedRounds(planned, crowd, who.times, np.random.default_rng(seed)))
    lesson = MomentsLesson(played.drawn.vectors, played.known.weights, played.known.level)
    predicted = lesson.scores(take(rows, who.fresh)).argmax(axis=1)
    return float((predicted == labels[who.fresh]).mean())
