"""Sites that add up moments: a few rounds, each with the model of the sums of all sites before it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mapl.data.moments.contributions import Contribution, Crowd
from mapl.data.moments.row_map import RowMap, Vectors
from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidData
from mapl.federation.agreement import SitesPlan
from mapl.federation.rounds import Heard
from mapl.federation.stated import state_together
from mapl.noise import Coins
from mapl.pipeline.case import Case
from mapl.pipeline.methods.method import Results
from mapl.pipeline.methods.moments import WEIGHTS, weights_file
from mapl.pipeline.place import Workplace
from mapl.pipeline.sums.moments_plan import PlannedMoments, plan_moments
from mapl.pipeline.sums.summing import Rounds, conclude, follow_rounds
from mapl.pipeline.votes.labelling import Effort
from mapl.release.moment_sums import TOLD_BITS, MomentSums
from mapl.students.moments.student import MomentsStudent
from mapl.students.student import Student
from mapl.types import Floats, Integers, Silent


@dataclass(frozen=True, slots=True, eq=False)
class ByMoments:
    """The public map of a plan, by which every site turns its records into vectors."""

    agreed: SitesPlan
    planned: PlannedMoments

    @classmethod
    def of(cls, agreed: SitesPlan, case: Case) -> Self:
        """Fix map and rounds by the public rows, as every site does."""
        request, n = agreed.request, agreed.n_rows
        # All sites together have more noise; fewer people beside that of one site stand out of it by as much.
        fewer = None if n is None else max(1, round(n / math.sqrt(len(agreed.sites))))
        rows, schema = case.public.rows, case.declared.schema
        planned = plan_moments(
            replace(request, n_rows=fewer), rows, schema, why="moments at every site", one_table=False
        )
        return cls(agreed, replace(planned, request=request, maker=replace(planned.maker, declared=n)))

    @property
    def mechanism(self) -> MomentSums:
        return self.planned.stage.mechanism

    @property
    def entries(self) -> tuple[int, ...]:
        """How many numbers each round has."""
        return self.mechanism.entries

    @property
    def drawn(self) -> str:
        """What tells one map from another."""
        return self.planned.stage.of

    def answer(self, table: PrivateTable, case: Case, place: Workplace, heard: Heard, effort: Effort) -> Integers:
        """Release one round of sums, that after those heard; one that is on record is only read."""
        own = Rounds(self.planned, Crowd.of(table), case.coins, place.ledger, None)
        if len(own.told) < len(heard.rounds):
            raise InvalidData(
                f"This site answered {len(own.told)} rounds, and {len(heard.rounds)} are over: it missed one and "
                "cannot go on. Nothing was spent now."
            )
        turn = Turn(own, self._in_deviations(heard))
        try:
            follow_rounds(self._seen(heard), turn)
        except RoundAnswered as told:
            return (told.numbers * (1 << TOLD_BITS)).round().astype("int64")
        raise InvalidData("All rounds are over; there is nothing more to answer.")

    def combine(self, heard: Heard, case: Case, coins: Coins) -> Results:
        """Make a model of the noisy sums of all sites, and say what it says about the public rows."""
        seen = self._seen(heard)
        followed = follow_rounds(seen, Turn(None, self._in_deviations(heard)))
        sites = tuple(name for name in self.agreed.sites if any(name in one.sites for one in heard.rounds))
        state = state_together(self.agreed, sites, self.mechanism, self.planned, coins)
        summed = conclude(seen, followed, case.public.rows, state)
        files = {WEIGHTS: weights_file(summed.strengths, case.declared.classes)}
        return Results(summed.labelled, summed.lesson, settings={"method": "moments"}, files=files)

    def train(self, case: Case, results: Results, learner: Any) -> Student:
        """Make the student of the noisy sums of all sites together."""
        student = MomentsStudent(case.declared.classes, case.declared.schema, learner, None)
        return student.train(case.public.rows, results.lesson)

    def _seen(self, heard: Heard) -> PlannedMoments:
        """Return the plan as the sums of several sites look: the noise of one, and shorter contributions."""
        factors = [one.noisier for one in heard.rounds]
        reaches = tuple(
            max(1, round(reach / factor))
            for reach, factor in zip(self.mechanism.reaches, _padded(factors, len(self.entries)), strict=True)
        )
        stage = replace(self.planned.stage, mechanism=replace(self.mechanism, reaches=reaches))
        return replace(self.planned, stage=stage)

    def _in_deviations(self, heard: Heard) -> tuple[Floats, ...]:
        """Return the sums of all rounds in deviations of the noise that they have together."""
        return tuple(one.numbers / ((1 << TOLD_BITS) * one.noisier) for one in heard.rounds)


class RoundAnswered(Exception):
    """A site has told its numbers, and has to wait for those of the others."""

    def __init__(self, numbers: Floats) -> None:
        super().__init__()
        self.numbers = numbers


@dataclass(slots=True, repr=False)
class Turn(Silent):
    """Rounds as a site meets them: those that are over are heard, the next one is its own."""

    own: Rounds | None
    heard: tuple[Floats, ...]
    done: int = field(default=0, init=False)

    def prepare(self, vectors: RowMap, width: int) -> Vectors:
        return vectors if self.own is None else self.own.prepare(vectors, width)

    def tell(self, contribution: Contribution) -> Floats:
        """Return what all sites said together, or release what this one says."""
        if self.done == len(self.heard):
            assert self.own is not None
            self.own.done = self.done
            raise RoundAnswered(self.own.tell(contribution))
        self.done += 1
        return self.heard[self.done - 1]


def _padded(factors: list[float], n_rounds: int) -> list[float]:
    """Return a factor for every round; those to come do not matter yet."""
    return factors + [1.0] * (n_rounds - len(factors))
