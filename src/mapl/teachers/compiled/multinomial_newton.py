"""Newton's method for more than two classes, as `together.multinomial_newton` has it, one shard after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.teachers.compiled.compiling import compile_lazily
from mapl.teachers.compiled.positive_system import factor, invert_lower
from mapl.teachers.together.multinomial_newton import (
    ARMIJO,
    FIRST_PART,
    LAST_SLOPE,
    MOST_HALVES,
    MOST_INNER,
    MOST_STEPS,
)


@compile_lazily
def fit_multinomial(rows: Any, targets: Any, weights: Any, penalty: Any) -> Any:
    """Minimise half the penalised squares plus the weighted loss of rows; return the weights, and who is done."""
    found = np.zeros((len(rows), rows.shape[2], targets.shape[2]))
    settled = np.zeros(len(rows), dtype=np.bool_)
    for k in range(len(rows)):
        settled[k] = _fit(rows[k], targets[k], weights[k], penalty, found[k])
    return found, settled


@compile_lazily
def _fit(rows: Any, targets: Any, weights: Any, penalty: Any, at: Any) -> bool:
    n, n_classes = targets.shape
    across = rows.T.copy()
    root = across * np.sqrt(weights / n_classes)
    curve = np.dot(root, root.T) + np.diag(penalty)
    if not factor(curve):
        return False
    turn = invert_lower(curve).astype(np.float32)
    turned_across = np.dot(turn, (across * np.sqrt(weights)).astype(np.float32))
    turned = turned_across.T.copy()
    scores, chance, chance_there = np.zeros((n, n_classes)), np.empty((n, n_classes)), np.empty((n, n_classes))
    apart = np.empty((n, n_classes))
    loss = _loss(at, scores, targets, weights, penalty, chance)
    for _ in range(MOST_STEPS):
        for i in range(n):
            for c in range(n_classes):
                apart[i, c] = (chance[i, c] - targets[i, c]) * weights[i]
        slope = np.dot(across, apart)
        for j in range(len(penalty)):
            slope[j] += penalty[j] * at[j]
        size = np.sqrt((slope * slope).sum())
        if size <= LAST_SLOPE:
            return True
        if not np.isfinite(size):
            return False
        step = _step(turned, turned_across, turn, chance.astype(np.float32), slope, size)
        steepness = (slope * step).sum()
        along = np.dot(rows, step)
        part, moved = 1.0, False
        for _half in range(MOST_HALVES):
            there = at + part * step
            scores_there = scores + part * along
            loss_there = _loss(there, scores_there, targets, weights, penalty, chance_there)
            moved = loss_there <= loss + ARMIJO * part * steepness + 1e-12 * abs(loss)
            if moved:
                break
            part /= 2
        if not moved:
            return False
        at[:] = there
        scores, loss = scores_there, loss_there
        chance, chance_there = chance_there, chance
    return False


@compile_lazily
def _step(rows: Any, across: Any, turn: Any, chance: Any, slope: Any, size: float) -> Any:
    """Solve for Newton's step roughly, by conjugate gradients, and better the nearer the end is."""
    n, n_classes = chance.shape
    left = np.dot(turn, (slope / -size).astype(np.float32))
    p = len(left)
    way, at, bent = left.copy(), np.zeros_like(left), np.empty_like(left)
    spread = np.empty((n, n_classes), dtype=np.float32)
    even = np.float32(1 / n_classes)
    strength = (left * left).sum()
    enough = np.float32(min(FIRST_PART * FIRST_PART, size)) * strength
    for _ in range(MOST_INNER):
        np.dot(rows, way, spread)
        for i in range(n):
            mean = np.float32(0.0)
            for c in range(n_classes):
                mean += spread[i, c] * chance[i, c]
            for c in range(n_classes):
                spread[i, c] = spread[i, c] * (chance[i, c] - even) - chance[i, c] * mean
        np.dot(across, spread, bent)
        bend = np.float32(0.0)
        for j in range(p):
            for c in range(n_classes):
                bent[j, c] += way[j, c]
                bend += way[j, c] * bent[j, c]
        part = strength / bend
        stronger = np.float32(0.0)
        for j in range(p):
            for c in range(n_classes):
                at[j, c] += part * way[j, c]
                left[j, c] -= part * bent[j, c]
                stronger += left[j, c] * left[j, c]
        if not stronger > enough:
            break
        again = stronger / strength
        for j in range(p):
            for c in range(n_classes):
                way[j, c] = left[j, c] + again * way[j, c]
        strength = stronger
    return np.dot(turn.T, at) * size


@compile_lazily
def _loss(at: Any, scores: Any, targets: Any, weights: Any, penalty: Any, chance: Any) -> float:
    """Return what is minimised, and write down how probable each row finds each class."""
    n, n_classes = scores.shape
    total = 0.0
    for i in range(n):
        highest = scores[i].max()
        whole, own = 0.0, 0.0
        for c in range(n_classes):
            chance[i, c] = np.exp(scores[i, c] - highest)
            whole += chance[i, c]
            own += targets[i, c] * scores[i, c]
        total += weights[i] * (np.log(whole) + highest - own)
        for c in range(n_classes):
            chance[i, c] /= whole
    squares = 0.0
    for j in range(len(penalty)):
        for c in range(n_classes):
            squares += penalty[j] * at[j, c] * at[j, c]
    return total + squares / 2
