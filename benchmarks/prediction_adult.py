"""Single private answers about Adult: how often an answer is right."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import numpy as np

from mapl.noise import ONE, SeededCoins
from mapl.prediction.hypotheses import Stumps
from mapl.prediction.predictors.padded_stumps import PaddedStumps
from mapl.prediction.predictors.stable_settings import for_epsilon
from mapl.reproduce.single.cut_problem import Rules, draw_rules
from mapl.types import Floats, Labels, RecordAdjacency

SEEDS = range(5)
SUBSETS = 3
"""A^sta draws a subset for every question; the mean over so many stands for them."""
ADJACENCY: RecordAdjacency = "replace-one"
STORED = Path(__file__).parent / "results" / "learn.json"


def adult() -> list[str]:
    """Return the chance of a right answer at epsilon 1 per question, next to what needs no question."""
    try:
        splits = [datasets.load("adult", seed) for seed in SEEDS]
    except datasets.DataAbsent as absent:
        return [str(absent)]
    found: dict[str, list[float]] = {}
    for seed, split in zip(SEEDS, splits, strict=True):
        data = datasets.matrices(split)
        for method, accuracy in accuracies(data, seed).items():
            found.setdefault(method, []).append(100 * accuracy)
    found["DP-SGD logistic regression, epsilon 1 and delta 1e-5 for the model"] = stored()
    return [
        "Adult, 32,561 private records, stumps over the 107 columns that mapl makes of public rows without labels; "
        "accuracy in % on the other half of the test rows, mean ± standard deviation over 5 splits of them, by the "
        f"exact chance of a right answer (of A^sta: given {SUBSETS} subsets).",
        "",
        "| method | accuracy |",
        "|---|---|",
        *(f"| {method} | {np.mean(part):.2f} ± {np.std(part, ddof=1):.1f} |" for method, part in found.items()),
        "",
        "Epsilon means different things here: that of padded stumps and A^sta is for *each* question (delta 0, one "
        "record replaced) and adds up over questions; that of DP-SGD (from benchmarks/results/learn.md, one record "
        "added or removed) is for the model and all questions together. What limits the single answers is the "
        "class, not privacy: no stump is better than the best one.",
    ]


def accuracies(data: datasets.Matrices, seed: int) -> dict[str, float]:
    X, y = np.asarray(data.X_private, dtype=np.float64), data.y_private.astype(np.int32)
    asked, truth = np.asarray(data.X_eval, dtype=np.float64), data.y_eval
    hypotheses, coins = Stumps(X.shape[1]), SeededCoins(seed)
    settings = for_epsilon(len(X), 1.0, hypotheses, adjacency=ADJACENCY)
    chance = np.zeros(len(asked))
    for _ in range(SUBSETS):
        chance += chance_of_one(*draw_rules(hypotheses, settings, X, y, coins), asked) / SUBSETS
    flip = settings.flip / ONE
    padded = PaddedStumps.fit(X, y, epsilon=1.0, adjacency=ADJACENCY).numerators(asked) / ONE
    return {
        "majority, the commonest class, no privacy": float(np.mean(truth == np.bincount(y).argmax())),
        "best stump, no privacy": right(best_stump(X, y, asked), truth),
        "padded stumps, epsilon 1 per question": right(padded, truth),
        "A^sta and flips, epsilon 1 per question": right((1 - 2 * flip) * chance + flip, truth),
    }


def right(chance: Floats, truth: np.ndarray) -> float:
    return float(np.mean(np.where(truth == 1, chance, 1 - chance)))


def chance_of_one(rules: Rules, weights: Floats, asked: Floats) -> Floats:
    """Return the chance that a rule drawn by these weights says 1, for every row."""
    feature, value, above = rules
    total = np.zeros(len(asked))
    for column in np.unique(feature):
        for upward in (True, False):
            mine = np.flatnonzero((feature == column) & (above == upward))
            mine = mine[np.argsort(value[mine])]
            sums = np.append(0.0, np.cumsum(weights[mine]))
            reached = sums[np.searchsorted(value[mine], asked[:, column], side="right")]
            total += reached if upward else sums[-1] - reached
    return total


def best_stump(X: Floats, y: Labels, asked: Floats) -> Floats:
    patterns = Stumps(X.shape[1]).patterns(X)
    errors = patterns.errors(X, y)
    best = patterns.representative(int(np.argmin(errors.counts)))
    return best.predict(asked).astype(np.float64)


def stored() -> list[float]:
    """Return the stored accuracies of DP-SGD."""
    rows = json.loads(STORED.read_text())["rows"]
    return [r["accuracy"] for r in rows if (r["data"], r["method"], r["epsilon"]) == ("adult", "dp-sgd", 1.0)]
