"""Which training sets see whom: each unit is in at most s of K bags, by a keyed hash of its own id.

With s = 1 the bags are disjoint shards. The bags of a unit depend on no other unit, so that adding or removing one
changes at most s bags. Proof: docs/proofs/stable-queries.md.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows
from mapl.data.units.identities import Identities
from mapl.data.units.keyed_hash import KeyedHash
from mapl.data.units.shards import ShardKey, Shards
from mapl.data.units.unit_names import unit_bytes, unit_names
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.types import Integers, positive_integer

NO_BAG = -1


class Bags(Protocol):
    """A rule that assigns units to bags."""

    @property
    def n_bags(self) -> int:
        """K, which is public."""

    @property
    def most(self) -> int:
        """s: how many bags a unit is in at most."""

    def of(self, ids: Iterable[bytes]) -> Integers:
        """Return one row of s bags for every id, NO_BAG where it is in fewer; each row depends on its id alone."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """Split all units s times into K/s disjoint shards: every unit is in exactly s of the K bags."""

    key: ShardKey
    n_bags: int
    most: int = 1

    def __post_init__(self) -> None:
        positive_integer(n_bags=self.n_bags, occurrences=self.most)
        if self.n_bags % self.most:
            raise InvalidParameter(
                f"There are {self.n_bags} bags and every unit is to be in {self.most} of them; the number of bags "
                "must be a multiple of that."
            )

    def of(self, ids: Iterable[bytes]) -> Integers:
        each, known = self.n_bags // self.most, list(ids)
        rounds = [j * each + Shards(_own(self.key, f"round {j}"), each).of(known) for j in range(self.most)]
        return np.stack(rounds, axis=1)


@dataclass(frozen=True, slots=True)
class Subsamples:
    """Put a unit into each of K bags with chance `share`, and leave it out of what exceeds its first s bags.

    The subsamples of Smith and Thakurta's A_subSamp. That declines to answer where anybody is in more than s bags;
    here such a unit just leaves the others alone, which depends on that unit only.
    """

    key: ShardKey
    n_bags: int
    share: float
    most: int

    def __post_init__(self) -> None:
        positive_integer(n_bags=self.n_bags, occurrences=self.most)
        if not 0 < self.share <= 1:
            raise InvalidParameter(f"share is {self.share}; it must lie above 0 and be at most 1.")

    def of(self, ids: Iterable[bytes]) -> Integers:
        secret, limit = _own(self.key, "subsamples").secret, int(self.share * (2**64 - 1))
        rows = []
        for digest in KeyedHash(secret).digests(ids):
            stream = hashlib.shake_256(digest).digest(8 * self.n_bags)
            found = np.flatnonzero(np.frombuffer(stream, dtype="<u8") <= limit)[: self.most]
            rows.append(np.pad(found, (0, self.most - len(found)), constant_values=NO_BAG))
        return np.array(rows, dtype=np.int64).reshape(-1, self.most)


@dataclass(frozen=True, slots=True, repr=False)
class Bagged:
    """Private rows, and which of them are in which bag. Silent about both.

    Parameters
    ----------
    parts
        What a function of one bag is called with: features alone, or features and labels, row by row.
    ids
        The identity of every row's privacy unit.
    bags
        The rule that assigns identities to bags.
    by_content
        Whether a row's identity is its content: a row that is replaced then leaves its bags for others.
    """

    parts: tuple[PrivateRows, ...]
    ids: Identities
    bags: Bags
    by_content: bool = False
    _of_row: Integers = field(init=False)

    @classmethod
    def of(
        cls,
        *parts: Any,
        n_bags: int,
        occurrences: int = 1,
        share: float | None = None,
        groups: Any = None,
        key: ShardKey | None = None,
    ) -> Self:
        """Assign rows to bags.

        Parameters
        ----------
        occurrences
            s: in how many bags a unit is, at most.
        share
            Draws each bag as a subsample of this share of the units; None splits all of them s times.
        groups
            Whose each row is. Without groups a row is known by its content, and equal rows are one unit.
        key
            Of the hash that assigns units; a fresh one if None.
        """
        key = ShardKey.fresh() if key is None else key
        bags: Bags = (
            Partitions(key, n_bags, occurrences) if share is None else Subsamples(key, n_bags, share, occurrences)
        )
        if not parts:
            raise InvalidData("There are no rows to put into bags; give features, or features and labels.")
        rows = tuple(PrivateRows(part) for part in parts)
        if groups is None:
            return cls(rows, rows[0].contents(), bags, by_content=True)
        units = unit_names(groups)
        if units.null_count and all(len(part) == len(units) for part in rows):  # rows of nobody are left out
            named = np.flatnonzero(np.asarray(units.is_valid(), dtype=np.bool_)).astype(np.int64)
            units, rows = units.drop_null(), tuple(part.take(named) for part in rows)
        return cls(rows, unit_bytes(units), bags)

    def __post_init__(self) -> None:
        if any(len(part) != len(self.ids) for part in self.parts):
            raise InvalidData("Features, labels and ids differ in number; there must be one of each per row.")
        object.__setattr__(self, "_of_row", self.bags.of(self.ids))
        self.verify()

    def bag(self, k: int) -> tuple[Rows, ...]:
        """Return copies of the rows of one bag, in the order of the table, and of no other row."""
        where = np.flatnonzero((self._of_row == k).any(axis=1)).astype(np.int64)
        return tuple(part.take(where).open() for part in self.parts)

    def verify(self) -> None:
        """Check on identities that all rows of a unit are in the same bags, hence in at most s together."""
        order, same_unit = self.ids.grouped()
        own = np.sort(self._of_row, axis=1)[order.astype(np.int64)]
        if own.shape[1] != self.bags.most or (same_unit & (np.diff(own, axis=0) != 0).any(axis=1)).any():
            raise GuaranteeBroken(
                "The rows of one privacy unit would be in more bags than was declared, and the promise would be "
                "void. Nothing was released. Do not change a table or its ids after it was put into bags."
            )

    def __repr__(self) -> str:
        return f"Bagged({self.bags.n_bags} bags, private)"


def _own(key: ShardKey, purpose: str) -> ShardKey:
    return ShardKey(hmac.digest(key.secret, b"mapl bags, " + purpose.encode(), "sha256"))
