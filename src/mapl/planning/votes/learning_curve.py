"""How well one learner does on n rows: a few known points, and what may be expected between and beyond them."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

import numpy as np

from mapl.errors import InvalidParameter

EXAMPLE = "100:0.20,1000:0.16"
USUAL_EXPONENT = 0.5
"""How fast the excess error is assumed to fall where two points cannot tell exponent and floor apart."""
EXPONENTS = np.geomspace(0.25, 1.5, 41)
NEAREST = 4
"""So many points decide what lies beyond them; those far off follow another law."""
UNUSUAL = 1e-5
"""The squared misfit that an exponent of twice or half the usual one must save: points are never exact."""
NO_INFORMATION = 1e-12
LEAST_FALL = 0.001
"""A curve that falls by less, a tenth of a point, does not tell how much a learner lacks with few rows."""
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The error rate of one learner by the number of rows it learns from, against labels as they occur.

    Between two points it is straight in log n. Beyond them it follows ``floor + b n^-c`` through the last point (or
    the first), with floor and exponent fitted to the four points there: one point alone is taken to hold for every
    n, two points leave the exponent at 1/2 unless that would need a floor below 0. It is a rule for planning.

    Parameters
    ----------
    points
        Pairs of rows and error rate, fewest rows first.
    guessing
        The error of guessing, which the curve does not exceed (unless a point does).

    Examples
    --------
    >>> curve = LearningCurve.parse("100:0.20, 1000:0.16")
    >>> round(curve.error(300), 3), round(curve.error(100_000), 3)
    (0.181, 0.143)
    >>> str(curve)
    '100:0.2,1000:0.16'
    """

    points: tuple[tuple[float, float], ...]
    guessing: float = 0.5

    def __post_init__(self) -> None:
        points = tuple(sorted((float(n), float(rate)) for n, rate in self.points))
        object.__setattr__(self, "points", points)
        if not points:
            raise InvalidParameter(f"The learning curve has no points; give rows:error, for example {EXAMPLE}.")
        for n, rate in points:
            if not 1 <= n < math.inf:
                raise InvalidParameter(
                    f"The learning curve has a point at {n:g} rows; a learner needs at least 1. Write rows:error, "
                    f"for example {EXAMPLE}."
                )
            if not 0 <= rate <= 1:
                raise InvalidParameter(
                    f"The learning curve has the error rate {rate:g} at {n:g} rows; a rate lies in [0, 1]. Write "
                    f"0.2 for 20%, for example {EXAMPLE}."
                )
        for (n, rate), (more, next_rate) in pairwise(points):
            if more == n:
                raise InvalidParameter(
                    f"The learning curve has two points at {n:g} rows; give one error rate for each number of rows."
                )
            if next_rate > rate:
                raise InvalidParameter(
                    f"The error grows from {rate:g} at {n:g} rows to {next_rate:g} at {more:g}; planning needs a "
                    "curve that never grows. Average over several runs, or leave one of the two points out."
                )

    @classmethod
    def parse(cls, text: str, *, n_classes: int = 2) -> Self:
        """Read ``rows:error,rows:error,...``."""
        try:
            pairs = [(float(n), float(rate)) for n, rate in (part.split(":") for part in text.split(","))]
        except ValueError:
            raise InvalidParameter(
                f"The learning curve is {text[:200]!r}; write rows:error,rows:error, for example {EXAMPLE}."
            ) from None
        return cls(tuple(pairs), 1 - 1 / n_classes)

    @classmethod
    def read(cls, content: str, *, n_classes: int = 2) -> Self:
        """Read the content of a file: JSON such as {"100": 0.2, "1000": 0.16}, or CSV with rows,error."""
        content = content.removeprefix(BYTE_ORDER_MARK)
        try:
            pairs = _from_json(content) if content.lstrip()[:1] in ("{", "[") else _from_csv(content)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InvalidParameter(
                'The file is no learning curve; write JSON such as {"100": 0.20, "1000": 0.16}, or CSV whose '
                "columns are rows,error."
            ) from None
        return cls(tuple(pairs), 1 - 1 / n_classes)

    def __str__(self) -> str:
        return ",".join(f"{n:.12g}:{rate:.12g}" for n, rate in self.points)

    @property
    def floor(self) -> float:
        """The error that no number of rows gets below: of labels that are noisy, and of a learner too simple."""
        return _law(self.points)[0]

    @property
    def exponent(self) -> float:
        """How fast the error above the floor falls with the number of rows."""
        return _law(self.points)[1]

    @property
    def measured(self) -> tuple[float, float]:
        """The fewest and the most rows of a point; outside of them the curve is a guess."""
        return self.points[0][0], self.points[-1][0]

    @property
    def is_flat(self) -> bool:
        """Whether it has one size only, or hardly falls: then it says nothing about a student with few labels."""
        return self.points[0][1] - self.points[-1][1] < LEAST_FALL

    def error(self, n: float) -> float:
        """Return the error rate to expect of one learner that is trained on n rows."""
        rows = [math.log(size) for size, _ in self.points]
        rates = [rate for _, rate in self.points]
        ceiling = max(self.guessing, rates[0])
        if not n > 0:
            return ceiling
        at = math.log(n)
        if rows[0] <= at <= rows[-1]:
            return float(np.interp(at, rows, rates))
        near = 0 if at < rows[0] else -1
        floor, exponent = _law(self.points[:NEAREST] if near == 0 else self.points)
        excess = rates[near] - floor
        # Far below the first point the power overflows; it is past guessing long before.
        grown = excess * math.exp(min(exponent * (rows[near] - at), 700.0)) if excess > 0 else excess
        return min(max(floor + grown, 0.0), ceiling)


