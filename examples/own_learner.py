"""Bring your own learner: any function that learns from rows and labels and returns a way to predict.

Scaling, selecting and tuning belong inside it: it sees one shard at a time and must keep nothing for the next.
"""

# %%
from collections.abc import Callable

import numpy as np

from mapl import PrivateClassifier

world = np.random.default_rng(6)


def nearest_mean(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Predict the class whose mean is nearest, after scaling by this shard's own spread."""
    spread = X.std(axis=0) + 1e-9
    names = np.unique(y)
    means = np.stack([X[y == name].mean(axis=0) for name in names]) / spread

    def predict(rows: np.ndarray) -> np.ndarray:
        return names[np.argmin(((rows / spread)[:, None] - means) ** 2 @ np.ones(X.shape[1]), axis=1)]

    return predict


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    y = world.integers(3, size=n)
    X = world.normal(size=(n, 4)) * [1, 1, 50, 50]
    X[:, 0] += 2 * y
    X[:, 1] -= 2 * (y == 1)
    return X, np.array(["red", "green", "blue"])[y]


X, y = draw(6000)
public, _ = draw(300)
test, truth = draw(1000)

# %%
clf = PrivateClassifier(
    nearest_mean,
    epsilon=2.0,
    delta=1e-6,
    classes=("red", "green", "blue"),
    n_teachers=100,
    mechanism="link",
    n_jobs=1,
)
clf.fit(X, y, public=public)
said = clf.statement_
print(f"accuracy {clf.score(test, truth):.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
