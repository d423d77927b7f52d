"""Choosing a learner without leaking: a declared short list, tried within the budget, and a private choice.

Trying learners on private rows and keeping the best is a release about these rows. Here a fifth of the units is set
aside; the others teach every learner of the list with a share of epsilon each, and those set aside choose one by an
exponential mechanism. Nobody is in both parts, so the choice costs nothing on top.
"""

# %%
import numpy as np

from mapl import PrivateClassifier

world = np.random.default_rng(8)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.uniform(-1, 1, size=(n, 2))
    return X, np.where(np.hypot(X[:, 0], X[:, 1]) < 0.75, "inside", "outside")


X, y = draw(8000)
public, _ = draw(300)
test, truth = draw(1000)

# %%
clf = PrivateClassifier(
    epsilon=4.0,
    delta=1e-6,
    classes=("inside", "outside"),
    method="select:teachers/ridge,teachers/ridge-bins,cells",
    n_rows=8000,
    student="forest",
    n_jobs=1,
)
clf.fit(X, y, public=public)

# %%
said = clf.statement_
print(f"chosen: {said.selected}, accuracy {clf.score(test, truth):.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
