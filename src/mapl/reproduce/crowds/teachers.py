"""Teachers in worlds with a known truth, all of them at once, and the votes to expect of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator
from scipy.special import expit, ndtri

from mapl.planning.votes.sample import VoteSample
from mapl.reproduce.worlds import HalfspaceWorld, ThresholdWorld
from mapl.types import Floats, Labels, Tallies

DEPTHS = np.concatenate([[0.0], np.geomspace(1e-7, 1.0, 57)])
"""A forecast needs to know the few rows near the boundary best, so kinds of questions are cut finely there."""
NEWTON_STEPS, PENALTY = 12, 1e-3


class VotingTeachers(Protocol):
    """Trained teachers."""

    def votes(self, X: Floats) -> Tallies:
        """Count the votes on each row."""
        ...


@dataclass(frozen=True, slots=True)
class Cuts:
    """Teachers of `ThresholdWorld`: each is a cut, and they are sorted."""

    cuts: Floats

    @classmethod
    def taught(cls, world: ThresholdWorld, n: int, n_teachers: int, rng: Generator) -> Cuts:
        """Give every teacher its own n/K rows; each takes the cut that `ThresholdWorld.erm` would."""
        rows = n // n_teachers
        X, y = world.sample(rows * n_teachers, rng)
        return cls(np.sort(best_cuts(X.reshape(n_teachers, rows), y.reshape(n_teachers, rows))))

    def votes(self, X: Floats) -> Tallies:
        ones = np.searchsorted(self.cuts, X[:, 0], side="right")
        return Tallies(np.column_stack([len(self.cuts) - ones, ones]))


def best_cuts(x: Floats, y: Labels) -> Floats:
    """Return `ThresholdWorld.erm` of each line of rows."""
    order = np.argsort(x, axis=1)
    x, y = np.take_along_axis(x, order, axis=1), np.take_along_axis(y, order, axis=1)
    errors = np.pad(np.cumsum(2 * y - 1, axis=1, dtype=np.int32), ((0, 0), (1, 0)))
    ends = np.pad(x, ((0, 0), (1, 1)), constant_values=((0.0, 0.0), (0.0, 1.0)))
    best = errors.argmin(axis=1)
    teachers = np.arange(len(x))
    return np.asarray((ends[teachers, best] + ends[teachers, best + 1]) / 2)


@dataclass(frozen=True, slots=True)
class Planes:
    """Teachers of `HalfspaceWorld`: weights and an offset each."""

    weights: Floats

    @classmethod
    def taught(cls, world: HalfspaceWorld, n: int, n_teachers: int, rng: Generator) -> Planes:
        """Give every teacher its own n/K rows and fit logistic regressions side by side, by Newton's method.

        With hardly any penalty a logistic regression goes for a separating plane, if there is one.
        """
        rows = n // n_teachers
        X, y = world.sample(rows * n_teachers, rng)
        signs = np.where(y == 1, 1.0, -1.0).reshape(n_teachers, rows)
        F = np.append(X, np.ones((len(X), 1)), axis=1).reshape(n_teachers, rows, -1) * signs[:, :, None]
        w = np.zeros((n_teachers, F.shape[2], 1))
        ridge = PENALTY * np.eye(F.shape[2])
        for _ in range(NEWTON_STEPS):
            wrong = expit(-(F @ w))
            hessian = F.transpose(0, 2, 1) @ (F * (wrong * (1 - wrong))) + ridge
            step = np.linalg.solve(hessian, F.transpose(0, 2, 1) @ wrong - PENALTY * w)
            w += step
            if np.abs(step).max() < 1e-3 * np.abs(w).max():
                break
        return cls(w[:, :, 0])

    def votes(self, X: Floats) -> Tallies:
        ones = np.zeros(len(X), dtype=np.int64)
        for part in np.array_split(self.weights, max(1, len(self.weights) * len(X) // 10**7)):
            ones += np.count_nonzero(X @ part[:, :-1].T + part[:, -1] > 0, axis=1)
        return Tallies(np.column_stack([len(self.weights) - ones, ones]))


VotedWorld = ThresholdWorld | HalfspaceWorld


def teach(world: VotedWorld, n: int, n_teachers: int, rng: Generator) -> VotingTeachers:
    """Train K teachers on n/K rows each."""
    if isinstance(world, ThresholdWorld):
        return Cuts.taught(world, n, n_teachers, rng)
    return Planes.taught(world, n, n_teachers, rng)


def rehearse(world: VotedWorld, crowd: VotingTeachers, rng: Generator) -> VoteSample:
    """Sum up what a crowd says at all depths, each with the share of rows that lie there.

    The crowd is another draw than the one that a run asks: a planner that knows the world may rehearse, and may not
    look at the votes.
    """
    sides = np.array([0, 1] if isinstance(world, ThresholdWorld) else [0, 1] * 32)
    depth = np.repeat(DEPTHS[:-1] + np.diff(DEPTHS) * 0.5, len(sides))
    side = np.tile(sides, len(DEPTHS) - 1)
    shares = np.repeat(np.diff(DEPTHS), len(sides))
    if isinstance(world, ThresholdWorld):
        width = np.where(side == 1, 1 - world.cut, world.cut)
        X = (world.cut + np.where(side == 1, 1, -1) * depth * width)[:, None]
        shares = shares * width
    else:
        X = rng.standard_normal((len(depth), world.n_columns))
        X[:, 0] = np.where(side == 1, 1, -1) * ndtri((1 + depth) / 2)
        shares = shares / len(sides)
    votes = crowd.votes(X)
    right = np.asarray(votes.values == world.bayes(X), dtype=float)
    return VoteSample(
        tuple((int(zeros), int(ones)) for zeros, ones in votes.counts),
        tuple(map(float, shares / shares.sum())),
        tuple((float(r), float(1 - r)) for r in right),
    )
