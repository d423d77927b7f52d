"""People with several records: protect the person, not the visit.

Somebody with four visits would be protected four times less if every visit counted by itself. With groups all
records of a person go to one teacher, and the promise is about the person.
"""

# %%
from mapl import PrivateClassifier
from mapl.data.synthetic import CLASSES, LABEL, UNIT, Clinic

visits, _ = Clinic().visits(8000)
others, _ = Clinic().visits(1500, stream=1)
features = [name for name in visits.column_names if name not in (LABEL, UNIT)]

# %%
clf = PrivateClassifier(
    "ridge", epsilon=2.0, delta=1e-6, classes=CLASSES, n_teachers=100, mechanism="link", n_jobs=1
)
clf.fit(
    visits.select(features),
    visits.column(LABEL).to_numpy(),
    public=others.select(features).slice(0, 500),
    groups=visits.column(UNIT),
)

# %%
test = others.slice(500)
said = clf.statement_
print(f"accuracy {clf.score(test.select(features), test.column(LABEL).to_numpy()):.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
