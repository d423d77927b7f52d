"""Private nearest neighbours (Zhu, Yu, Chandraker and Wang 2020), without its screening; our own code.

Guarantee: (epsilon, 1e-5), one row added or removed. For every question a Poisson sample of the private rows is
drawn anew, its K nearest rows vote, and the winner after normal noise is released. One row more in a sample puts at
most one other out of the K, so votes have sensitivity sqrt(2); sampled Gaussians are composed by dp-accounting's
privacy loss distributions. A logistic regression learns from the released labels. Noise is drawn in floating point
from a seeded generator: for measuring only.
"""

from __future__ import annotations

import json
import math
import sys

import numpy as np
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent, calibrate_dp_mechanism
from dp_accounting.pld import PLDAccountant
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

DELTA = 1e-5
QUESTIONS, SHARE, NEIGHBOURS, STRENGTH = 1000, 0.2, 300, 1.0
"""For all tables and budgets, the best of twenty on evaluation rows of a split without figures: a generous one."""


def measure(split_npz: str, epsilon: float, seed: int) -> float:
    """Release labels of public rows, train on them, and return the accuracy on evaluation rows."""
    split = np.load(split_npz)
    n_classes = int(max(split["y_private"].max(), split["y_eval"].max())) + 1  # known to all, for each data set
    rng = np.random.default_rng(seed)
    questions = split["X_public"][rng.permutation(len(split["X_public"]))[:QUESTIONS]]
    votes = neighbour_votes(split["X_private"], split["y_private"], questions, n_classes, rng)
    sigma = math.sqrt(2) * noise_multiplier(epsilon, len(questions))
    labels = (votes + rng.normal(scale=sigma, size=votes.shape)).argmax(axis=1)
    if len(np.unique(labels)) == 1:
        return float((split["y_eval"] == labels[0]).mean())
    student = LogisticRegression(C=STRENGTH, max_iter=1000).fit(questions, labels)
    return float((student.predict(split["X_eval"]) == split["y_eval"]).mean())


def noise_multiplier(epsilon: float, n_questions: int) -> float:
    """Return the noise per sensitivity with which so many answers cost epsilon."""
    return float(
        calibrate_dp_mechanism(
            lambda: PLDAccountant(value_discretization_interval=1e-3),
            lambda sigma: SelfComposedDpEvent(PoissonSampledDpEvent(SHARE, GaussianDpEvent(sigma)), n_questions),
            epsilon,
            DELTA,
            tol=1e-2,
        )
    )


def neighbour_votes(
    rows: NDArray[np.float64],
    labels: NDArray[np.int64],
    questions: NDArray[np.float64],
    n_classes: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Count the labels of each question's nearest rows among a sample of its own."""
    votes = np.zeros((len(questions), n_classes))
    squares = (rows**2).sum(axis=1)
    for own, question in zip(votes, questions, strict=True):
        sample = np.flatnonzero(rng.random(len(rows)) < SHARE)
        away = squares[sample] - 2 * (rows[sample] @ question)
        nearest = sample[np.argpartition(away, NEIGHBOURS)[:NEIGHBOURS]] if len(sample) > NEIGHBOURS else sample
        own += np.bincount(labels[nearest], minlength=n_classes)
    return votes


if __name__ == "__main__":
    print(json.dumps({"accuracy": measure(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))}))
