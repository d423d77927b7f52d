"""The plan of a run by moments: rounds, noise and limits, fixed before a private row is read."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from mapl.data.moments.contributions import Clip
from mapl.data.moments.words import word_vectors
from mapl.data.tables.rows import Rows, n_rows
from mapl.data.tables.schema import Schema
from mapl.pipeline.request import Request
from mapl.pipeline.sums.map_maker import MapMaker, make_map_maker
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.moments import FEWEST_UNITS, MomentsDesign
from mapl.release.moment_sums import CHANGES, MomentSums, SumsStage
from mapl.release.statement.moment_promise import moments_promise
from mapl.release.statement.promise import Promise

SUMS = "sums"


@dataclass(frozen=True, slots=True, eq=False)
class PlannedMoments:
    """A plan and what its map will be drawn from, fixed before a private row is read."""

    request: Request
    plan: Plan
    stage: SumsStage
    maker: MapMaker

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return moments_promise(
            self.request.adjacency,
            self.request.unit,
            self.request.number_range,
            apart=self.stage.mechanism.apart,
        )

    def clip(self, round_number: int) -> Clip:
        """Return how far one unit may move a round of sums, counted from 0 with that of the words."""
        reach, words = self.stage.mechanism.reaches[round_number], self.maker.words
        if words is not None and round_number == 0:
            return Clip(reach, words.bound)
        if self.maker.design.products and round_number == 0:
            return Clip(reach, self.maker.target.products_bound)
        own = round_number - (words is not None)  # after products no round is at an even guess any more
        return Clip(reach, self.maker.target.bound(self.maker.design, own))


def plan_moments(
    request: Request, questions: Rows, schema: Schema, *, why: str, made_up: bool = False, one_table: bool = True
) -> PlannedMoments:
    """Fix map, noise and rounds from public rows and settings alone.

    Parameters
    ----------
    made_up
        Whether there are no public rows, and these were made up of what is declared about columns.
    one_table
        Whether all units are in one table, so that each may add to one round only.
    """
    maker = make_map_maker(request, questions, schema, made_up=made_up, one_table=one_table)
    n_classes, rounds = maker.n_classes, maker.design.rounds
    if maker.words is None:
        width = maker.draw(None).vectors.features.width
        entries: tuple[int, ...] = (width * n_classes + 1,) * rounds
        said = ""
        if maker.design.products:
            entries = (width * (width + n_classes) + 1, *entries)
            said = "no public rows, so that the map follows from the declared columns; one round of products, and "
    else:
        width = maker.most_features
        entries = (math.prod(maker.words.shape) + 1, *(width * n_classes + 1,) * rounds)
        said = f"one round of the words of {', '.join(maker.words.columns)}, and "
    mechanism = MomentSums.for_budget(
        request.budget,
        entries=entries,
        shares=maker.design.shares,
        changes=CHANGES[request.adjacency],
        first="words" if maker.words is not None else "products" if maker.design.products else "features",
        apart=maker.design.apart,
    )
    plan = make_plan(
        request.terms,
        [
            Stage(
                SUMS, mechanism.name, {**mechanism.parameters, **_range(request), "features": width}, request.budget
            )
        ],
        (
            why,
            f"{said}{rounds} rounds of sums of {width} features{_parted(maker.design)}",
            *_few(maker, n_rows(questions)),
        ),
        classes=request.classes.names,
        n_queries=n_rows(questions),
    )
    return PlannedMoments(request, plan, SumsStage(mechanism, SUMS, _digest(schema, maker)), maker)


def _range(request: Request) -> dict[str, float]:
    """Return the range of the label, if it is a number, for the plan: residuals are measured in it."""
    known = request.number_range
    return {} if known is None else {"lowest label": known.low, "highest label": known.high}


def _parted(design: MomentsDesign) -> str:
    return ", each about other units, since there are so many" if design.apart else ""


def _few(maker: MapMaker, n_public: int) -> tuple[str, ...]:
    """Say what is done about few public rows: they tell little of columns, and of how many units there are."""
    said = []
    if maker.design.shuffled:
        said.append(
            f"few public rows ({n_public}) for these columns, with made-up ones of shuffled columns beside them"
        )
    if maker.gains_by_rows:
        said.append(f"a map for {FEWEST_UNITS:,} units, a guess; to know of more would make it finer")
    return tuple(said)


def _digest(schema: Schema, maker: MapMaker) -> str:
    """Return a digest of what the map is drawn from."""
    seal = hashlib.sha256(schema.to_json().encode())
    seal.update(repr((maker.design, maker.signal, maker.layout)).encode())
    if maker.words is not None:
        seal.update(word_vectors(maker.public.rows, maker.words.columns).indices.tobytes())
    if maker.beside is not None:
        seal.update(np.ascontiguousarray(maker.beside.transform(maker.public.rows)).tobytes())
    return seal.hexdigest()
