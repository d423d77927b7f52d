"""Choosing a learner without leaking: a declared short list, tried within the budget, and a private choice.

Trying learners on private rows and keeping the best is a release about these rows. Here a fifth of epsilon tries
every learner of the list, a little chooses one by an exponential mechanism, and it is carried out with the rest.
The printed epsilon covers all of it.
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
