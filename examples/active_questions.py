"""An active student: it chooses the public rows it wants labels for, by what it was told before.

Every label costs something, so informative questions are worth choosing. The choice sees public rows and released
labels only.
"""

# %%
import numpy as np

from mapl import PrivateClassifier

world = np.random.default_rng(9)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.normal(size=(n, 4))
    return X, np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")


X, y = draw(8000)
public, _ = draw(600)
test, truth = draw(1000)

# %%
clf = PrivateClassifier(
    "ridge",
    epsilon=2.0,
    delta=1e-6,
    classes=("no", "yes"),
    n_teachers=150,
    strategy="active",
    n_queries=100,
    n_jobs=1,
)
clf.fit(X, y, public=public)

# %%
said = clf.statement_
print(f"asked about {said.answered} of {len(public)} public rows, accuracy {clf.score(test, truth):.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
