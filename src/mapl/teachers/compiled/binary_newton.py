"""Newton's method for two classes, as `together.binary_newton` has it, one shard after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.teachers.compiled.compiling import compile_lazily
from mapl.teachers.compiled.positive_system import factor, solve
from mapl.teachers.together.binary_newton import ARMIJO, FARTHEST, LAST_STEP, MOST_HALVES, MOST_STEPS, NEAREST


@compile_lazily
def fit_binary(rows: Any, targets: Any, weights: Any, penalty: Any) -> Any:
    """Minimise half the penalised squares plus the weighted loss of rows; return the weights, and who is done."""
    found = np.zeros((len(rows), rows.shape[2]))
    settled = np.zeros(len(rows), dtype=np.bool_)
    for k in range(len(rows)):
        settled[k] = _fit(rows[k], targets[k], weights[k], penalty, found[k])
    return found, settled


@compile_lazily
def _fit(rows: Any, targets: Any, weights: Any, penalty: Any, at: Any) -> bool:
    n, p = rows.shape
    across = rows.T.copy()
    short = np.empty((p, n), dtype=np.float32)
    bent = np.empty(n)
    scores, slopes, scores_there = np.zeros(n), np.empty(n), np.empty(n)
    loss = _loss(at, scores, targets, weights, penalty)
    for _ in range(MOST_STEPS):
        for i in range(n):
            small = np.exp(-abs(scores[i]))
            chance = (1.0 if scores[i] >= 0 else small) / (1.0 + small)
            slopes[i] = (chance - targets[i]) * weights[i]
            bent[i] = np.sqrt(small * weights[i]) / (1.0 + small)
        for j in range(p):
            for i in range(n):
                short[j, i] = across[j, i] * bent[i]
        curve = np.dot(short, short.T)
        slope = np.dot(across, slopes)
        for j in range(p):
            slope[j] += penalty[j] * at[j]
            curve[j, j] += np.float32(penalty[j])
        if not factor(curve):
            return False
        step = -slope
        solve(curve, step)
        steepness = np.dot(slope, step)
        if not np.isfinite(steepness):
            return False
        along = np.dot(rows, step)
        part, moved = _first_part(at, scores, step, along, targets, weights, penalty), False
        for _half in range(MOST_HALVES):
            for i in range(n):
                scores_there[i] = scores[i] + part * along[i]
            there = at + part * step
            loss_there = _loss(there, scores_there, targets, weights, penalty)
            moved = loss_there <= loss + ARMIJO * part * steepness + 1e-12 * abs(loss)
            if moved:
                break
            part /= 2
        if not moved:
            return False
        at[:] = there
        scores[:] = scores_there
        loss = loss_there
        if np.abs(step).max() <= LAST_STEP * max(1.0, np.abs(at).max()):
            return True
    return False


@compile_lazily
def _first_part(at: Any, scores: Any, step: Any, along: Any, targets: Any, weights: Any, penalty: Any) -> float:
    """Return where Newton's method on the line of a step leads from the step's end, as a part of the step."""
    slope = bend = 0.0
    for i in range(len(scores)):
        score = scores[i] + along[i]
        small = np.exp(-abs(score))
        chance = (1.0 if score >= 0 else small) / (1.0 + small)
        slope += weights[i] * (chance - targets[i]) * along[i]
        bend += weights[i] * chance * (1.0 - chance) * along[i] * along[i]
    for j in range(len(at)):
        slope += penalty[j] * step[j] * (at[j] + step[j])
        bend += penalty[j] * step[j] * step[j]
    return float(min(max(1.0 - slope / bend, NEAREST), FARTHEST)) if bend > 0 else 1.0


@compile_lazily
def _loss(at: Any, scores: Any, targets: Any, weights: Any, penalty: Any) -> float:
    total = 0.0
    for i in range(len(scores)):
        score = scores[i]
        total += weights[i] * (max(score, 0.0) - targets[i] * score + np.log1p(np.exp(-abs(score))))
    squares = 0.0
    for j in range(len(at)):
        squares += penalty[j] * at[j] * at[j]
    return total + squares / 2
