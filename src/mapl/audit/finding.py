"""What an audit found, next to what was claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from mapl.types import ADJACENCY, UNIT


class Verdict(StrEnum):
    """How what was found compares with what was claimed."""

    within = "within the claim"
    """No adversary exceeds the claim: an upper bound says so."""
    not_exceeded = "no violation found"
    """No adversary that was tried exceeds the claim; no upper bound below it is known to the audit."""
    violated = "violated"
    """An explicit adversary exceeds the claim, or a certificate fails."""
    claims_nothing = "claims nothing"


@dataclass(frozen=True, slots=True)
class Finding:
    """The claim of a mechanism and the best adversary against it.

    `found_delta_lower` is reached by an explicit adversary at the claimed epsilon; `found_delta_upper` bounds all
    adversaries with up to `questions` questions, and is None where the audit knows no such bound. The Renyi
    figures are for the order at which the claim is tightest, or exceeded most.
    """

    mechanism: str
    epsilon: float
    delta: float
    found_delta_lower: float
    found_delta_upper: float | None
    renyi_order: float | None
    renyi_claimed: float | None
    renyi_found: float | None
    certified: bool | None
    verdict: Verdict
    questions: int
    details: Mapping[str, Any] = field(default_factory=dict)
    adjacency: str = ADJACENCY
    unit: str = UNIT

    @property
    def violated(self) -> bool:
        return self.verdict is Verdict.violated

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, for JSON."""
        return {**asdict(self), "verdict": self.verdict.value, "details": dict(self.details)}
