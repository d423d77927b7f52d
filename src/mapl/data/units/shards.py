"""Which teacher sees whom: a keyed hash of the privacy unit's own id, and of nothing else.

The shard of a unit does not depend on other units, on their number or on their order, so adding or removing one
unit changes the rows of exactly one teacher. Proof: docs/proofs/shards.md.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows
from mapl.data.units.identities import Identities, take_identities
from mapl.data.units.keyed_hash import KeyedHash
from mapl.data.units.unit_names import unit_bytes
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.types import MAX_TEACHERS, Labels, positive_integer

__all__ = ["ShardKey", "Sharded", "Shards", "divide", "split", "unit_bytes"]

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
    def of_seed(cls, seed: int | None) -> Self:
        """Return a fresh key, or for tests the key of a seed."""
        if seed is None:
            return cls.fresh()
        return cls(hashlib.sha256(f"mapl shards of seed {seed}".encode()).digest())

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
        return KeyedHash(self.key.secret).remainders(ids, self.n_teachers)


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

    rows: PrivateRows
    labels: Labels
    ids: Sequence[bytes]
    shards: Shards
    _order: NDArray[np.int64] = field(init=False)
    _starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.labels) == len(self.ids):
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
        if (self._shard_now(members) != k).any():
            raise GuaranteeBroken(_FOREIGN)
        return self.rows.take(members).open(), self.labels[members]

    def shards_of(self, teachers: Sequence[int]) -> tuple[Rows, Labels]:
        """Return copies of the rows and labels of several shards, one shard after the other.

        Raises
        ------
        GuaranteeBroken
            If the identity of a row about to be handed out belongs to another shard.
        """
        handed = [self.members(k) for k in teachers]
        members = np.concatenate(handed)
        expected = np.repeat(teachers, [len(each) for each in handed])
        if (self._shard_now(members) != expected).any():
            raise GuaranteeBroken(_FOREIGN)
        return self.rows.take(members).open(), self.labels[members]

    def _shard_now(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shard of some rows by their identities, which are looked at anew."""
        return self.shards.of(take_identities(self.ids, members))

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
    """Flip a keyed coin per unit: True with chance `share`, the same for all rows of a unit."""
    return np.asarray(divide(ids, key, (share,), purpose) == 0, dtype=np.bool_)


def divide(ids: Iterable[bytes], key: ShardKey, shares: Sequence[float], purpose: str) -> NDArray[np.int8]:
    """Return the part of every unit, by a keyed coin of its own, the same for all rows of a unit.

    Part i has chance `shares[i]`, and one more part has the rest. Every purpose has a key of its own, derived from
    the shard key, so the coins are independent of the shards and of the coins of other purposes.
    """
    ends = [math.fsum(shares[: number + 1]) for number in range(len(shares))]
    if any(share < 0 for share in shares) or not all(0 <= end <= 1 for end in ends):
        told = ", ".join(f"{share:g}" for share in shares)
        raise InvalidParameter(f"share is {told}; it must lie between 0 and 1, also together with others.")
    own = hmac.digest(key.secret, b"mapl split for " + purpose.encode(), "sha256")
    limits = [int(end * 2**64) for end in ends]
    coins = (int.from_bytes(digest[:8], "big") for digest in KeyedHash(own).digests(ids))
    return np.fromiter((bisect_right(limits, coin) for coin in coins), dtype=np.int8)
