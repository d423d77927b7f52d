"""Sites that count in cells: one round, whole numbers, a pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mapl.data.encoding.choice import make_shared_encoder
from mapl.data.tables.table import PrivateTable
from mapl.federation.agreement import SitesPlan
from mapl.federation.rounds import Heard
from mapl.federation.stated import state_together
from mapl.noise import Coins
from mapl.pipeline.case import Case
from mapl.pipeline.counts.cells_plan import FIRST, PlannedCells, plan_cells
from mapl.pipeline.counts.counting import Counted, count
from mapl.pipeline.methods.method import Results
from mapl.pipeline.place import Workplace
from mapl.pipeline.votes.labelling import Effort, Labelled
from mapl.release import Released
from mapl.release.cell_counts import CellCounts
from mapl.students.on_counts import CountStudent
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import ABSTAIN, Integers, State


@dataclass(frozen=True, slots=True, eq=False)
class ByCells:
    """The public cells of a plan, in which every site counts."""

    agreed: SitesPlan
    planned: PlannedCells

    @classmethod
    def of(cls, agreed: SitesPlan, case: Case) -> Self:
        """Draw the cells from the public rows, as every site does."""
        schema, rows = case.declared.schema, case.public.rows
        encoder = make_shared_encoder(schema, rows, (None,))
        return cls(agreed, plan_cells(agreed.request, rows, schema, encoder, why="cells at every site"))

    @property
    def mechanism(self) -> CellCounts:
        return self.planned.mechanism(FIRST, self.planned.cells.n_cells)

    @property
    def entries(self) -> tuple[int, ...]:
        """How many numbers each round has."""
        return (self.mechanism.n_cells * self.mechanism.n_classes,)

    @property
    def drawn(self) -> str:
        """What tells one map from another."""
        return self.planned.cells.digest

    def answer(self, table: PrivateTable, case: Case, place: Workplace, heard: Heard, effort: Effort) -> Integers:
        """Count the records of a site and release the counts with noise."""
        counted = count(table, case.public.rows, self.planned, case.key, place, coins=case.coins)
        return counted.rounds[-1].counts.ravel()

    def combine(self, heard: Heard, case: Case, coins: Coins) -> Results:
        """Add the noisy counts of all sites up, and say what they say about the public rows."""
        (added,), mechanism, rows = heard.rounds, self.mechanism, case.public.rows
        counts = added.numbers.reshape(mechanism.n_cells, mechanism.n_classes)
        noise = mechanism.deviation * added.noisier
        rounds = (Round(self.planned.cells.public, counts, mechanism.epsilon / added.noisier, noise),)
        codes = TaughtByCounts(rows, rounds).labels
        answered = int(np.count_nonzero(codes != ABSTAIN))
        released = Released(codes, None, State(answered, len(codes) - answered, True), len(codes))
        state = state_together(self.agreed, added.sites, mechanism, self.planned, coins)
        asked = np.arange(len(codes), dtype=np.int64)
        labelled = Labelled(released, asked, len(codes), mechanism, self.planned.plan.why, state(released))
        counted = Counted(labelled, rounds, self.planned.cells, None)
        return Results(labelled, rounds if answered else None, counted, settings=self._settings)

    def train(self, case: Case, results: Results, learner: Any) -> Student:
        """Train the student on the noisy counts of all sites together."""
        schema, rows = case.declared.schema, case.public.rows
        encoder = make_shared_encoder(schema, rows, (learner,))
        return CountStudent(case.declared.classes, schema, learner, encoder).train(rows, results.lesson)

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "method": "cells",
            "partition": self.agreed.partition,
            "rounds": 1,
            "per_unit": self.agreed.per_unit,
        }
