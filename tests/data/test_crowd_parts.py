"""Everybody in one round: by a keyed coin of their own, whoever else is in the table and however it is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from test_moment_contributions import CLIP, residuals_of, table_of, whole

from mapl.data.moments import contributions
from mapl.data.moments.contributions import Crowd, ExactSums, sum_contributions
from mapl.data.moments.crowd_parts import CrowdParts
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.errors import GuaranteeBroken

KEY, ROUNDS = ShardKey(bytes(32)), 4
DRAWS = np.random.default_rng(0)
ROWS, LABELS = DRAWS.normal(size=(60, 2)), DRAWS.integers(0, 3, size=60)
OWNERS = [f"p{who}" for who in DRAWS.integers(0, 25, size=60)]


def parts_of(table: PrivateTable, n_rounds: int = ROUNDS) -> CrowdParts:
    return CrowdParts.of(table, Crowd.of(table), KEY, n_rounds)


def rounds_of(rows: Any, owners: Any = None, labels: Any = None, *, key: ShardKey = KEY) -> list[int]:
    table = PrivateTable(PrivateRows(rows), np.zeros(rows.shape[0], np.int32) if labels is None else labels, owners)
    return CrowdParts.of(table, Crowd.of(table), key, ROUNDS).rounds.tolist()


@pytest.mark.parametrize("owners", [None, OWNERS])
def test_parts_add_up_to_everybody_bit_by_bit(owners: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, measured = table_of(ROWS, LABELS, owners), residuals_of(2, 3)
    everybody = whole(sum_contributions(Crowd.of(table), measured, CLIP))
    for block in (4096, 7, 1):
        monkeypatch.setattr(contributions, "ROWS_AT_ONCE", block)
        together, parts = ExactSums(len(everybody)), parts_of(table)
        for number in range(ROUNDS):
            together.merge(sum_contributions(parts.part(number), measured, CLIP))
        assert whole(together) == everybody


@pytest.mark.parametrize("owners", [None, OWNERS])
def test_one_unit_more_or_less_moves_one_round_and_no_other(owners: Any) -> None:
    measured = residuals_of(2, 3)

    def sums(kept: Any) -> list[list[int]]:
        who = None if owners is None else [owners[i] for i in kept]
        parts = parts_of(table_of(ROWS[kept], LABELS[kept], who))
        return [whole(sum_contributions(parts.part(number), measured, CLIP)) for number in range(ROUNDS)]

    everybody = sums(np.arange(60))
    units = [np.array([row]) for row in range(60)] if owners is None else []
    units = units or [np.flatnonzero(np.array(owners) == who) for who in sorted(set(owners))]
    moved = set()
    for gone in units:
        others = sums(np.setdiff1d(np.arange(60), gone))
        changed = [number for number in range(ROUNDS) if others[number] != everybody[number]]
        assert len(changed) == 1
        moved |= set(changed)
    assert moved == set(range(ROUNDS))  # coins fall everywhere


def test_a_coin_follows_from_its_own_record_however_it_is_stored() -> None:
    rows = np.where(DRAWS.random(size=(50, 6)) < 0.4, 0.0, DRAWS.normal(size=(50, 6)))
    rows[3, 2] = np.nan
    found = rounds_of(rows)
    names = [f"c{j}" for j in range(6)]
    table = pa.table({name: rows[:, j] for j, name in enumerate(names)})
    turned = table.select(names[::-1])
    for other in (rows.astype(np.float32), sp.csr_array(rows), table, turned, table.to_pandas()):
        assert rounds_of(other) == found
    assert [rounds_of(rows[row : row + 1])[0] for row in range(50)] == found
    assert rounds_of(rows[::-1]) == found[::-1]
    assert rounds_of(rows, labels=np.ones(50, np.int32)) == found
    assert rounds_of(rows, key=ShardKey(b"k" * 32)) != found


def test_numbers_texts_and_pictures_have_a_part_in_coins() -> None:
    many = 400
    columns = {
        "number": pa.array(np.arange(many) / 7),
        "text": pa.array([f"word {i}" for i in range(many)]),
        "picture": pa.array([[i % 20, i // 20] for i in range(many)], pa.list_(pa.float32(), 2)),
    }
    for name, cells in columns.items():
        sizes = np.bincount(rounds_of(pa.table({name: cells})), minlength=ROUNDS)
        assert sizes.min() > 60, name  # 100 each on average; the chance of this is below 1e-5
    empty = pa.table({"number": pa.array([None, None], pa.float64()), "text": pa.array([None, None], pa.string())})
    assert len(set(rounds_of(empty))) == 1


def test_ids_are_spelled_as_everywhere_else() -> None:
    rows = np.zeros((3, 1))
    assert len(set(rounds_of(rows, pa.array(["7", " 7.0", "7.00"])))) == 1


def test_records_of_one_unit_in_two_rounds_are_refused() -> None:
    sound = parts_of(table_of(ROWS, LABELS, OWNERS))
    rounds = sound.rounds.copy()
    rounds[sound.crowd.several[0][0, 1]] = (rounds[sound.crowd.several[0][0, 1]] + 1) % ROUNDS
    with pytest.raises(GuaranteeBroken, match="in two rounds of sums"):
        replace(sound, rounds=rounds)
    assert repr(sound) == "CrowdParts(private)"


def test_a_table_of_nobody_has_rounds_of_nobody() -> None:
    parts = parts_of(table_of(np.zeros((0, 2)), []))
    assert whole(sum_contributions(parts.part(2), residuals_of(2, 3), CLIP))[-1] == 0
