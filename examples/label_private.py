"""Only the labels are private: the features may be known to anybody, and serve as questions themselves.

No public rows are needed then. A part of the rows is asked about, the others teach.
"""

# %%
from sklearn.datasets import load_breast_cancer

from mapl import PrivateClassifier

found = load_breast_cancer()
names = found.target_names[found.target]

# %%
clf = PrivateClassifier(
    "logistic",
    epsilon=4.0,
    delta=1e-4,
    classes=("benign", "malignant"),
    adjacency="labels",
    n_teachers=25,
    mechanism="link",
    n_jobs=1,
)
clf.fit(found.data, names)

# %% The score is computed on private labels, so it is for this demonstration only.
said = clf.statement_
print(f"accuracy {clf.score(found.data, names):.3f}")
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
