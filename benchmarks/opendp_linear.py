"""A linear model of sums with noise of OpenDP's own measurement; runs in the environment that baseline.py makes.

Guarantee: (epsilon, 1e-5), one row added or removed, by OpenDP: its Gaussian measurement of a vector, whose privacy
map OpenDP turns from zCDP to approximate DP; the scale is what its search finds for the budget. OpenDP has no
classifier of its own, so what is measured is ours: rows cut to norm 1 after a public scaling, X'X (its upper half)
and X'Y as one vector of sensitivity sqrt(2), and a ridge by the noise. As AdaSSP, but without its third release.
The noise is OpenDP's, from the system's generator, so that a seed does not repeat it.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

DELTA = 1e-5
RIDGE = 1.0
"""Of the largest eigenvalue that the noise is likely to have; the best of four on evaluation rows of a split
without figures, for all tables and budgets: a generous choice."""


def measurement(scale: float) -> tuple[Any, Any]:
    """Return a Gaussian measurement of vectors, and the same with a privacy map in epsilon and delta."""
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    noisy = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale)
    return noisy, dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), DELTA)


def measure(split_npz: str, epsilon: float) -> float:
    """Train on the private rows of a split and return the accuracy on its evaluation rows."""
    split = np.load(split_npz)
    n_classes = int(max(split["y_private"].max(), split["y_eval"].max())) + 1  # known to all, for each data set
    norm = float(np.median(np.linalg.norm(with_constant(split["X_public"]), axis=1)))
    X, X_eval = (short(with_constant(split[name]), norm) for name in ("X_private", "X_eval"))
    Y = np.eye(n_classes)[split["y_private"]]
    scale = dp.binary_search_param(
        lambda s: measurement(s)[1], d_in=math.sqrt(2), d_out=(epsilon, DELTA), T=float, bounds=(0.1, 1e4)
    )
    upper = np.triu_indices(X.shape[1])
    sums = np.concatenate([(X.T @ X)[upper], (X.T @ Y).ravel()])
    told = np.array(measurement(scale)[0](sums.tolist()))
    squares = np.zeros((X.shape[1], X.shape[1]))
    squares[upper] = told[: len(upper[0])]
    squares = squares + np.triu(squares, 1).T
    ridge = RIDGE * 2 * scale * math.sqrt(X.shape[1])
    products = told[len(upper[0]) :].reshape(X.shape[1], n_classes)
    weights = np.linalg.solve(squares + ridge * np.eye(X.shape[1]), products)
    return float(((X_eval @ weights).argmax(axis=1) == split["y_eval"]).mean())


def with_constant(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give rows a column that is always 1."""
    return np.column_stack([rows, np.ones(len(rows))]).astype(np.float64)


def short(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Cut rows to a norm, which becomes 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), norm)


if __name__ == "__main__":
    dp.enable_features("contrib")
    print(json.dumps({"accuracy": measure(sys.argv[1], float(sys.argv[2]))}))
