"""An oracle: teachers stay, and answer questions as they come, until the budget for hard ones is gone.

Where the teachers agree an answer is nearly free. A question that was asked before costs nothing.
"""

# %%
import numpy as np

from mapl import PrivateOracle

world = np.random.default_rng(2)
X = world.normal(size=(6000, 3))
y = np.where(X[:, 0] > 0, "right", "left")

# %%
oracle = PrivateOracle(
    epsilon=4.0,
    delta=1e-6,
    classes=("left", "right"),
    n_teachers=200,
    mechanism="ladder",
    settings={"max_abstentions": 3},
    n_queries=100,
    n_jobs=1,
)
oracle.fit(X, y, public=world.normal(size=(50, 3)))

# %% A clear question, a clear one again, and one on the border.
print(oracle.answer([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]).tolist())
print(oracle.answer([[2.0, 0.0, 0.0]]).tolist(), "asked before")
print(oracle.answer([[0.0, 0.0, 0.0]]).tolist(), "on the border")

# %%
said = oracle.statement_
print(f"{said.answered} answered, {said.abstained} declined")
print(f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}, of which {said.epsilon:.3g} was used")
print(f"adjacency: {said.adjacency}; unit: {said.unit}")
