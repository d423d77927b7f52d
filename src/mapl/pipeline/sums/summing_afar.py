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
from mapl.types import Silent

ROWS_AT_ONCE = 1 << 17


@dataclass(slots=True, repr=False)
class CrowdAfar(Silent):
    """The workers of a cluster that add up, and the files in which they find people.

    Parameters
    ----------
    keep
        Whether the same people add to every round, so that files are written once.
    """

    cluster: Cluster
    folder: Path
    keep: bool = True
    _files: list[Path] = field(default_factory=list)

    def add_up(self, crowd: Crowd, contribution: Contribution, clip: Clip) -> ExactSums:
        """Return what all units add, as `sum_contributions` does."""
        width, depth = contribution.shape
        sums = ExactSums(width * depth + 1)
        files = self._files or self._write(crowd)
        for some in map_files(self.cluster, add_part, (contribution, clip), files, self.folder, keep=self.keep):
            sums.merge(some)
        return sums

    def _write(self, crowd: Crowd) -> Iterator[Path]:
        for part in crowd.parts(ROWS_AT_ONCE):
            path = write_down(self.folder, part)
            self._files += [path] if self.keep else []
            yield path


def add_part(shared: tuple[Contribution, Clip], part: Crowd) -> ExactSums:
    """Add up what the units of a part add, on a worker."""
    return sum_contributions(part, *shared)
