"""Newton's method for more than two classes, with conjugate gradients for its steps.

Curvature at zero weights is known in closed form, one matrix for all classes. Steps are looked for where that is
the unit matrix: with R R' = X' W X / C + P and turned rows Z = W^1/2 X R'^-1, the curvature where row i finds class
c with chance p_ic is Z' (diag(p) - p p' - 1 / C) Z + 1, which takes two products with Z.
Steps are computed in 32 bits: they say which way to go, and slopes in 64 bits say when the end is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mapl.teachers.together.family import transpose
from mapl.types import Flags, Floats, Singles

MOST_STEPS, MOST_INNER, MOST_HALVES = 60, 60, 30
LAST_SLOPE = 1e-5
"""Where the slope is this small, so is the distance to the solution: the penalty curves at least by 1."""
ARMIJO = 1e-4
FIRST_PART = 0.25
"""How exact the first steps are; later ones are the more exact the smaller the slope."""
MOST_IDLE = 0.5
"""Shards that are done stay in the stack, without effect, until they are this part of it: taking out is copying."""


@dataclass(slots=True, repr=False)
class _State:
    """Shards on their way. Private."""

    rows: Floats
    turned: Singles
    turn: Singles
    targets: Floats
    weights: Floats
    at: Floats
    scores: Floats
    loss: Floats
    chance: Floats

    def only(self, kept: Flags) -> _State:
        return _State(*(getattr(self, name)[kept] for name in self.__slots__))


def fit_multinomial(rows: Floats, targets: Floats, weights: Floats, penalty: Floats) -> tuple[Floats, Flags]:
    """Minimise half the penalised squares plus the weighted loss of all rows; return the weights, and who is done.

    Parameters
    ----------
    targets
        Shards x rows x classes, 1 at the class of each row.
    """
    found = np.zeros((len(rows), rows.shape[2], targets.shape[2]))
    settled = np.zeros(len(rows), dtype=np.bool_)
    turn, fine = _turn(rows, weights, penalty, targets.shape[2])
    active = np.flatnonzero(fine)
    scores = np.zeros_like(targets)
    loss, chance = _loss(found, scores, targets, weights, penalty)
    turned = (rows * np.sqrt(weights)[:, :, None]).astype(np.float32) @ turn.transpose(0, 2, 1)
    state = _State(rows, turned, turn, targets, weights, found.copy(), scores, loss, chance).only(fine)
    for _ in range(MOST_STEPS):
        if not len(active):  # all shards of a stack may be of a kind that is left to workers
            break
        slope = transpose(state.rows) @ ((state.chance - state.targets) * state.weights[:, :, None])
        slope += penalty[:, None] * state.at
        size = np.sqrt(_dot(slope, slope))
        done = size <= LAST_SLOPE
        found[active[done]], settled[active[done]] = state.at[done], True
        kept = ~done & np.isfinite(size)
        if not kept.all():
            active, state, slope, size = active[kept], state.only(kept), slope[kept], size[kept]
            if not len(active):
                break
        step = _step(state, slope, size)
        moved = _descend(state, step, _dot(slope, step), penalty)
        if not moved.all():
            active, state = active[moved], state.only(moved)
    return found, settled


def _turn(rows: Floats, weights: Floats, penalty: Floats, n_classes: int) -> tuple[Singles, Flags]:
    """Return for each shard the inverse of R, and whether there is one."""
    root = rows * np.sqrt(weights / n_classes)[:, :, None]
    curve = transpose(root) @ root
    places = np.arange(len(penalty))
    curve[:, places, places] += penalty
    turn, fine = np.zeros(curve.shape, dtype=np.float32), np.zeros(len(rows), dtype=np.bool_)
    for k, one in enumerate(curve):
        factor, failed = lapack.dpotrf(one.T, lower=1, clean=1)
        if not failed:
            turn[k], failed = lapack.dtrtri(factor, lower=1)
            fine[k] = not failed
    return turn, fine


def _step(state: _State, slope: Floats, size: Floats) -> Floats:
    """Solve for Newton's step roughly, and better the nearer the end is: each shard by its own measure."""
    step = np.zeros(slope.shape, dtype=np.float32)
    todo, idle = np.arange(len(slope)), np.zeros(len(slope), dtype=np.bool_)
    rows, chance = state.turned, state.chance.astype(np.float32)
    ones = np.ones((chance.shape[2], 1), dtype=np.float32)
    beyond = chance - np.float32(1 / chance.shape[2])
    left = state.turn @ (slope / -size[:, None, None]).astype(np.float32)
    way, at, strength = left.copy(), np.zeros_like(left), _dot(left, left)
    enough = np.minimum(FIRST_PART**2, size).astype(np.float32) * strength
    for _ in range(MOST_INNER):
        across = rows @ way
        mean = (across * chance) @ ones
        across *= beyond
        across -= chance * mean
        bent = rows.transpose(0, 2, 1) @ across
        bent += way
        part = (strength / _dot(way, bent))[:, None, None]
        at += part * way
        bent *= part
        left -= bent
        stronger = _dot(left, left)
        over = ~(stronger > enough) & ~idle
        if over.any():
            step[todo[over]] = at[over]
            idle |= over
            if idle.all():
                break
            if idle.mean() >= MOST_IDLE:
                kept = ~idle
                todo, idle, rows, chance, beyond = todo[kept], idle[kept], rows[kept], chance[kept], beyond[kept]
                at, left, way, enough = at[kept], left[kept], way[kept], enough[kept]
                strength, stronger = strength[kept], stronger[kept]
        way *= (stronger / strength)[:, None, None]
        way += left
        strength = stronger
    else:
        step[todo[~idle]] = at[~idle]
    return (state.turn.transpose(0, 2, 1) @ step) * size[:, None, None]


def _descend(state: _State, step: Floats, slope: Floats, penalty: Floats) -> Flags:
    """Walk along the steps, half as far wherever that does not lead down; return who got on."""
    along = state.rows @ step
    part = np.ones(len(step))
    for _ in range(MOST_HALVES):
        at, scores = state.at + part[:, None, None] * step, state.scores + part[:, None, None] * along
        loss, chance = _loss(at, scores, state.targets, state.weights, penalty)
        moved = loss <= state.loss + ARMIJO * part * slope + 1e-12 * np.abs(state.loss)
        if moved.all():
            break
        part = np.where(moved, part, part / 2)
    state.at, state.scores, state.loss, state.chance = at, scores, loss, chance
    return np.asarray(moved)


def _loss(at: Floats, scores: Floats, targets: Floats, weights: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Return what is minimised, and how probable each row finds each class."""
    highest = scores.max(axis=2, keepdims=True)
    ones = np.ones((scores.shape[2], 1))
    chance = np.exp(scores - highest)
    sums = chance @ ones
    each = np.log(sums) + highest - (targets * scores) @ ones
    chance /= sums
    return (weights[:, None, :] @ each)[:, 0, 0] + _dot(at, penalty[:, None] * at) / 2, chance


def _dot(one: Any, other: Any) -> Any:
    """Return the scalar product of the numbers of every shard."""
    n = len(one)
    return np.asarray((one.reshape(n, 1, -1) @ other.reshape(n, -1, 1))[:, 0, 0])
