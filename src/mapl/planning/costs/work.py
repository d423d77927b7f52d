"""How long a run computes: a fixed part, and parts in proportion to rows, teachers and votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a run is; all of it is declared, and nothing counted.

    Parameters
    ----------
    columns
        How many numbers a row has.
    teachers
        0 where there are none.
    """

    rows: int
    columns: int
    n_classes: int
    questions: int
    teachers: int = 0


@dataclass(frozen=True, slots=True)
class CostLine:
    """Seconds by the number of something: a fixed part and one in proportion; neither is below zero."""

    fixed: float
    each: float

    @classmethod
    def through(cls, few: tuple[float, float], many: tuple[float, float]) -> Self:
        """Return the line through two measured points, few and many, as (number, seconds).

        Clocks of a busy machine may say that more takes less time. The slope is then that of the line from zero, so
        that more never costs less.

        Examples
        --------
        >>> CostLine.through((10, 3.0), (20, 5.0))
        CostLine(fixed=1.0, each=0.2)
        """
        slope = (many[1] - few[1]) / (many[0] - few[0])
        if slope <= 0:
            return cls(0.0, max(few[1], many[1]) / many[0])
        fixed = few[1] - slope * few[0]
        return cls(fixed, slope) if fixed >= 0 else cls(0.0, many[1] / many[0])

    def at(self, number: float) -> float:
        """Return the seconds of so many."""
        return self.fixed + self.each * number


@dataclass(frozen=True, slots=True)
class Work:
    """What one way of learning computes after the table was read, in seconds of one process.

    Parameters
    ----------
    fixed
        Whatever the size.
    per_row, per_teacher, per_vote
        For every private row, teacher, and answer of a teacher to a question.
    at_home
        Whether processes of this machine share it.
    afar
        Whether workers of a cluster share it; who does not stays with the driver.
    kept
        Bytes that this process keeps meanwhile, unless workers share it.
    """

    fixed: float
    per_row: float = 0.0
    per_teacher: float = 0.0
    per_vote: float = 0.0
    at_home: bool = False
    afar: bool = False
    kept: int = 0

    def in_proportion(self, sizes: Sizes) -> float:
        """Return the seconds that grow with the size, which workers divide."""
        votes = sizes.teachers * sizes.questions
        return self.per_row * sizes.rows + self.per_teacher * sizes.teachers + self.per_vote * votes
