"""Shards: a keyed hash of each unit's own id, so that one unit more or less changes one shard."""

from __future__ import annotations

import hashlib
import hmac
import pickle
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units import keyed_hash
from mapl.data.units.keyed_hash import KeyedHash
from mapl.data.units.row_digests import digests
from mapl.data.units.shards import Sharded, ShardKey, Shards, split, unit_bytes
from mapl.data.units.unit_names import unit_names
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter

KEY = ShardKey(bytes(range(32)))


def sharded(ids: list[bytes], n_teachers: int = 7, key: ShardKey = KEY) -> Sharded:
    """Number the rows in their only column."""
    rows = np.arange(len(ids), dtype=np.float64).reshape(-1, 1)
    return Sharded(PrivateRows(rows), np.arange(len(ids), dtype=np.int32) % 3, ids, Shards(key, n_teachers))


def numbered(n: int) -> list[bytes]:
    return [str(i).encode() for i in range(n)]


# The key


def test_fresh_keys_differ_and_keep_silent() -> None:
    one, other = ShardKey.fresh(), ShardKey.fresh()
    assert one != other
    assert len(one.secret) == 32
    for shown in (repr(one), str(one), repr(Shards(one, 5))):
        assert one.secret.hex()[:8] not in shown
        assert repr(one.secret)[2:10] not in shown


def test_a_key_survives_its_file_which_only_the_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "shard.key"
    KEY.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ShardKey.read(path) == KEY


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "shard.key"
    KEY.write(path)
    with pytest.raises(InvalidParameter, match="never replaced"):
        ShardKey.fresh().write(path)
    assert ShardKey.read(path) == KEY


@pytest.mark.parametrize("content", [b"", b"abc", b"00" * 31, b"zz" * 32, b"\xff\xfe" * 32])
def test_a_damaged_key_is_refused_without_quoting_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "shard.key"
    path.write_bytes(content)
    with pytest.raises(InvalidData, match="is no shard key; a key is 64 hexadecimal digits"):
        ShardKey.read(path)


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="cannot be read"):
        ShardKey.read(tmp_path / "none")
    with pytest.raises(InvalidParameter, match="has 5 bytes; it must have 32"):
        ShardKey(b"short")


# The rule


def test_the_shard_is_hmac_sha256_of_the_id_modulo_k() -> None:
    ids = [b"", b"7", b"alice", bytes(500)]
    expected = [int(hmac.new(KEY.secret, one, hashlib.sha256).hexdigest(), 16) % 11 for one in ids]
    found = Shards(KEY, 11).of(ids)
    assert found.tolist() == expected
    assert found.dtype == np.int64


@given(st.binary(max_size=64), st.lists(st.binary(max_size=200), max_size=5), st.integers(1, 2**31 - 1))
def test_a_prepared_key_gives_the_same_digests(secret: bytes, contents: list[bytes], divisor: int) -> None:
    prepared = KeyedHash(secret)
    expected = [hmac.digest(secret, one, "sha256") for one in contents]
    assert list(prepared.digests(contents)) == expected
    assert prepared.remainders(contents, divisor).tolist() == [int(one.hex(), 16) % divisor for one in expected]
    assert repr(prepared) == "KeyedHash(...)"
    with pytest.raises(InvalidParameter, match="at most 64"):
        KeyedHash(bytes(65))


def test_hashes_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = numbered(10)
    whole = Shards(KEY, 7).of(ids)
    monkeypatch.setattr(keyed_hash, "AT_ONCE", 4)
    assert Shards(KEY, 7).of(iter(ids)).tolist() == whole.tolist()


def test_shards_are_of_about_equal_size() -> None:
    sizes = np.bincount(Shards(KEY, 10).of(numbered(20_000)), minlength=10)
    # Binomial(20000, 1/10) has standard deviation 42; five of them.
    assert abs(sizes - 2000).max() < 212


@pytest.mark.parametrize("n_teachers", [0, -1, 2.5, True, 2**31])
def test_the_number_of_teachers_is_checked(n_teachers: Any) -> None:
    with pytest.raises(InvalidParameter, match="n_teachers is"):
        Shards(KEY, n_teachers)


ID_LISTS = st.lists(st.binary(max_size=3), max_size=40)


def contents(table: Sharded, names: list[bytes]) -> list[list[bytes]]:
    """Return the rows of every shard by name, in the order in which a teacher gets them."""
    return [[names[int(i)] for i in table.shard(k)[0][:, 0]] for k in range(table.n_teachers)]


@given(ids=ID_LISTS, unit=st.binary(max_size=3), data=st.data())
@settings(max_examples=60, deadline=None)
def test_adding_a_unit_changes_exactly_one_shard_and_no_order(ids: list[bytes], unit: bytes, data: Any) -> None:
    without = [one for one in ids if one != unit]
    extended = list(without)
    for _ in range(data.draw(st.integers(1, 4))):
        extended.insert(data.draw(st.integers(0, len(extended))), unit)
    before, after = contents(sharded(without), without), contents(sharded(extended), extended)
    home = int(Shards(KEY, 7).of([unit])[0])
    for k in range(7):
        if k == home:
            assert [one for one in after[k] if one != unit] == before[k]
            assert len(after[k]) > len(before[k])
        else:
            assert after[k] == before[k]


