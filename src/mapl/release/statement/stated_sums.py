"""How sums were released, as the statement of a run tells it: for its report and its model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mapl.errors import InvalidData
from mapl.release.moment_sums import MomentSums


@dataclass(frozen=True, slots=True)
class StatedSums:
    """Rounds, sizes and noise of the sums of a run. All of it is public.

    Parameters
    ----------
    rounds, features
        How often sums of features were released, and of how many features.
    words
        How many hashed words a round before these was about; 0 where there is no text.
    products
        Whether a round before these was about the products of features, as there were no public rows.
    entries
        How many numbers were released in all.
    changes
        How many contributions a changed unit moves a sum by.
    noise, first_noise
        The standard deviation of the noise of a number, of other rounds and of the first one, where the longest
        contribution of a unit is 1.
    """

    rounds: int
    features: int
    words: int
    products: bool
    entries: int
    changes: int
    noise: float
    first_noise: float
    apart: bool = False
    """Whether every unit added to one round only."""

    @classmethod
    def of(cls, statement: Mapping[str, Any]) -> Self | None:
        """Read how sums were released; None for a run of another kind."""
        if statement.get("mechanism") != MomentSums.name:
            return None
        try:
            told = statement["parameters"]
            entries, reaches = (
                [int(one) for one in str(told[name]).split(",")] for name in ("entries of rounds", "reaches")
            )
            n_classes, deviation = int(statement["classes"]), float(told["noise deviation"])
            first = str(told["first round"])
            return cls(
                rounds=len(entries) - (first != "features"),
                features=(entries[-1] - 1) // n_classes,
                words=(entries[0] - 1) // (n_classes + 1) if first == "words" else 0,
                products=first == "products",
                entries=sum(entries),
                changes=int(told["changes"]),
                noise=deviation / reaches[-1],
                first_noise=deviation / reaches[0],
                apart="rounds of a unit" in told,
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise InvalidData(
                "The statement does not say how sums were released; give a statement.json that mapl wrote."
            ) from None

    @property
    def in_words(self) -> str:
        """Say in a few words what was released."""
        before = f"one round of {self.words:,} hashed words, then " if self.words else ""
        before = "one round of products of features, then " if self.products else before
        behind = ", each about other units" if self.apart else ""
        return f"{before}{self.rounds} rounds of {self.features:,} features{behind}"
