"""The optimal adaptive adversary against a mechanism without a secret, by dynamic programming.

Before every question the adversary knows the likelihood ratio x of all that was published, and how many
abstentions, answers and questions are left. The most it can still gain at epsilon is V(x), with

    V(x) = (x - e^epsilon)_+  at the end,     V(x) = max over pairs of  P(impossible) x + sum_o q_o V_o(x p_o/q_o)

before a question. V is convex and grows with slope at most one. On a grid of ln x, chords over-estimate a convex
function, so `upper_delta` is an upper bound. Playing the same choices forward on cells of transcripts, with
the exact probabilities of each cell under P and Q, is a post-processing, so `lower_delta` is a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mapl.audit.votes.histograms import Pairs
from mapl.audit.votes.limits import RunEnds
from mapl.types import Floats

STEEPEST = 30.0
"""Outcomes with a larger log-ratio are granted to the adversary entirely."""
AT_ONCE = 512


@dataclass(frozen=True)
class Game:
    """What the adversary plays: the pairs it may ask, what ends the run, how many questions it asks."""

    pairs: Pairs
    abstentions: int | None
    answers: int | None
    questions: int

    @classmethod
    def of(cls, pairs: Pairs, limits: RunEnds, questions: int) -> Game:
        """Leave out limits that cannot bind."""
        questions = min(questions, limits.questions or questions)
        abstentions, answers = limits.abstentions, limits.answers
        if answers is not None and not pairs.abstains.any():
            questions = min(questions, answers)
        return cls(
            pairs,
            None if abstentions is None or abstentions > questions else abstentions,
            None if answers is None or answers >= questions else answers,
            questions,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Sizes of the tables over (abstentions left, answers left); a limit that is none takes one row."""
        return (1 if self.abstentions is None else self.abstentions + 1), (
            1 if self.answers is None else self.answers + 1
        )

    def live(self) -> list[tuple[int, int]]:
        """Return the states in which a question may still be asked."""
        t, s = self.shape
        return [(i, j) for i in range(self.abstentions is not None, t) for j in range(self.answers is not None, s)]

    def after(self, state: tuple[int, int], *, abstained: bool) -> tuple[int, int]:
        """Return the state after an abstention or an answer; index zero of a limit means halted."""
        i, j = state
        if abstained:
            return (i - (self.abstentions is not None), j)
        return (i, j - (self.answers is not None))

    @property
    def start(self) -> tuple[int, int]:
        return self.shape[0] - 1, self.shape[1] - 1


