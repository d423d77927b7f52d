"""Naive averaging: a random one of several models answers, each learned from records of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mapl.reproduce.single.cut_problem import MODEL_SIZES, CutProblem, model_curve
from mapl.types import Floats

STABLE, PADDED, NAIVE = "A^sta", "padded stumps", "naive averaging"
MOST_RECORDS = 1e11


@dataclass(frozen=True, slots=True)
class PredictionGoal:
    """What is promised of every answer if one record is replaced: a stability gamma or a pure epsilon."""

    letter: str
    value: float

    @property
    def private(self) -> bool:
        return self.letter == "epsilon"

    @property
    def stability(self) -> float:
        return math.tanh(self.value / 2) if self.private else self.value

    @property
    def methods(self) -> tuple[str, ...]:
        return (STABLE, PADDED, NAIVE) if self.private else (STABLE, NAIVE)

    def __str__(self) -> str:
        return f"{self.letter} {self.value:g}"


def naive_excess(problem: CutProblem, goal: PredictionGoal, n: float) -> float:
    """Return the excess error if a random one of k models on disjoint parts answers, flipped now and then.

    Stability takes k = 1/gamma models and no flips. For an epsilon the flip f has (1 - 2f)/k <= f (e^epsilon - 1),
    and the k that turns out best is taken, which favours this method.
    """
    if not goal.private:
        return float(excess_at(problem, np.array([n * goal.value]))[0])
    sizes = np.geomspace(MODEL_SIZES[0], min(n / 2, MODEL_SIZES[-1]), 60)
    flips = 1 / (n / sizes * math.expm1(goal.value) + 2)
    return float(problem.when_flipped(excess_at(problem, sizes), flips).min())


def excess_at(problem: CutProblem, sizes: Floats) -> Floats:
    """Return the mean excess of a model on so many records, between the measured sizes."""
    return np.exp(np.interp(np.log(sizes), np.log(MODEL_SIZES), np.log(model_curve(problem))))


def naive_records(problem: CutProblem, goal: PredictionGoal, excess: float) -> float | None:
    """Return at how many records naive averaging reaches an excess error; None where that was not measured."""
    most = MOST_RECORDS if goal.private else MODEL_SIZES[-1] / goal.value
    sizes = np.geomspace(10, most, 400)
    enough = np.array([naive_excess(problem, goal, n) <= excess for n in sizes])
    return float(sizes[enough.argmax()]) if enough.any() else None
