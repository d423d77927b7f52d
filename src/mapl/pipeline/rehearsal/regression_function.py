"""An estimate of r(x), the chance that a label is 1, from PUBLIC labelled rows, and how far it is off."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.teachers import preset
from mapl.types import Floats, Labels

CANDIDATES = ("logistic", "hgb")
MOST_ROWS = 20_000
SURE = 1e-6
"""Chances are kept this far from 0 and 1, so that one sure error does not decide between models."""


@dataclass(frozen=True, slots=True)
class RegressionFunction:
    """Estimates of r at some rows.

    Parameters
    ----------
    learner
        The named learner whose estimates had the smaller log loss on these rows.
    resolution
        Half of the typical difference between estimates made from two halves of the rows: the luck of the draw,
        not what the model cannot express.
    """

    estimates: Floats
    learner: str
    resolution: float


def regression_function(
    rows: Rows,
    labels: Labels,
    questions: Rows,
    truth: Labels,
    *,
    schema: Schema,
    encoder: Encoder | None,
    seed: int = 0,
) -> RegressionFunction:
    """Estimate r at the questions with models of two halves of the rows, by the better of two kinds of model.

    Parameters
    ----------
    truth
        The labels of the questions, by which the kind of model is chosen.
    """
    order = np.random.default_rng(seed).permutation(n_rows(rows))[:MOST_ROWS]
    halves = [np.sort(half) for half in np.array_split(order, 2)]
    found = []
    for name in CANDIDATES:
        if not preset(name).sparse and any(column.kind == "text" for column in schema.columns):
            continue
        first, second = (
            _chances(name, take(rows, half), labels[half], questions, schema, encoder) for half in halves
        )
        estimates = (first + second) / 2
        apart = float(np.sqrt(np.mean((first - second) ** 2)))
        found.append((_log_loss(estimates, truth), RegressionFunction(estimates, name, apart / 2)))
    return min(found, key=lambda one: one[0])[1]


def _chances(
    name: str, rows: Rows, labels: Labels, questions: Rows, schema: Schema, encoder: Encoder | None
) -> Floats:
    if len(np.unique(labels)) < 2:
        return np.full(n_rows(questions), float(labels[0]))
    model = preset(name).build(schema, encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that has not converged is good enough to be compared
        chances = model.fit(rows, labels).predict_proba(questions)
    return np.asarray(chances[:, 1], dtype=np.float64)


def _log_loss(estimates: Floats, truth: Labels) -> float:
    right = np.where(truth == 1, estimates, 1 - estimates)
    return float(-np.mean(np.log(np.clip(right, SURE, 1.0))))
