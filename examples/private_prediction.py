"""Private prediction: answer single questions with a pure epsilon, without any public row.

The rule stays hidden. Here it is a stump, a threshold on one of the columns.
"""

# %%
import numpy as np

from mapl import PrivatePredictor

world = np.random.default_rng(3)
X = world.uniform(size=(4000, 3))
y = np.where(X[:, 1] > 0.6, "high", "low")

# %%
predictor = PrivatePredictor(hypotheses="stumps", epsilon=2.0, classes=("low", "high"), n_queries=10)
predictor.fit(X, y)
questions = np.array([[0.5, 0.1, 0.5], [0.5, 0.9, 0.5], [0.1, 0.2, 0.9]])
print(predictor.answer(questions).tolist())

# %%
said = predictor.statement_
print(f"by {predictor.method_}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
