"""PATE (Papernot and others 2018) as a peer: teachers, noisy max, a student; priced by the votes and sanitised.

Guarantee: (epsilon, 1e-5), one row added or removed changes one teacher and so any of its votes. The price is the
smaller of two: whatever the votes are, and by the votes with the noise that makes it public (sanitised_pate.py; its
mean and one standard deviation have to fit into epsilon). How many teachers, how much noise and how many questions
is what gives the best student on evaluation rows among all settings that fit, which nobody could do in private: a
generous choice. Our own code: teachers are ridge classifiers, the student is a logistic regression. Noise is drawn
in floating point from a seeded generator: for measuring only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sanitised_pate import price
from sklearn.linear_model import LogisticRegression, RidgeClassifier

TEACHERS = (100, 250, 500)
NOISES = (0.04, 0.08, 0.16, 0.32, 0.64)
"""Scales of the noise, as shares of the number of teachers."""
QUESTIONS = (30, 100, 300, 1000, 3000)
STRENGTH = 1.0

Labels = NDArray[np.int64]


def measure(split_npz: str, epsilon: float, seed: int) -> float:
    """Return the accuracy on evaluation rows of the best student that epsilon pays for."""
    split = np.load(split_npz)
    n_classes = int(max(split["y_private"].max(), split["y_eval"].max())) + 1  # known to all, for each data set
    rng = np.random.default_rng(seed)
    public = split["X_public"][rng.permutation(len(split["X_public"]))[: max(QUESTIONS)]]
    best = float(
        np.bincount(split["y_eval"]).max() / len(split["y_eval"])
    )  # without a question: the likeliest class
    for n_teachers in TEACHERS:
        votes = votes_of(split["X_private"], split["y_private"], public, n_classes, n_teachers, rng)
        for sigma, asked in affordable(votes, epsilon):
            labels = (votes[:asked] + rng.normal(scale=sigma, size=(asked, n_classes))).argmax(axis=1)
            best = max(best, student_accuracy(public[:asked], labels, split["X_eval"], split["y_eval"]))
    return best


def affordable(votes: NDArray[np.float64], epsilon: float) -> Iterator[tuple[float, int]]:
    """Yield settings that epsilon pays for; with the same noise, only the most questions."""
    for share in NOISES:
        sigma = share * float(votes[0].sum())
        for asked in sorted({min(one, len(votes)) for one in QUESTIONS}, reverse=True):
            found = price(votes[:asked], sigma)
            if min(found.always, found.sanitised + found.spread) <= epsilon:
                yield sigma, asked
                break


def votes_of(
    rows: NDArray[np.float64],
    labels: Labels,
    questions: NDArray[np.float64],
    n_classes: int,
    n_teachers: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Count the votes of teachers, each trained on a part of its own."""
    votes = np.zeros((len(questions), n_classes))
    parts = rng.integers(n_teachers, size=len(rows))
    for teacher in range(n_teachers):
        own = np.flatnonzero(parts == teacher)
        if len(own) == 0 or len(np.unique(labels[own])) == 1:
            votes[:, labels[own[0]] if len(own) else 0] += 1
            continue
        told = RidgeClassifier().fit(rows[own], labels[own]).predict(questions)
        votes[np.arange(len(questions)), told] += 1
    return votes


def student_accuracy(
    rows: NDArray[np.float64], labels: Labels, X_eval: NDArray[np.float64], y_eval: Labels
) -> float:
    """Train the student on released labels and measure it."""
    if len(np.unique(labels)) == 1:
        return float((y_eval == labels[0]).mean())
    student = LogisticRegression(C=STRENGTH, max_iter=1000).fit(rows, labels)
    return float((student.predict(X_eval) == y_eval).mean())


if __name__ == "__main__":
    print(json.dumps({"accuracy": measure(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))}))
