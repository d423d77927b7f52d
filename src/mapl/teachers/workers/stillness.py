"""Telling workers that wait for something from workers that wait for their turn on a busy machine.

A teacher that computes for too long votes for the fallback: its own computing decides about that, and nothing else.
How long one waits by the clock may be somebody else's doing, so no vote depends on it: where a teacher only waits,
the run stops.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mapl.errors import MaplError
from mapl.parameters import spell

SECONDS_BETWEEN_LOOKS = 1.0
FEWEST_LOOKS = 8
ASLEEP = frozenset("SIZX")
"""States of a thread that has nothing to compute. One that gets no turn is in R, one that reads a disk in D."""

IDLE = 0.02
"""Who uses less than this part of a processor only wakes up to look around."""

PROCESSES = Path("/proc")


class Standstill(MaplError):
    """Some teacher waits for something without computing, so the run would never end."""

    def __init__(self, seconds: float) -> None:
        waited = max(seconds, FEWEST_LOOKS * SECONDS_BETWEEN_LOOKS)
        self.words = f"it waited for {waited:g} seconds without computing"
        super().__init__(
            f"The run stops before it spends on these votes: a teacher is not done, but {self.words}. It may wait "
            "for ever, for a lock or the network, say, and its own shard does not decide for how long: that is no "
            "vote. The votes of other teachers are kept where the run has a folder. Give the same command again "
            "when what it waits for is there, or with a higher time limit, or without one "
            f"({spell('time_limit', 'none')}) to wait for as long as it takes. Do not publish that the run stopped."
        )


@dataclass(slots=True)
class StillnessWatch:
    """Looks at processes and all they started, and raises `Standstill` once all have slept for a number of looks.

    Looks are counted, not seconds: where this process gets no turn either, it only becomes more patient. Where
    there are no files to look in, as on macOS, it waits for ever.

    Parameters
    ----------
    patience
        Seconds without any computing after which to stop; None for never.
    """

    patience: float | None
    _still: int = field(default=0, init=False)
    _computed: float = field(default=-1.0, init=False)

    @property
    def interval(self) -> float | None:
        """How long to wait before the next look; None for as long as it takes."""
        return None if self.patience is None or not PROCESSES.is_dir() else SECONDS_BETWEEN_LOOKS

    def look(self, workers: Iterable[int]) -> None:
        """Look once."""
        if self.patience is None:
            return
        asleep, computed = state_of(_family(set(workers)))
        idle = abs(computed - self._computed) <= IDLE * SECONDS_BETWEEN_LOOKS
        self._still = self._still + 1 if asleep and idle else 0
        self._computed = computed
        if self._still >= max(FEWEST_LOOKS, self.patience / SECONDS_BETWEEN_LOOKS):
            raise Standstill(self.patience)


def state_of(processes: Collection[int]) -> tuple[bool, float]:
    """Return whether every thread of some processes sleeps, and the seconds that they have computed so far."""
    asleep, ticks = bool(processes), 0
    for pid in processes:
        try:
            threads = [_fields(task / "stat")[0] for task in (PROCESSES / str(pid) / "task").iterdir()]
            own = _fields(PROCESSES / str(pid) / "stat")
        except (OSError, IndexError):
            asleep = False  # it has just ended, so something happens
            continue
        asleep = asleep and ASLEEP.issuperset(threads)
        ticks += sum(map(int, own[11:15]))  # its own time and that of children it has seen end
    return asleep, ticks / os.sysconf("SC_CLK_TCK")


def _family(known: set[int]) -> set[int]:
    """Return some processes with all that descend from them or are in a group that one of them leads."""
    parents: dict[int, tuple[int, int]] = {}
    for entry in PROCESSES.iterdir():
        if entry.name.isdigit():
            try:
                found = _fields(entry / "stat")
                parents[int(entry.name)] = (int(found[1]), int(found[2]))
            except (OSError, IndexError):
                continue
    family, before = set(known), -1
    while len(family) != before:
        before = len(family)
        family |= {pid for pid, kin in parents.items() if not family.isdisjoint(kin)}
    return family


def _fields(path: Path) -> list[str]:
    """Return the fields of a stat file after the name, which may hold anything: state, parent, group, ..."""
    return path.read_text(errors="replace").rpartition(")")[2].split()
