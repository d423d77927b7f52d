"""The best of N models, chosen by private records.

Models were made from public data with different settings. Which one is right about most private records is a stable
query: it is told exactly where one model leads clearly. Where none does, `BestOf` still draws a good one.
"""

# %%
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from mapl import SystemCoins
from mapl.release import BestOf, MostRight, answer

world = np.random.default_rng(4)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = world.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


X, y = draw(5000)  # private
public_X, public_y = draw(300)  # a small public sample to make models of

models = {
    f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0).fit(public_X, public_y).predict
    for depth in (1, 2, 4, 8)
}

# %%
told = answer(MostRight("the best depth", models), (X, y), epsilon=0.5, delta=1e-6)
print(f"best: {told.value}")

# %% The other way: always an answer, for pure epsilon, and a close second now and then.
scores = np.array([int((model(X) == y).sum()) for model in models.values()])
drawn = list(models)[BestOf(0.5, len(models)).release(scores, SystemCoins())]
print(f"drawn: {drawn}")

# %%
said = told.statement
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
print("the draw costs epsilon 0.5 at delta 0 on top, for the same adjacency and unit")
