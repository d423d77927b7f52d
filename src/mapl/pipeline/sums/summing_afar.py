"""Adding up on the workers of a cluster: people go there as files, once for all rounds, and sums come back.

Sums are exact, so neither the parts nor who adds them up can be told from the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mapl.data.moments.contributions import Clip, Contribution, Crowd, ExactSums, sum_contributions
from mapl.engines.cluster import Cluster
from mapl.engines.files import map_files, write_down

ROWS_AT_ONCE = 1 << 17


@dataclass(slots=True, repr=False)
class CrowdAfar:
    """The people of a private table, and the files in which workers of a cluster find them."""

    crowd: Crowd
    cluster: Cluster
    folder: Path
    _files: list[Path] = field(default_factory=list)

    def add_up(self, contribution: Contribution, clip: Clip) -> ExactSums:
        """Return what all units add, as `sum_contributions` does."""
        width, depth = contribution.shape
        sums = ExactSums(width * depth + 1)
        files = self._files or self._write()
        for some in map_files(self.cluster, add_part, (contribution, clip), files, self.folder, keep=True):
            sums.merge(some)
        return sums

    def _write(self) -> Iterator[Path]:
        for part in self.crowd.parts(ROWS_AT_ONCE):
            self._files.append(write_down(self.folder, part))
            yield self._files[-1]

    def __repr__(self) -> str:
        return "CrowdAfar(private)"


def add_part(shared: tuple[Contribution, Clip], part: Crowd) -> ExactSums:
    """Add up what the units of a part add, on a worker."""
    return sum_contributions(part, *shared)
