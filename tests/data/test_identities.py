"""Identities: a sequence of bytes in little memory, that knows which rows belong together and keeps silent."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data.units import identities
from mapl.data.units.identities import Identities
from mapl.data.units.row_digests import digests
from mapl.data.units.shards import ShardKey, Shards

BLOCKS = st.lists(st.lists(st.binary(max_size=3), max_size=9), max_size=5)


@given(blocks=BLOCKS)
@settings(max_examples=60, deadline=None)
def test_identities_are_a_sequence_of_the_bytes_they_were_made_from(blocks: list[list[bytes]]) -> None:
    """Ids that end in zero bytes, that are empty, and none at all included."""
    flat = [one for block in blocks for one in block]
    found = Identities.gathered(blocks)
    assert list(found) == flat
    assert len(found) == len(flat)
    assert [found[i] for i in range(len(flat))] == flat
    assert list(found[1:-1]) == flat[1:-1]
    assert Identities.of(found) is found
    assert list(Identities.of(flat)) == flat


@given(blocks=BLOCKS)
@settings(max_examples=60, deadline=None)
def test_rows_of_one_unit_stand_side_by_side(blocks: list[list[bytes]]) -> None:
    flat = [one for block in blocks for one in block]
    found = Identities.gathered(blocks)
    order, same_unit = found.grouped()
    assert sorted(order.tolist()) == list(range(len(flat)))
    side_by_side = [flat[i] for i in order]
    assert same_unit.tolist() == [one == other for one, other in pairwise(side_by_side)]
    assert found.n_units == len(set(flat))


def test_long_sequences_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "AT_ONCE", 7)
    flat = [str(i).encode() for i in range(50)]
    assert list(Identities.gathered([flat[:20], flat[20:]])) == flat


def test_shards_of_a_column_are_those_of_a_list() -> None:
    flat = [b"", b"7", b"7\x00", b"alice", bytes(500)]
    rule = Shards(ShardKey(bytes(range(32))), 11)
    assert rule.of(Identities.of(flat)).tolist() == rule.of(flat).tolist()


def test_an_identity_takes_little_more_than_its_bytes() -> None:
    rows = np.arange(20_000.0).reshape(-1, 1)
    found = Identities.gathered(digests(rows, None))
    assert found.column.nbytes <= 25 * len(rows)
    as_objects = [one for block in digests(rows, None) for one in block]
    assert sum(map(sys.getsizeof, as_objects)) > 1.5 * found.column.nbytes  # the control


def test_identities_keep_silent() -> None:
    found = Identities(pa.array([b"alice"]))
    assert "alice" not in repr(found) + str(found) + f"{[found]}"