@lru_cache(maxsize=256)
def _law(points: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Return floor and exponent of the power law nearest to the last points; the floor is at most the last rate."""
    points = points[-NEAREST:]
    rates = np.array([rate for _, rate in points])
    if len(points) == 1 or rates[0] - rates[-1] < NO_INFORMATION:
        return float(rates[-1]), USUAL_EXPONENT
    scaled = np.log([n for n, _ in points]) - math.log(points[-1][0])
    exponents = [USUAL_EXPONENT] if len(points) == 2 else EXPONENTS
    fits = [_fitted(scaled, rates, float(exponent)) for exponent in exponents]
    if len(points) == 2 and fits[0][1] < 0:
        # Too steep for the usual exponent: the points lie on a line in log-log, whose floor is 0.
        return 0.0, min(float(np.log(rates[0] / max(rates[1], NO_INFORMATION)) / -scaled[0]), 10.0)
    misfits = [misfit for misfit, floor, _ in fits if floor >= 0]
    if not misfits:
        return 0.0, fits[-1][2]
    _, floor, exponent = fits[[m for m, _, _ in fits].index(min(misfits))]
    return min(floor, float(rates[-1])), exponent


def _fitted(scaled: Any, rates: Any, exponent: float) -> tuple[float, float, float]:
    """Return misfit, floor and exponent of the least-squares fit with that exponent."""
    unusual = UNUSUAL * math.log2(exponent / USUAL_EXPONENT) ** 2
    powers = np.exp(-exponent * scaled)
    centred = powers - powers.mean()
    b = max(float(centred @ rates / (centred @ centred)), 0.0)
    floor = float(rates.mean() - b * powers.mean())
    return float(np.square(rates - floor - b * powers).sum()) + unusual, floor, exponent


def _from_json(content: str) -> list[tuple[float, float]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a number of rows occurs twice")
        return dict(pairs)

    given = json.loads(content, object_pairs_hook=once)
    return [(float(n), _number(rate)) for n, rate in given.items()]


def _from_csv(content: str) -> list[tuple[float, float]]:
    lines = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(content)) if "".join(line).strip()]
    if lines and lines[0] == ["rows", "error"]:
        lines = lines[1:]
    return [(float(n), float(rate)) for n, rate in lines]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("an error rate is a number")
    return float(value)