@given(ids=ID_LISTS)
@settings(max_examples=30, deadline=None)
def test_shards_part_the_rows_by_identity(ids: list[bytes]) -> None:
    table = sharded(ids)
    table.verify()
    members = [table.members(k).tolist() for k in range(7)]
    assert sorted(i for rows in members for i in rows) == list(range(len(ids)))
    assert all(rows == sorted(rows) for rows in members)
    for k, rows in enumerate(members):
        for other in members[k + 1 :]:
            assert {ids[i] for i in rows}.isdisjoint(ids[i] for i in other)


def even_split(ids: list[bytes], n_teachers: int) -> list[list[bytes]]:
    return [[ids[i] for i in part] for part in np.array_split(np.arange(len(ids)), n_teachers)]


def seeded_split(ids: list[bytes], n_teachers: int) -> list[list[bytes]]:
    order = np.random.RandomState(0).permutation(len(ids))
    return [sorted(ids[i] for i in part) for part in np.array_split(order, n_teachers)]


@pytest.mark.parametrize("broken", [even_split, seeded_split])
def test_the_splits_that_others_use_change_nearly_every_shard(broken: Any) -> None:
    """The control: what the page of the proof says about even splits is true."""
    without, extended = numbered(100), [*numbered(100), b"new"]
    changed = sum(one != other for one, other in zip(broken(without, 10), broken(extended, 10), strict=True))
    assert changed >= 9
    changed = [
        one != other
        for one, other in zip(
            contents(sharded(without), without), contents(sharded(extended), extended), strict=True
        )
    ]
    assert sum(changed) == 1


def test_one_record_turns_every_vote_of_an_even_split() -> None:
    """The counterexample of docs/proofs/shards.md: a teacher votes for the label of its first row."""
    labels = np.arange(20) % 2
    first = [part[0] for part in np.array_split(labels, 10)]
    assert first == [0] * 10
    assert [part[0] for part in np.array_split(labels[1:], 10)] == [1] * 10


# What is handed out


