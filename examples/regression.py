"""A number instead of a class: the label is a number of a declared range.

Blood sugar from what a visit tells, learned from private visits.
"""

# %%
import numpy as np

from mapl import PrivateRegressor

world = np.random.default_rng(5)


def visits(n):
    age, bmi = world.normal(52, 16, n), world.normal(27, 4.5, n)
    glucose = 96 + 1.5 * (bmi - 27) + 0.4 * (age - 52) + world.normal(0, 8, n)
    return np.column_stack([age, bmi]), glucose


(X, y), (public, _), (test, truth) = visits(6000), visits(300), visits(1000)

# %%
# The range is declared by what anybody knows of blood sugar, never by looking at these labels; what lies beyond it
# counts as its ends. A range that is far too wide costs little.

model = PrivateRegressor(low=40, high=300, epsilon=0.5, delta=1e-6).fit(X, y, public=public)
print(f"R2 {model.score(test, truth):.2f}, off by {np.abs(model.predict(test) - truth).mean():.1f} on average")
print(f"always saying the mean: off by {np.abs(truth - model.predict(public).mean()).mean():.1f}")

# %%
# What is promised to every row of the private table:

said = model.statement_
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
