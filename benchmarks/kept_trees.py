"""Kept trees that are asked together, beside the plain loop over the same teachers.

Part of `benchmarks/scale.py` (`--parts kept`). Both sides take turns and must count the same votes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.teachers import as_learner
from mapl.teachers.panel import ModelPanel
from mapl.teachers.panel.tree_panel import stack_trees

ROWS, COLUMNS = 500, 20
ASKED = 1, 16, 1000
"""Questions at once."""

KEPT_HEAD = (
    "| kept teachers, questions | one by one | together | faster |",
    f"Models with scikit-learn's own settings, kept of made-up shards of {ROWS} rows and {COLUMNS} columns, asked "
    "as a server asks them; both ways count the same votes, in turns (one thread, load 10 to 23, seconds of "
    "computing). More than 24 questions of histogram boosting, 64 of gradient boosting and forests and 256 of "
    "single trees are asked teacher by teacher. Asked together all the same, with 50 teachers of 1,000 rows "
    "(medians of 3), 32, 64 and 128 questions of histogram boosting were 1.7, 1.1 and 0.7 times as fast with two "
    "classes and 1.0, 0.7 and 0.4 with three, 64, 128 and 256 of gradient boosting 1.4, 0.8 and 0.6; 64 of forests "
    "(in a run of other blocks of the walk) 1.4, 128 and 256 of them 0.9 and 0.5.",
)
"""The head of the table in `results/scale.md`, and what is said below."""

KEPT: tuple[tuple[str, Any, int, tuple[int, ...]], ...] = (
    ("histogram boosting", HistGradientBoostingClassifier(), 2, (100, 250)),
    ("histogram boosting", HistGradientBoostingClassifier(), 3, (100,)),
    ("gradient boosting", GradientBoostingClassifier(), 2, (100, 250)),
    ("forest", RandomForestClassifier(), 2, (100,)),
    ("tree", DecisionTreeClassifier(), 2, (100, 250)),
)
"""Models, with settings as scikit-learn has them, classes, and how many teachers are kept."""


def measure_kept(
    repeats: int, asked: tuple[int, ...] = ASKED, kinds: Any = KEPT
) -> Iterator[tuple[str, float, float]]:
    """Yield what was asked how, and the seconds of computing of the loop and of all together."""
    for name, model, n_classes, sizes in kinds:
        fitted = teachers(model, n_classes, max(sizes))
        for n_teachers in sizes:
            plain = ModelPanel(fitted[:n_teachers], n_classes, alone=False)
            stacked = stack_trees(plain)
            assert stacked is not plain
            for n in asked:
                rows = np.random.default_rng(n).normal(size=(n, COLUMNS))
                assert (plain.votes(rows).counts == stacked.votes(rows).counts).all()
                turns = [(_seconds(plain, rows), _seconds(stacked, rows)) for _ in range(repeats)]
                loop, together = (median(times) for times in zip(*turns, strict=True))
                yield f"{name}, {n_classes} classes, {n_teachers} teachers, {n} at once", loop, together


def teachers(model: Any, n_classes: int, n_teachers: int) -> tuple[Callable[..., Any], ...]:
    """Train teachers on made-up shards."""
    learner = as_learner(model, Classes(tuple(map(str, range(n_classes)))))
    generator = np.random.default_rng(18)
    made = []
    for k in range(n_teachers):
        rows = generator.normal(size=(ROWS, COLUMNS))
        scores = rows[:, 0] + rows[:, 1] ** 2 + generator.normal(size=ROWS)
        labels = np.searchsorted([0.5, 2.0][: n_classes - 1], scores).astype(np.int32)
        made.append(learner.train(rows, labels, n_classes=n_classes, seed=k))
    return tuple(made)


def _seconds(panel: Any, rows: Any) -> float:
    began = time.process_time()
    panel.votes(rows)
    return time.process_time() - began
