"""A claim of a paper: what it says, what is measured, and demands on the numbers from which the verdict follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mapl.report.plots.log_lines import LogPicture
from mapl.reproduce.effort import ReproductionEffort


class Ruling(StrEnum):
    """What the numbers say about a claim."""

    holds = "holds"
    corrected = "holds corrected"
    fails = "does not hold"
    skipped = "skipped"


@dataclass(frozen=True, slots=True)
class Demand:
    """A figure has to lie between two bounds; a figure that is no number does not.

    Examples
    --------
    >>> str(Demand("slope", least=-1.2, most=-0.8)), Demand("slope", most=-0.8).is_met({"slope": -0.5})
    ('“slope” lies between -1.2 and -0.8', False)
    """

    figure: str
    least: float = -math.inf
    most: float = math.inf

    def is_met(self, figures: Mapping[str, float]) -> bool:
        return self.least <= figures[self.figure] <= self.most

    def __str__(self) -> str:
        if self.least == self.most:
            return f"“{self.figure}” is {self.least:g}"
        if math.isinf(self.least):
            return f"“{self.figure}” is at most {self.most:g}"
        if math.isinf(self.most):
            return f"“{self.figure}” is at least {self.least:g}"
        return f"“{self.figure}” lies between {self.least:g} and {self.most:g}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Figures by name, with what is worth knowing about how they came about, and a picture of them."""

    figures: Mapping[str, float]
    picture: LogPicture | None = None
    notes: tuple[str, ...] = ()


class Absent(Exception):
    """What a claim is measured on is not there; the words say what it is and how to give it."""


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """One claim of a paper.

    Parameters
    ----------
    place
        Where it stands in the paper.
    says
        The claim in our words, as printed.
    check
        A command or code beside `command` that looks at the same in another way; empty where there is none.
    printed
        Demands on the figures that have to be met if the claim holds as printed.
    correction
        What is true instead, or what has to be added; empty where nothing was found to correct.
    corrected
        Demands that have to be met if the corrected claim holds.
    given
        Which folders it is measured on, by the names of their options.
    """

    name: str
    place: str
    says: str
    measure: Callable[[ReproductionEffort], Evidence]
    printed: tuple[Demand, ...]
    check: str = ""
    correction: str = ""
    corrected: tuple[Demand, ...] = field(default=())
    given: tuple[str, ...] = field(default=())

    def rule(self, figures: Mapping[str, float]) -> Ruling:
        """Return the verdict, which depends on the figures alone."""
        if all(demand.is_met(figures) for demand in self.printed):
            return Ruling.holds
        if self.corrected and all(demand.is_met(figures) for demand in self.corrected):
            return Ruling.corrected
        return Ruling.fails

    def command(self, paper: str, effort: ReproductionEffort) -> str:
        """Return the command that gives these very figures, at this effort."""
        words = ["mapl reproduce", paper, "--claim", self.name, *(["--quick"] if effort.quick else [])]
        return " ".join([*words, *(f"--{folder} DIR" for folder in self.given)])

    @property
    def criterion(self) -> str:
        """The demands in words."""
        words = f"{Ruling.holds} if " + ", and ".join(map(str, self.printed))
        if self.corrected:
            words += f"; otherwise {Ruling.corrected} if " + ", and ".join(map(str, self.corrected))
        return words
