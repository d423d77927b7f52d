"""The path of a run in which every unit adds to one round only, in small, and broken twins of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mapl.audit.counts.tables import Table
from mapl.audit.moments.tables import SumUp, ToldSums
from mapl.data.moments.contributions import Clip, ExactSums
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.planning.rules.moments import SHORTER
from mapl.release.moment_sums import MomentSums

if TYPE_CHECKING:
    from mapl.data.moments.contributions import Crowd
    from mapl.data.moments.row_map import RowMap

KEY = ShardKey(bytes(31) + b"\x03")
"""The promise holds for every key; by this one the two people of the small world are in different rounds."""

Part = Callable[[PrivateTable, int], Callable[[int], "Crowd"]]
"""From a table and the number of rounds to the people of each of them."""


def by_unit(table: PrivateTable, n_rounds: int) -> Callable[[int], Crowd]:
    """Part people as a real run does."""
    from mapl.data.moments.contributions import Crowd
    from mapl.data.moments.crowd_parts import CrowdParts

    return CrowdParts.of(table, Crowd.of(table), KEY, n_rounds).part


def path_of_parts(
    claims: MomentSums, drawn: RowMap, models: tuple[object, ...], *, part: Part = by_unit, of_people: bool = True
) -> SumUp:
    """Return the way from records to sums; honest unless another way to part them is given.

    Parameters
    ----------
    of_people
        Whether records are parted by whose they are; otherwise each stands for itself.
    """
    from mapl.data.moments.contributions import sum_contributions
    from mapl.data.moments.residuals import Residuals, on_grid

    def sum_up(table: Table) -> ToldSums:
        members = part(_private(table, of_people=of_people), len(claims.reaches))
        rounds = []
        for number, (model, reach) in enumerate(zip(models, claims.reaches, strict=True)):
            clip = Clip(reach, math.sqrt(0.5) * (SHORTER if number else 1.0))
            measured = Residuals(drawn, on_grid(np.array(model)))
            rounds.append(whole_numbers(sum_contributions(members(number), measured, clip)))
        return ToldSums(None, tuple(rounds))

    return sum_up


def whole_numbers(sums: ExactSums) -> tuple[int, ...]:
    """Return exact sums as whole numbers of any size."""
    return tuple((int(high) << 40) + int(low) for high, low in zip(sums.high, sums.low, strict=True))


def _private(table: Table, *, of_people: bool) -> PrivateTable:
    points = np.array([point for _, point, _ in table], dtype=np.float64).reshape(-1, 1)
    labels = np.array([label for _, _, label in table], dtype=np.int32)
    ids = pa.array([unit for unit, _, _ in table], pa.string()) if of_people else None
    return PrivateTable(PrivateRows(points), labels, ids)


# Mistakes


def by_record(table: PrivateTable, n_rounds: int) -> Callable[[int], Crowd]:
    """Let every record have a coin of its own, whoever it belongs to."""
    from mapl.data.moments.contributions import Crowd
    from mapl.data.moments.crowd_parts import CrowdParts

    alone = replace(table, unit_ids=None)
    return _members(table, CrowdParts.of(alone, Crowd.of(alone), KEY, n_rounds).rounds.astype(np.int64))


def by_row_number(table: PrivateTable, n_rounds: int) -> Callable[[int], Crowd]:
    """Deal records out by their place in the table."""
    return _members(table, np.arange(len(table.labels)) % n_rounds)


def _members(table: PrivateTable, rounds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Callable[[int], Crowd]:
    from mapl.data.moments.contributions import Crowd

    return lambda number: Crowd.of(table.take(np.flatnonzero(rounds == number)))
