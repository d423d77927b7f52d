"""Cells: count private rows around public ones, with noise, and learn from the counts. Pure epsilon, no teachers.

Good where there are many rows and few columns. Every count of every cell is released at once, for one price.
"""

# %%
import numpy as np

from mapl import PrivateClassifier

world = np.random.default_rng(1)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.uniform(-1, 1, size=(n, 2))
    return X, np.where(np.hypot(X[:, 0], X[:, 1]) < 0.7, "inside", "outside")


X, y = draw(5000)
public, _ = draw(300)
test, truth = draw(1000)

# %%
clf = PrivateClassifier(epsilon=0.5, classes=("inside", "outside"), method="cells", n_cells=100)
clf.fit(X, y, public=public)

# %%
said = clf.statement_
print(f"accuracy {clf.score(test, truth):.3f} from {said.cells} cells")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
