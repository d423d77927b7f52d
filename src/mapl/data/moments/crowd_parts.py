"""People in as many parts as there are rounds: everybody adds to one round, by a keyed coin of their own.

Rounds are then about different people, so that somebody is paid for once, and records are read and encoded in one
round only. Proof: docs/proofs/moments.md, section 8.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.moments.contributions import Crowd
from mapl.data.tables.table import PrivateTable
from mapl.data.units.keyed_hash import KeyedHash
from mapl.data.units.shards import ShardKey, unit_bytes
from mapl.errors import GuaranteeBroken
from mapl.types import Silent

PURPOSE = b"mapl rounds of sums"


@dataclass(frozen=True, repr=False, eq=False)
class CrowdParts(Silent):
    """The people of a private table, and to which round each of their records belongs."""

    crowd: Crowd
    rounds: NDArray[np.uint8]

    @classmethod
    def of(cls, table: PrivateTable, crowd: Crowd, key: ShardKey, n_rounds: int) -> Self:
        """Let every unit's coin fall: by its id, or where there are none by what the record says of features.

        Labels have no part in it. Where they alone are private, a changed one must not move a record; elsewhere,
        records that differ in their labels only should be seen side by side.
        """
        own = hmac.digest(key.secret, PURPOSE, "sha256")
        rounds = np.empty(len(table.labels), dtype=np.uint8)
        if table.unit_ids is not None:
            rounds[:] = KeyedHash(own).remainders(unit_bytes(table.unit_ids), n_rounds)
        else:
            start = 0
            for coins in table.rows.coins(own):
                rounds[start : start + len(coins)] = coins % np.uint64(n_rounds)
                start += len(coins)
        return cls(crowd, rounds)

    def __post_init__(self) -> None:
        """Check by whom records are, and not by the hash that parted them, that nobody is in two rounds."""
        for places in self.crowd.several:
            if (self.rounds[places] != self.rounds[places[:, :1]]).any():
                raise GuaranteeBroken(
                    "The records of one privacy unit would be in two rounds of sums, so it would be paid for twice "
                    "and the promise would be void. Nothing was released. Do not change a table or its ids while "
                    "it is used."
                )

    def part(self, number: int) -> Crowd:
        """Return the people of one round, in the order of the table."""
        mine = self.rounds == number
        alone = (
            np.flatnonzero(mine) if self.crowd.alone is None else np.sort(self.crowd.alone[mine[self.crowd.alone]])
        )
        several = tuple(places[mine[places[:, 0]]] for places in self.crowd.several)
        return replace(self.crowd, alone=alone, several=several)
