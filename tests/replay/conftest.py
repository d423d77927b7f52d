"""A replay: a case on one side of a pair of neighbours, and the other side, each in the same emptied folder."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from cases import Case, carry_out
from frozen import freeze
from neighbours import BASES, Neighbour, Private
from pinned import DAY, pin
from side import watched

Seen = dict[str, bytes]


class Replays:
    """Runs cases, and keeps what was seen of base tables, which many neighbours share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bases: dict[tuple[str, ...], tuple[Seen, Counter[str]]] = {}

    def one(
        self, case: Case, private: Private, suffix: str, *, later: float = 0.0, frozen: bool = True
    ) -> tuple[Seen, Counter[str]]:
        """Return everything that is seen of a case on one table, and which places were passed how often."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.syspath_prepend(self.folder)
            # Of both sides the first imports a learner of one's own, and would leave its bytecode.
            patch.setattr(sys, "dont_write_bytecode", True)
            patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
            pin(patch, later=later)
            passed = freeze(patch) if frozen else Counter()
            with watched(self.folder, patch) as side:
                carry_out(case, side, private, suffix)
        return side.seen, passed

    def base(self, case: Case, name: str) -> tuple[Seen, Counter[str]]:
        """Return what is seen of a case on a base table."""
        if (case.name, name) not in self._bases:
            suffix, table = BASES[name]
            self._bases[case.name, name] = self.one(case, table(), suffix)
        return self._bases[case.name, name]

    def both(self, case: Case, neighbour: Neighbour) -> tuple[Seen, Seen]:
        """Return what is seen of a neighbour's base and of the neighbour, a day later."""
        other, _ = self.one(case, neighbour.table(), neighbour.suffix, later=DAY)
        return self.base(case, neighbour.base)[0], other


@pytest.fixture(scope="session")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Replays:
    return Replays(tmp_path_factory.mktemp("replay"))