KINDS = {
    "numpy": lambda matrix: matrix,
    "csr": sp.csr_matrix,
    "pandas": lambda matrix: pd.DataFrame(matrix, columns=["a", "b"]),
    "polars": lambda matrix: pl.DataFrame({"a": matrix[:, 0], "b": matrix[:, 1]}),
    "arrow": lambda matrix: pa.table({"a": matrix[:, 0], "b": matrix[:, 1]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_shard_is_a_copy_of_its_rows_and_of_no_others(kind: str) -> None:
    matrix = np.arange(40, dtype=np.float64).reshape(20, 2)
    labels = np.arange(20, dtype=np.int32) % 2
    table = Sharded(PrivateRows(KINDS[kind](matrix)), labels, numbered(20), Shards(KEY, 3))
    for k in range(3):
        rows, own = table.shard(k)
        members = table.members(k)
        assert type(rows) is type(table.rows.open())
        found = (
            rows.toarray() if kind == "csr" else rows if kind == "numpy" else pd.DataFrame(to_dict(rows)).to_numpy()
        )
        np.testing.assert_array_equal(found, matrix[members])
        np.testing.assert_array_equal(own, labels[members])
        own[:] = -7
        # What travels to a worker is as small as the shard: no view that drags the table along.
        assert len(pickle.dumps(rows)) < len(pickle.dumps(table.rows.open()))
    assert (labels >= 0).all()


def to_dict(frame: Any) -> dict[str, Any]:
    return {name: np.asarray(frame[name]) for name in ("a", "b")}


def test_a_foreign_row_is_refused_at_the_door() -> None:
    ids = numbered(30)
    table = sharded(ids)
    stranger = next(i for i in range(30) if i not in table.members(2))
    table.ids[int(table.members(2)[0])] = ids[stranger]  # type: ignore[index]
    with pytest.raises(GuaranteeBroken, match="two teachers") as caught:
        table.shard(2)
    assert str(stranger) not in str(caught.value)
    with pytest.raises(GuaranteeBroken):
        table.verify()


@given(ids=ID_LISTS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_verify_agrees_with_a_plain_search(ids: list[bytes], data: Any) -> None:
    """Rows are handed to shards at random, whatever their identities; nothing about the hash helps the check."""
    table = sharded(ids)
    shard = np.array(data.draw(st.lists(st.integers(0, 6), min_size=len(ids), max_size=len(ids))), dtype=np.int64)
    table._order[:] = np.argsort(shard, kind="stable")
    table._starts[1:] = np.cumsum(np.bincount(shard, minlength=7))
    homes: dict[bytes, set[int]] = {}
    for one, k in zip(ids, shard.tolist(), strict=True):
        homes.setdefault(one, set()).add(k)
    if any(len(found) > 1 for found in homes.values()):
        with pytest.raises(GuaranteeBroken, match="two teachers"):
            table.verify()
    else:
        table.verify()


def test_verify_sees_a_row_that_two_shards_share() -> None:
    table = sharded(numbered(30))
    table._order[0] = table._order[-1]
    with pytest.raises(GuaranteeBroken, match="cover every row exactly once"):
        table.verify()


def test_lengths_must_agree_and_are_not_told() -> None:
    with pytest.raises(InvalidData, match="differ in number") as caught:
        Sharded(PrivateRows(np.zeros((5, 1))), np.zeros(5, np.int32), numbered(4), Shards(KEY, 2))
    assert not any(digit in str(caught.value) for digit in "0123456789")


def test_a_shard_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="no shard 7; shards are numbered from 0 to 6"):
        sharded(numbered(3)).members(7)


def test_a_sharded_table_keeps_silent() -> None:
    assert repr(sharded(numbered(3))) == "Sharded(7 shards, private)"


def test_rows_without_a_unit_are_told_apart_by_content() -> None:
    matrix = np.repeat(np.arange(10.0), 3).reshape(-1, 1)
    ids = [one for block in digests(matrix, None) for one in block]
    table = Sharded(PrivateRows(matrix), np.zeros(30, np.int32), ids, Shards(KEY, 4))
    table.verify()
    for k in range(4):
        rows, _ = table.shard(k)
        assert all(np.count_nonzero(rows == value) == 3 for value in np.unique(rows))


# Hold-outs


def test_a_split_is_a_coin_per_unit_that_others_do_not_move() -> None:
    ids = numbered(4000)
    out = split(ids, KEY, 0.25, "error")
    assert out.dtype == np.bool_
    assert abs(out.sum() - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)
    np.testing.assert_array_equal(split(ids[100:], KEY, 0.25, "error"), out[100:])
    np.testing.assert_array_equal(split([ids[3], ids[3]], KEY, 0.25, "error"), [out[3], out[3]])


def test_splits_are_independent_of_the_shards_and_of_other_purposes() -> None:
    ids = numbered(8000)
    one, other = split(ids, KEY, 0.5, "error"), split(ids, KEY, 0.5, "other")
    in_shard_0 = Shards(KEY, 2).of(ids) == 0
    for first, second in ((one, other), (one, in_shard_0)):
        both = np.count_nonzero(first & second)
        assert abs(both - 2000) < 5 * np.sqrt(8000 * 0.25 * 0.75)


def test_the_ends_of_a_share() -> None:
    assert not split(numbered(50), KEY, 0, "a").any()
    assert split(numbered(50), KEY, 1, "a").all()
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            split([], KEY, share, "a")


# Ids


@pytest.mark.parametrize(
    "column",
    [
        pa.array([7, 12]),
        pa.array([7, 12], pa.uint8()),
        pa.array([7.0, 12.0]),
        pa.array(["7", "12 "]),
        pa.array(["7", "12"], pa.large_string()),
        pa.array(["7", "12"], pa.string_view()),
        pa.array(["7", "12"]).dictionary_encode(),
        pa.array([7, 12]).dictionary_encode(),
        pa.chunked_array([pa.array([7]), pa.array([12])]),
        pa.array([b"7", b"12"]),
    ],
    ids=str,
)
def test_an_id_is_the_same_however_it_is_stored(column: Any) -> None:
    assert list(unit_bytes(column)) == [b"7", b"12"]


def test_other_ids_are_spelled_out() -> None:
    assert list(unit_bytes(pa.array([7.5, 1e300]))) == [b"7.5", str(int(1e300)).encode()]
    assert list(unit_bytes(pa.array([True, False]))) == [b"true", b"false"]
    assert list(unit_bytes(pa.array([0, 19_000], pa.date32()))) == [b"1970-01-01", b"2022-01-08"]
    assert list(unit_bytes(pa.array([b"ab"], pa.binary(2)))) == [b"ab"]
    assert list(unit_bytes(pa.array(["Ünal"]))) == ["Ünal".encode()]


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.floats(allow_nan=False))
@settings(max_examples=60, deadline=None)
def test_no_id_changes_how_another_one_is_spelled(ids: list[float], more: float) -> None:
    assert list(unit_bytes(pa.array([*ids, more])))[:-1] == list(unit_bytes(pa.array(ids)))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([7, None]),
        pa.array([7.0, float("nan")]),
        pa.array(["a", "  "]),
        pa.array(["a", None]).dictionary_encode(),
    ],
    ids=str,
)
def test_empty_ids_are_refused(column: Any) -> None:
    with pytest.raises(InvalidData, match="The unit column has empty cells"):
        unit_bytes(column)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"id": 1}, {"id": 2}]),
        pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
        pa.array([1, 2], pa.duration("s")),
        pa.chunked_array([pa.array([[1]]), pa.array([[2]])]),
    ],
    ids=lambda column: str(column.type),
)
def test_ids_of_other_types_name_nobody(column: Any) -> None:
    """A refusal would tell that some row made the column be stored so."""
    assert unit_names(column).to_pylist() == [None, None]
