"""Several labels of the same rows for one budget.

Teachers are trained once on all labels; every label is a stage of one plan, and the stages are priced together.
"""

# %%
import numpy as np

from mapl import PrivateMultiLabelClassifier

world = np.random.default_rng(5)
LABELS = ("sport", "music", "travel", "books")
rules = world.normal(size=(6, len(LABELS)))


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.normal(size=(n, 6))
    return X, (X @ rules > 0).astype(int)


X, Y = draw(8000)
public, _ = draw(300)
test, truth = draw(1000)

# %%
clf = PrivateMultiLabelClassifier(
    epsilon=4.0, delta=1e-6, labels=LABELS, n_teachers=100, mechanism="link", student="logistic", n_jobs=1
)
clf.fit(X, Y, public=public)
for name, right in zip(clf.labels_, (clf.predict(test) == truth).mean(axis=0), strict=True):
    print(f"{name}: accuracy {right:.3f}")

# %%
said = clf.statement_
print(f"all {len(LABELS)} labels together:")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
