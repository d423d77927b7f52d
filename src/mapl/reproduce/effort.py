"""How much work a reproduction may take, and where data lie that are no part of mapl."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReproductionEffort:
    """Small sizes or large ones, and the folders of real votes and of real tables, where there are any."""

    quick: bool = True
    votes: Path | None = None
    data: Path | None = None

    def choose(self, quick: T, long: T) -> T:
        """Return the setting that fits."""
        return quick if self.quick else long
