"""The path of a run by moments in small, from the real code, and broken twins: one well-known mistake each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mapl.audit.counts.tables import Table
from mapl.audit.examine import MOST_EPSILON
from mapl.audit.finding import Finding, Verdict
from mapl.audit.moments.number_twins import (
    Measure,
    bound_from_labels,
    numbers_of,
    path_of_numbers,
    public_bound,
    squares_beside,
    uncut,
    without_a_cut,
)
from mapl.audit.moments.parted_twins import Part, by_record, by_row_number, by_unit, path_of_parts, whole_numbers
from mapl.audit.moments.tables import SumUp, ToldSums, audit_sums
from mapl.data.moments.contributions import Clip, ExactSums
from mapl.data.tables.private_rows import PrivateRows
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.noise.gaussian import draw_gaussian
from mapl.planning.rules.moments import SHORTER
from mapl.release.moment_sums import CHANGES, MomentSums
from mapl.types import Adjacency, Budget, Floats

if TYPE_CHECKING:
    from mapl.data.moments.residuals import Residuals
    from mapl.data.moments.row_map import RowMap

PUBLIC = (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0)
N_CLASSES, N_FEATURES = 2, 2
MODELS = (((0.0, 0.0), (0.0, 0.0)), ((-1.0, 1.0), (0.25, -0.25)))
"""What earlier rounds led to: nothing at first, then some public model."""
ENTRIES = (N_FEATURES * N_CLASSES + 1,) * len(MODELS)
DECLARED = 2
"""About how many units there are, as far as the public knows."""

Numbers = tuple[int, ...]
Map = Callable[[Table], "RowMap"]
Add = Callable[[Table, "Residuals", Clip], Numbers]


def public_map(table: Table) -> RowMap:
    """Draw the map from public points, whatever the private table says."""
    return drawn_map(PUBLIC)


@lru_cache(maxsize=1 << 12)
def drawn_map(points: tuple[float, ...], *, stretch: float = 1.0) -> RowMap:
    """Draw a map as a real run does, from these points; `stretch` weighs the column."""
    from mapl.data.encoding.encoder import Encoder  # brings scikit-learn along
    from mapl.data.moments.feature_map import FeatureMap
    from mapl.data.moments.row_map import RowMap
    from mapl.data.tables.column import Column
    from mapl.data.tables.schema import Schema

    encoder = Encoder.of(Schema((Column("x0", "number", centre=0, spread=1 / stretch),)))
    known = Encoder.of(Schema((Column("x0", "number", centre=0, spread=1),)))
    return RowMap(encoder, FeatureMap.fit(known.transform(_rows(points)), ridge=0.3))


def add_up(table: Table, measured: Residuals, clip: Clip) -> Numbers:
    """Add up what units contribute as a real run does."""
    return _added(table, measured, clip, owners=[unit for unit, _, _ in table])


def path(claims: MomentSums, *, map_of: Map = public_map, tell_map: bool = True, add: Add = add_up) -> SumUp:
    """Return the way from records to sums; honest unless a step is replaced."""

    def sum_up(table: Table) -> ToldSums:
        from mapl.data.moments.residuals import Residuals, on_grid

        drawn = map_of(table)
        rounds = []
        for number, (model, reach) in enumerate(zip(MODELS, claims.reaches, strict=True)):
            bound = math.sqrt(1 - 1 / N_CLASSES) * (SHORTER if number else 1.0)
            rounds.append(add(table, Residuals(drawn, on_grid(np.array(model))), Clip(reach, bound)))
        return ToldSums(drawn.features.turn.tobytes() if tell_map else None, tuple(rounds))

    return sum_up


def _rows(points: Sequence[float]) -> Floats:
    return np.array(points, dtype=np.float64).reshape(-1, 1)


def _added(table: Table, measured: Any, clip: Clip, owners: Sequence[str] | None) -> Numbers:
    import pyarrow as pa

    from mapl.data.moments.contributions import Crowd, sum_contributions
    from mapl.data.moments.number_residuals import NumberResiduals
    from mapl.data.tables.table import PrivateTable

    numeric = isinstance(measured, NumberResiduals)
    labels = numbers_of(table) if numeric else np.array([label for _, _, label in table], dtype=np.int32)
    ids = None if owners is None else pa.array(owners, pa.string())
    crowd = Crowd.of(PrivateTable(PrivateRows(_rows([point for _, point, _ in table])), labels, ids))
    return whole_numbers(sum_contributions(crowd, measured, clip))


def _one_by_one(table: Table, measured: Residuals, clip: Clip) -> list[Numbers]:
    """Return what every unit adds."""
    units = dict.fromkeys(unit for unit, _, _ in table)
    return [add_up(tuple(record for record in table if record[0] == unit), measured, clip) for unit in units]


def _together(parts: Sequence[Sequence[float]]) -> Numbers:
    return tuple(int(sum(column)) for column in zip(*parts, strict=True)) if parts else (0,) * ENTRIES[0]


# Mistakes


def private_map(table: Table) -> RowMap:
    """Draw the map from private records too."""
    return drawn_map((*PUBLIC, *(point for _, point, _ in table)))


def private_idf(table: Table) -> RowMap:
    """Weigh the column by how few private records have something there."""
    n_there = sum(point != 0 for _, point, _ in table)
    return drawn_map(PUBLIC, stretch=1 + math.log((1 + len(table)) / (1 + n_there)))


def every_record(table: Table, measured: Residuals, clip: Clip) -> Numbers:
    """Cut what records add, and not what their unit adds."""
    return _added(table, measured, clip, owners=None)


def by_true_number(table: Table, measured: Residuals, clip: Clip) -> Numbers:
    """Tell sums for as many units as were declared, by the number that the table has."""
    sums, n_units = add_up(table, measured, clip), len({unit for unit, _, _ in table})
    return tuple(DECLARED * one // max(1, n_units) for one in sums)


def by_largest_norm(table: Table, measured: Residuals, clip: Clip) -> Numbers:
    """Scale so that the longest contribution in the table just has the declared length."""
    parts = _one_by_one(table, measured, Clip(clip.reach, 2.0))
    longest = max((math.sqrt(sum(x * x for x in part[:-1])) for part in parts), default=0.0) or 1.0
    return _together([[x * clip.vector_reach / longest for x in part[:-1]] + [clip.count] for part in parts])


def beside_the_count(table: Table, measured: Residuals, clip: Clip) -> Numbers:
    """Let vectors have all of the reach, and count units beside them."""
    longer = Clip(int(clip.reach * clip.reach / clip.vector_reach), clip.bound)
    return add_up(table, measured, longer)


def to_the_nearest(table: Table, measured: Residuals, clip: Clip) -> Numbers:
    """Round vectors and residuals to the nearest whole numbers, and leave no room for that."""
    from mapl.data.moments.feature_map import UNIT

    parts = []
    for unit in dict.fromkeys(unit for unit, _, _ in table):
        mine = [record for record in table if record[0] == unit]
        labels = np.array([label for _, _, label in mine])
        vectors, residuals = measured.measure(_rows([point for _, point, _ in mine]), labels)
        turned = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * UNIT
        cut = residuals * np.minimum(1.0, clip.bound / np.linalg.norm(residuals, axis=1, keepdims=True))
        whole = np.rint(turned).T @ np.rint(cut * (clip.vector_reach / UNIT / clip.bound)) / len(mine)
        parts.append([*np.rint(whole).ravel(), clip.count])
    return _together(parts)


def same_noise(mechanism: MomentSums, sums: Sequence[ExactSums], coins: Coins) -> Sequence[Floats]:
    """Draw the noise of the first round, and add it in all of them."""

    class Again(Coins):
        private = False

        def __init__(self) -> None:
            self.drawn: list[Any] = []
            self.at = 0

        def words(self, n: int) -> Any:
            if self.at == len(self.drawn):
                self.drawn.append(coins.words(n))
            self.at += 1
            return self.drawn[self.at - 1]

    told, again = [], Again()
    for number, one in enumerate(sums):
        again.at = 0
        told.append(mechanism.release(number, one, again))
    return told


def half_noise(mechanism: MomentSums, sums: Sequence[ExactSums], coins: Coins) -> Sequence[Floats]:
    """Add half of the noise."""
    told = []
    for one in sums:
        one.add(draw_gaussian(coins, len(one.low)) >> 1)
        told.append(np.asarray(one.shifted(34) / 64.0))
    return told


def as_if_alone(claims: MomentSums, budget: Budget) -> MomentSums:
    """Calibrate every round for the whole budget."""
    alone = MomentSums.for_budget(budget, entries=ENTRIES[:1], changes=claims.changes)
    return replace(claims, reaches=alone.reaches * len(claims.reaches))


@dataclass(frozen=True)
class SumsTwin:
    """A mistake in the path of the records, in the noise or in its calibration."""

    summary: str
    steps: dict[str, Any] = field(default_factory=dict)
    release: dict[str, Any] = field(default_factory=dict)
    calibrate: Callable[[MomentSums, Budget], MomentSums] | None = None
    of_numbers: tuple[Measure, Callable[[Add], Add]] | None = None
    """Where labels are numbers: how residuals are measured, and how they are added up."""
    part: Part | None = None
    """Where every unit adds to one round only: how units are parted."""


SUMS_TWINS: dict[str, SumsTwin] = {
    "private-map": SumsTwin("a map drawn from private records too", {"map_of": private_map}),
    "private-idf": SumsTwin(
        "columns weighed by how few private records have something there, which nobody is told",
        {"map_of": private_idf},
    ),
    "clip-per-record": SumsTwin("records are cut, and not what their unit adds", {"add": every_record}),
    "number-from-table": SumsTwin("sums scaled by the true number of units", {"add": by_true_number}),
    "largest-norm": SumsTwin("a length taken from the longest contribution", {"add": by_largest_norm}),
    "count-beside": SumsTwin("units are counted beside the whole reach", {"add": beside_the_count}),
    "nearest": SumsTwin("whole numbers rounded to the nearest, so that norms grow", {"add": to_the_nearest}),
    "rounds-as-one": SumsTwin("every round has the noise of a single one", calibrate=as_if_alone),
    "same-noise": SumsTwin("one noise for all rounds", release={"release": same_noise}),
    "half-noise": SumsTwin("half of the noise that is paid for", release={"release": half_noise}),
    "bound-from-labels": SumsTwin(
        "numbers cut off where the farthest private one lies", of_numbers=(bound_from_labels, lambda add: add)
    ),
    "uncut-numbers": SumsTwin("numbers far from the model are not cut off", of_numbers=(without_a_cut, uncut)),
    "squares-beside": SumsTwin(
        "squares of residuals stand beside the whole reach", of_numbers=(public_bound, squares_beside)
    ),
    "records-apart": SumsTwin("every record has a round of its own, and not its unit", part=by_record),
    "rounds-by-row": SumsTwin("which round somebody is in follows from the row's number", part=by_row_number),
}


def examine_sums(budget: Budget, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit noisy sums, or a broken twin of them, on every table of a small world.

    The honest path is gone three times, with classes, with numbers for labels, and with every unit in one round
    only; what is told is the worst of them.
    """
    if budget.epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"The claimed epsilon is {budget.epsilon:g}; an audit takes at most {MOST_EPSILON:g}, beyond which "
            "nothing is promised that is worth auditing."
        )
    claims = MomentSums.for_budget(budget, entries=ENTRIES, changes=CHANGES[adjacency])
    mistake = SumsTwin("") if twin is None else SUMS_TWINS[twin]
    if mistake.calibrate is not None:
        claims = mistake.calibrate(claims, budget)
    ways = []
    if mistake.of_numbers is None and mistake.part is None:
        ways.append((path(claims, **mistake.steps), claims))
    if twin is None or mistake.of_numbers is not None:
        measure, adding = mistake.of_numbers or (public_bound, lambda add: add)
        ways.append((path_of_numbers(claims, drawn_map(PUBLIC), adding(add_up), measure=measure), claims))
    if twin is None or mistake.part is not None:
        apart = MomentSums.for_budget(budget, entries=ENTRIES, changes=CHANGES[adjacency], apart=True)
        ways.append((path_of_parts(apart, drawn_map(PUBLIC), MODELS, part=mistake.part or by_unit), apart))
    found = [audit_sums(way, own, budget, adjacency=adjacency, **mistake.release) for way, own in ways]
    return max(found, key=lambda one: (one.verdict is Verdict.violated, one.renyi_found))
