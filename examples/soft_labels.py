"""Soft labels: probabilities instead of classes, for ranking and for decisions with unequal costs."""

# %%
import numpy as np
from sklearn.metrics import roc_auc_score

from mapl import PrivateSoftClassifier

world = np.random.default_rng(10)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.normal(size=(n, 4))
    return X, world.random(n) < 1 / (1 + np.exp(-1.5 * X[:, 0] + X[:, 1]))


X, y = draw(8000)
public, _ = draw(300)
test, truth = draw(3000)

# %%
clf = PrivateSoftClassifier(epsilon=2.0, delta=1e-6, classes=(False, True), n_teachers=100, n_jobs=1)
clf.fit(X, y, public=public)
shares = clf.predict_proba(test)[:, 1]

# %%
said = clf.statement_
print(f"area under the curve {roc_auc_score(truth, shares):.3f}")
print(f"said on average {shares.mean():.3f}, true share {truth.mean():.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