@dataclass(frozen=True)
class LossGrid:
    """Evenly spaced log-ratios with epsilon among them, padded so that shifted tables are plain windows."""

    epsilon: float
    step: float
    below: int
    above: int

    @classmethod
    def around(cls, epsilon: float, questions: int) -> LossGrid:
        """Lay a grid fine enough for this many questions: each adds at most a quarter step squared of variance."""
        scale = max(epsilon, 0.02)
        step = scale / max(100.0, 12 * math.sqrt(questions))
        return cls(epsilon, step, math.ceil(5 * scale / step), math.ceil(3 * scale / step))

    @cached_property
    def losses(self) -> Floats:
        return np.asarray(self.epsilon + self.step * np.arange(-self.below, self.above + 1), dtype=np.float64)

    @cached_property
    def ratios(self) -> Floats:
        return np.asarray(np.exp(self.losses))

    @cached_property
    def padding(self) -> int:
        return math.ceil(STEEPEST / self.step) + 2

    def __len__(self) -> int:
        return self.below + self.above + 1

    def ends(self) -> Floats:
        """Return V when nothing is left to ask."""
        return np.maximum(self.ratios - math.exp(self.epsilon), 0.0)

    def windows(self, value: Floats) -> Floats:
        """Return all shifts of a table, extended by upper bounds: a chord to V(0) = 0, and a slope of one."""
        steps = self.step * np.arange(1, self.padding + 1)
        low = value[0] * np.exp(-steps[::-1])
        high = value[-1] + self.ratios[-1] * np.expm1(steps)
        return sliding_window_view(np.concatenate([low, value, high]), len(self))

    def split(self, log_ratio: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the window below each shift and the weight of the next one, which preserves the mean of x."""
        steps = np.clip(log_ratio, -STEEPEST, STEEPEST) / self.step
        whole = np.floor(steps).astype(np.int64)
        weight = np.expm1((steps - whole) * self.step) / math.expm1(self.step)
        return whole + self.padding, weight

    def cells(self, losses: Floats) -> NDArray[np.int64]:
        """Return the nearest point of each log-ratio."""
        nearest = np.rint((losses - self.losses[0]) / self.step).astype(np.int64)
        return np.asarray(nearest.clip(0, len(self) - 1))

    def at(self, value: Floats, loss: float) -> float:
        """Return an upper bound of V at one log-ratio."""
        start, weight = self.split(np.array([loss - self.losses[0]]))
        padded = self.windows(value)[:, 0]
        return float((1 - weight[0]) * padded[start[0]] + weight[0] * padded[start[0] + 1])


class Backup:
    """One question: the best pair for every ratio, given what the ratio is worth after each outcome."""

    def __init__(self, grid: LossGrid, pairs: Pairs) -> None:
        self.grid, self._abstains = grid, pairs.abstains
        log_ratio = pairs.log_ratios()
        certain = log_ratio > STEEPEST
        self._start, self._weight = grid.split(log_ratio)
        self._q = np.where(certain, 0.0, pairs.q)
        self._given = pairs.impossible + np.where(certain, pairs.p, 0.0).sum(axis=1)

    def best(self, answered: Floats, abstained: Floats) -> tuple[Floats, NDArray[np.int32]]:
        """Return the largest value over the pairs and which pair has it."""
        grid = self.grid
        windows = {kind: grid.windows(v) for kind, v in ((False, answered), (True, abstained))}
        best, choice = np.full(len(grid), -1.0), np.zeros(len(grid), dtype=np.int32)
        for first in range(0, len(self._q), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            total = self._given[rows, None] * grid.ratios
            for o, abstains in enumerate(self._abstains):
                window, start, weight = windows[bool(abstains)], self._start[rows, o], self._weight[rows, o]
                total += (self._q[rows, o] * (1 - weight))[:, None] * window[start]
                total += (self._q[rows, o] * weight)[:, None] * window[start + 1]
            winner = total.argmax(axis=0)
            value = total[winner, np.arange(len(grid))]
            better = value > best
            best, choice = np.where(better, value, best), np.where(better, winner + first, choice).astype(np.int32)
        return best, choice


Policy = list[dict[tuple[int, int], NDArray[np.int32]]]
"""The pair to ask with k + 1 questions left, by state and grid cell; -1 asks nothing more."""


def upper_delta(game: Game, epsilon: float) -> tuple[float, Policy]:
    """Return an upper bound on delta at epsilon of every adaptive adversary, and the choices that led to it."""
    grid = LossGrid.around(epsilon, game.questions)
    backup = Backup(grid, game.pairs)
    value = np.tile(grid.ends(), (*game.shape, 1))
    policy: Policy = []
    for _ in range(game.questions):
        before, choices = value.copy(), {}
        for state in game.live():
            best, choice = backup.best(
                value[game.after(state, abstained=False)], value[game.after(state, abstained=True)]
            )
            worse = best <= value[state]
            before[state] = np.where(worse, value[state], best)
            choices[state] = np.where(worse, np.int32(-1), choice)
        value = before
        policy.append(choices)
    return min(1.0, grid.at(value[game.start], 0.0)), policy


def lower_delta(game: Game, epsilon: float, policy: Policy | None = None) -> float:
    """Return delta at epsilon that playing a policy certainly reaches; without one, the first pair for ever."""
    grid, pairs = LossGrid.around(epsilon, game.questions), game.pairs
    p, q = np.zeros((2, *game.shape, len(grid)))
    p[game.start][grid.cells(np.zeros(1))], q[game.start][grid.cells(np.zeros(1))] = 1.0, 1.0
    gained = 0.0
    for left in range(game.questions - 1, -1, -1):
        next_p, next_q = p.copy(), q.copy()
        for state in game.live():
            next_p[state], next_q[state] = 0.0, 0.0
        for state in game.live():
            cells = np.flatnonzero(p[state] > 0)
            chosen = np.zeros(len(cells), dtype=np.int32) if policy is None else policy[left][state][cells]
            rests, cells, chosen = cells[chosen < 0], cells[chosen >= 0], chosen[chosen >= 0]
            next_p[state][rests] += p[state][rests]
            next_q[state][rests] += q[state][rests]
            mass_p, mass_q = p[state][cells], q[state][cells]
            gained += float(mass_p @ pairs.impossible[chosen])
            for o, abstains in enumerate(pairs.abstains):
                to = game.after(state, abstained=bool(abstains))
                new_p, new_q = mass_p * pairs.p[chosen, o], mass_q * pairs.q[chosen, o]
                kept = (new_p > 0) & (new_q > 0)
                where = grid.cells(np.log(new_p[kept]) - np.log(new_q[kept]))
                np.add.at(next_p[to], where, new_p[kept])
                np.add.at(next_q[to], where, new_q[kept])
        p, q = next_p, next_q
    return gained + float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
