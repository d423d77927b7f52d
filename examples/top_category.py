"""The top category of a private column, exactly or not at all; nobody has to declare which categories there are.

Every patient counts once, however many visits there were.
"""

# %%
from mapl.data.synthetic import UNIT, Clinic
from mapl.release import StableOracle, TopCategory

visits, _ = Clinic().visits(6000)

# %% Three questions, of which one may be declined. The regions are equally large, so that one has no clear answer.
oracle = StableOracle(visits, epsilon=1.0, delta=1e-6, n_queries=3, max_abstentions=1, unit=UNIT)
for column in ("smoking", "active", "region"):
    (value,) = oracle.answer(TopCategory(column, unit=UNIT))
    print(f"top category of {column}: {'declined' if value is None else value}")

# %%
said = oracle.statement
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
