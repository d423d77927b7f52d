"""A private linear model of sufficient statistics, in the manner of AdaSSP (Wang 2018); our own code.

Guarantee: (epsilon, 1e-5), one row added or removed. Rows are cut to norm 1 after a public scaling, labels are one
unit vector per class. Released are the smallest eigenvalue of X'X, X'X and X'Y, each of sensitivity 1, with normal
noise of one scale: together one Gaussian mechanism of sensitivity sqrt(3), priced exactly. Noise is drawn in
floating point from a seeded generator: for measuring only.
"""

from __future__ import annotations

import json
import math
import sys

import numpy as np
from dp_accounting import get_sigma_gaussian
from numpy.typing import NDArray

DELTA = 1e-5
UNLIKELY = 0.05
"""How likely the ridge is too small for the noise, as in the paper."""


def measure(split_npz: str, epsilon: float, seed: int) -> float:
    """Train on the private rows of a split and return the accuracy on its evaluation rows."""
    split = np.load(split_npz)
    n_classes = int(max(split["y_private"].max(), split["y_eval"].max())) + 1  # known to all, for each data set
    # Longer private rows are shortened to this norm; the public rows say what is common.
    norm = float(np.median(np.linalg.norm(with_constant(split["X_public"]), axis=1)))
    X, X_eval = (short(with_constant(split[name]), norm) for name in ("X_private", "X_eval"))
    Y = np.eye(n_classes)[split["y_private"]]
    weights = fitted(X, Y, epsilon, np.random.default_rng(seed))
    return float(((X_eval @ weights).argmax(axis=1) == split["y_eval"]).mean())


def with_constant(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give rows a column that is always 1."""
    return np.column_stack([rows, np.ones(len(rows))])


def short(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Cut rows to a norm, which becomes 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), norm)


def fitted(
    X: NDArray[np.float64], Y: NDArray[np.float64], epsilon: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Release the three statistics, and solve with as little ridge as the noise allows."""
    sigma = math.sqrt(3) * get_sigma_gaussian(epsilon, DELTA)
    n_columns = X.shape[1]
    noise = np.triu(rng.normal(scale=sigma, size=(n_columns, n_columns)))
    squares = X.T @ X + noise + np.triu(noise, 1).T
    products = X.T @ Y + rng.normal(scale=sigma, size=(n_columns, Y.shape[1]))
    smallest = np.linalg.eigvalsh(X.T @ X)[0] + sigma * (rng.normal() - math.sqrt(2 * math.log(6 / DELTA)))
    wanted = sigma * math.sqrt(n_columns * math.log(2 * n_columns**2 / UNLIKELY))
    ridge = max(0.0, wanted - max(smallest, 0.0))
    return np.linalg.solve(squares + ridge * np.eye(n_columns), products)


if __name__ == "__main__":
    print(json.dumps({"accuracy": measure(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))}))
