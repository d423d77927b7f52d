"""Which teacher sees whom: a keyed hash of the privacy unit's own id, and of nothing else.

The shard of a unit does not depend on other units, on their number or on their order, so adding or removing one
unit changes the rows of exactly one teacher. Proof: docs/proofs/shards.md.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.entries import written
from mapl.data.identities import Identities
from mapl.data.rows import Rows, n_rows, take
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.types import MAX_TEACHERS, Labels, positive_integer

KEY_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class ShardKey:
    """The secret key of the hash that assigns units to shards.

    The guarantee holds for every fixed key, even a known one; what matters is that the key was drawn without
    looking at the data. It is kept secret so that nobody can aim records at a teacher.
    """

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise InvalidParameter(
                f"The shard key has {len(self.secret)} bytes; it must have {KEY_BYTES}. ShardKey.fresh() draws one."
            )

    @classmethod
    def fresh(cls) -> Self:
        """Draw a key from the operating system's generator."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a key that `write` stored."""
        try:
            secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
        except OSError as failure:
            raise InvalidData(
                f"The shard key {path} cannot be read ({failure.strerror}); check the path and its permissions."
            ) from None
        except ValueError:
            secret = b""
        if len(secret) != KEY_BYTES:
            raise InvalidData(
                f"{path} is no shard key; a key is {2 * KEY_BYTES} hexadecimal digits. Restore the file: another "
                "key would assign people to other teachers."
            )
        return cls(secret)

    def write(self, path: Path) -> None:
        """Store the key in a new file that only its owner may read."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise InvalidParameter(
                f"There is already a file {path}; a shard key is never replaced. Read it, or choose another folder."
            ) from None
        with open(descriptor, "w", encoding="ascii") as opened:
            opened.write(self.secret.hex() + "\n")
            opened.flush()
            os.fsync(opened.fileno())

    def __repr__(self) -> str:
        return "ShardKey(...)"


@dataclass(frozen=True, slots=True)
class Shards:
    """The rule that assigns ids to shards: HMAC-SHA256(key, id) mod K, with K public."""

    key: ShardKey
    n_teachers: int

    def __post_init__(self) -> None:
        positive_integer(n_teachers=self.n_teachers)
        if self.n_teachers > MAX_TEACHERS:
            raise InvalidParameter(f"n_teachers is {self.n_teachers}; mapl counts at most {MAX_TEACHERS}.")

    def of(self, ids: Iterable[bytes]) -> NDArray[np.int64]:
        """Return the shard of every id; each is a function of the key, K and that id alone."""
        key, n_teachers, digest = self.key.secret, self.n_teachers, hmac.digest
        shards = (int.from_bytes(digest(key, one, "sha256"), "big") % n_teachers for one in ids)
        return np.fromiter(shards, dtype=np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class Sharded:
    """A private table and the rows that each teacher may see.

    Parameters
    ----------
    rows, labels
        The features, and the class number of each row.
    ids
        The identity of the privacy unit that each row belongs to, in the order of the rows.
    shards
        The rule that assigns identities to teachers.
    """

    rows: Rows
    labels: Labels
    ids: Sequence[bytes]
    shards: Shards
    _order: NDArray[np.int64] = field(init=False)
    _starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        if not n_rows(self.rows) == len(self.labels) == len(self.ids):
            raise InvalidData("Rows, labels and ids differ in number; there must be one label and one id per row.")
        shard = self.shards.of(self.ids)
        # A stable sort: the rows of a shard keep the order they have in the table, whatever stands between them.
        object.__setattr__(self, "_order", np.argsort(shard, kind="stable").astype(np.int64, copy=False))
        sizes = np.bincount(shard, minlength=self.n_teachers)
        object.__setattr__(self, "_starts", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    @property
    def n_teachers(self) -> int:
        return self.shards.n_teachers

    def members(self, k: int) -> NDArray[np.int64]:
        """Return the numbers of the rows of shard k, in the order of the table."""
        if not 0 <= k < self.n_teachers:
            raise InvalidParameter(f"There is no shard {k}; shards are numbered from 0 to {self.n_teachers - 1}.")
        return self._order[self._starts[k] : self._starts[k + 1]]

    def shard(self, k: int) -> tuple[Rows, Labels]:
        """Return copies of the rows and labels of shard k, and of no other row.

        Raises
        ------
        GuaranteeBroken
            If the identity of a row about to be handed out belongs to another shard.
        """
        members = self.members(k)
        if (self.shards.of(self.ids[i] for i in members) != k).any():
            raise GuaranteeBroken(_FOREIGN)
        return take(self.rows, members), self.labels[members]

    def verify(self) -> None:
        """Check that every row is in one shard and that no identity is in two.

        The check reads identities and memberships only, not the hash that made them.
        """
        if (np.bincount(self._order, minlength=len(self.ids)) != 1).any() or self._starts[-1] != len(self.ids):
            raise GuaranteeBroken("The shards do not cover every row exactly once; nothing was trained.")
        shard = np.empty(len(self.ids), dtype=np.int64)
        shard[self._order] = np.repeat(np.arange(self.n_teachers), np.diff(self._starts))
        order, same_unit = Identities.of(self.ids).grouped()
        if (same_unit & (np.diff(shard[order]) != 0)).any():
            raise GuaranteeBroken(_FOREIGN)

    def __repr__(self) -> str:
        return f"Sharded({self.n_teachers} shards, private)"


_FOREIGN = (
    "The rows of one privacy unit would reach two teachers, so removing that unit could change two votes and the "
    "promise would be void. Nothing was trained. Do not change a table or its ids after they were sharded."
)


def split(ids: Iterable[bytes], key: ShardKey, share: float, purpose: str) -> NDArray[np.bool_]:
    """Flip a keyed coin per unit: True with chance `share`, the same for all rows of a unit.

    Every purpose has a key of its own, derived from the shard key, so the coins are independent of the shards and
    of the coins of other purposes.
    """
    if not 0 <= share <= 1:
        raise InvalidParameter(f"share is {share}; it must lie between 0 and 1.")
    own = hmac.digest(key.secret, b"mapl split for " + purpose.encode(), "sha256")
    limit = int(share * 2**64)
    coins = (int.from_bytes(hmac.digest(own, one, "sha256")[:8], "big") < limit for one in ids)
    return np.fromiter(coins, dtype=np.bool_)


def unit_bytes(column: Any) -> Identities:
    """Return the canonical bytes of every id in a column: 7, 7.0 and "7" name the same unit.

    Each id is spelled by itself. If the spelling of one id depended on what else stands in the column, one added
    unit could move others to new shards.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        column = pc.if_else(pc.equal(column, ""), None, column)
    elif (
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_temporal(kind)
    ):
        column = written(column).cast(pa.large_string())
    elif not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)):
        raise InvalidData(f"The unit column is of type {kind}; ids must be whole numbers, text, bytes or dates.")
    if column.null_count:
        raise InvalidData(
            "The unit column has empty cells; every row must name the unit, such as the person, it belongs to. "
            "Fill them in, or leave those rows out."
        )
    return Identities(column.cast(pa.large_binary()))
