"""What a student file says about privacy by itself: the promise of the statement that belongs to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from mapl.errors import InvalidData

LONGEST = 2000
"""What a word of the promise may have at most; more is no unit and no adjacency."""


@dataclass(frozen=True, slots=True)
class StatedPromise:
    """An epsilon with all that it means nothing without; as in the statement, a bound that held from the start.

    ``epsilon`` and ``delta`` are those of all runs together where the run went on from earlier ones; an infinite
    epsilon is the text "inf", as JSON has no such number.
    """

    epsilon: float | str
    delta: float | str
    adjacency: str
    unit: str
    private: bool

    @classmethod
    def of(cls, statement: str) -> Self | None:
        """Read it off the text of a statement, None where that holds no promise."""
        try:
            told = json.loads(statement)
        except ValueError:
            return None
        if not isinstance(told, dict) or not {"guaranteed_epsilon", *cls.__slots__} <= told.keys():
            return None
        together = told.get("together")
        bound = told | {"epsilon": told["guaranteed_epsilon"]}
        if isinstance(together, Mapping):
            bound |= {name: together[name] for name in ("epsilon", "delta")}
        return cls.of_record({name: bound.get(name) for name in cls.__slots__})

    @classmethod
    def of_record(cls, record: Any) -> Self | None:
        """Read it from a student file; older ones have none."""
        if record is None:
            return None
        known = {name: record[name] for name in cls.__slots__}
        amounts, words = [known[name] for name in ("epsilon", "delta")], [known["adjacency"], known["unit"]]
        sound = all(one == "inf" or (type(one) in (int, float) and one >= 0) for one in amounts)
        sound = sound and all(isinstance(one, str) and len(one) <= LONGEST for one in words)
        if not sound or not isinstance(known["private"], bool):
            raise InvalidData("The promise in the student file is none; it is damaged or forged. Do not use it.")
        return cls(**known)

    def to_record(self) -> dict[str, Any]:
        return asdict(self)
