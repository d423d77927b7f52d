"""A classifier from private rows that may be published: the shortest way.

Every private row adds a short vector to a few noisy sums, and a linear model, the student, is made of these. All
that is released has the stated privacy. The student is an ordinary model.
"""

# %%
import numpy as np

from mapl import PrivateClassifier

world = np.random.default_rng(0)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.normal(size=(n, 5))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


X, y = draw(8000)  # private
public, _ = draw(400)  # public, without labels
test, truth = draw(1000)

# %%
clf = PrivateClassifier(epsilon=1.0, delta=1e-6, classes=("no", "yes"), n_rows=8000, n_jobs=1)
clf.fit(X, y, public=public)

# %% Predictions are free, and so is everything else that is computed from them.
said = clf.statement_
print(f"accuracy {clf.score(test, truth):.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
