"""Newton's method for two classes: each shard takes its own steps, and leaves the stack when it is done.

Curvature is computed in 32 bits: it says which way to go, and slopes in 64 bits say when the end is reached.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from mapl.types import Flags, Floats

MOST_STEPS, MOST_HALVES = 40, 30
LAST_STEP = 1e-4
"""The last step, as a part of the weights; the error that it leaves is of the order of its square."""
ARMIJO = 1e-4
NEAREST, FARTHEST = 0.1, 10.0
"""Of a step, what part of it may be tried first."""
MOST_IDLE = 0.5
"""Shards that are over stay in the stack, without effect, until they are this part of it: taking out is copying."""


def fit_binary(rows: Floats, targets: Floats, weights: Floats, penalty: Floats) -> tuple[Floats, Flags]:
    """Minimise half the penalised squares plus the weighted loss of all rows; return the weights, and who is done.

    Parameters
    ----------
    targets
        1 for the second class and 0 for the first.
    penalty
        1 for a column whose weight is penalised, 0 for the constant.
    """
    found = np.zeros((len(rows), rows.shape[2]))
    settled = np.zeros(len(rows), dtype=np.bool_)
    active, idle = np.arange(len(rows)), np.zeros(len(rows), dtype=np.bool_)
    at, scores, short = found.copy(), np.zeros(targets.shape), rows.astype(np.float32)
    loss = _loss(at, scores, targets, weights, penalty)
    for _ in range(MOST_STEPS):
        step, slope, fine = _newton_step(rows, short, at, scores, targets, weights, penalty)
        at, scores, loss, moved = _descend(rows, at, scores, loss, step, slope, targets, weights, penalty)
        size = np.maximum(1.0, np.abs(at).max(axis=1))
        done = fine & moved & (np.abs(step).max(axis=1) <= LAST_STEP * size) & ~idle
        found[active[done]], settled[active[done]] = at[done], True
        idle |= done | ~fine | ~moved
        if idle.all():
            break
        if idle.mean() >= MOST_IDLE:
            kept = ~idle
            active, idle, rows, short = active[kept], idle[kept], rows[kept], short[kept]
            targets, weights = targets[kept], weights[kept]
            at, scores, loss = at[kept], scores[kept], loss[kept]
    return found, settled


def _newton_step(
    rows: Floats,
    short: NDArray[np.float32],
    at: Floats,
    scores: Floats,
    targets: Floats,
    weights: Floats,
    penalty: Floats,
) -> tuple[Floats, Floats, Flags]:
    """Return a step for every shard, how steep the way is along it, and whether there is one at all."""
    small = np.exp(-np.abs(scores))
    chance = np.where(scores >= 0, 1.0, small) / (1.0 + small)
    slope = ((chance - targets) * weights)[:, None, :] @ rows
    slope = slope[:, 0, :] + penalty * at
    root = short * (np.sqrt(small * weights) / (1.0 + small)).astype(np.float32)[:, :, None]
    curve = root.transpose(0, 2, 1) @ root
    curve[:, np.arange(len(penalty)), np.arange(len(penalty))] += penalty.astype(np.float32)
    step, fine = np.zeros_like(at), np.zeros(len(at), dtype=np.bool_)
    for k, one in enumerate(curve):
        _, solution, failed = lapack.sposv(one.T, slope[k], lower=1, overwrite_a=1)
        if not failed:
            step[k], fine[k] = -solution, True
    steepness = _dot(slope, step)
    return step, steepness, fine & np.isfinite(steepness)


def _descend(
    rows: Floats,
    at: Floats,
    scores: Floats,
    loss: Floats,
    step: Floats,
    slope: Floats,
    targets: Floats,
    weights: Floats,
    penalty: Floats,
) -> tuple[Floats, Floats, Floats, Flags]:
    """Walk along the steps, half as far wherever that does not lead down; return also who got on."""
    along = (rows @ step[:, :, None])[:, :, 0]
    part = _first_part(at, scores, step, along, targets, weights, penalty)
    moved = np.zeros(len(at), dtype=np.bool_)
    for _ in range(MOST_HALVES):
        there, scores_there = at + part[:, None] * step, scores + part[:, None] * along
        loss_there = _loss(there, scores_there, targets, weights, penalty)
        # Near the end the loss no longer tells: a step within its rounding is one down.
        moved = loss_there <= loss + ARMIJO * part * slope + 1e-12 * np.abs(loss)
        if moved.all():
            break
        part = np.where(moved, part, part / 2)
    return there, scores_there, loss_there, moved


def _first_part(
    at: Floats, scores: Floats, step: Floats, along: Floats, targets: Floats, weights: Floats, penalty: Floats
) -> Floats:
    """Return how far each shard goes first: where Newton's method on the line of its step leads from its end.

    Steps end too early where classes are all but apart. A look along the line costs less than the curvature of one
    more step.
    """
    scores_there, held = scores + along, step * penalty
    small = np.exp(-np.abs(scores_there))
    chance = np.where(scores_there >= 0, 1.0, small) / (1.0 + small)
    slope = _dot((chance - targets) * weights, along) + _dot(held, at + step)
    bend = _dot(chance * (1.0 - chance) * weights * along, along) + _dot(held, step)
    return np.clip(1.0 - slope / np.where(bend > 0, bend, np.inf), NEAREST, FARTHEST)


def _loss(at: Floats, scores: Floats, targets: Floats, weights: Floats, penalty: Floats) -> Floats:
    each = np.maximum(scores, 0.0) - targets * scores + np.log1p(np.exp(-np.abs(scores)))
    return _dot(weights, each) + _dot(at * penalty, at) / 2


def _dot(one: Floats, other: Floats) -> Floats:
    """Return the scalar product of two vectors of every shard."""
    return np.asarray((one[:, None, :] @ other[:, :, None])[:, 0, 0])
