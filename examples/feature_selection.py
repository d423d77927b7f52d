"""Private feature selection: which columns matter, as far as most parts of the private data agree.

The function that picks features runs on many disjoint bags. For every feature the question is whether most bags
pick it; where they agree that is told, else the question is declined. No feature selection on all rows together:
that would not be private.
"""

# %%
import numpy as np
from sklearn.feature_selection import f_classif

from mapl.data import Bagged
from mapl.release import answer, each_of

world = np.random.default_rng(0)
X = world.normal(size=(6000, 15))
y = X[:, :3].sum(axis=1) + world.normal(size=6000) > 0  # three of fifteen columns matter: x0, x1 and x2
names = [f"x{j}" for j in range(15)]


def three_best(X: np.ndarray, y: np.ndarray) -> list[str]:
    scores, _ = f_classif(X, y)
    return [names[j] for j in np.argsort(-scores)[:3]]


# %%
bags = Bagged.of(X, y, n_bags=120)
told = answer(each_of(names, three_best, bags), bags, epsilon=2.0, delta=1e-6, max_abstentions=2)
chosen = [name for name, value in zip(names, told.values, strict=True) if value]
left_out = [name for name, value in zip(names, told.values, strict=True) if value is False]

# %%
said = told.statement
print(f"chosen: {', '.join(chosen)}")
print(f"{len(left_out)} left out, {said.abstained} declined, {said.not_asked} not asked")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
