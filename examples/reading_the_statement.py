"""Reading the statement: what was promised, to whom, what it cost, and what is left for you to see to."""

# %%
import json

import numpy as np

from mapl import PrivateClassifier

world = np.random.default_rng(7)
X, public = world.normal(size=(10_000, 3)), world.normal(size=(200, 3))
for rows in (X, public):
    rows[:, 0] += np.sign(rows[:, 0])  # few are near the border, so that teachers mostly agree
clf = PrivateClassifier(
    epsilon=2.0, delta=1e-6, classes=(False, True), n_teachers=250, mechanism="ladder", student="logistic", n_jobs=1
)
clf.set_params(settings={"max_abstentions": 5}).fit(X, X[:, 0] > 0, public=public)
said = clf.statement_

# %% For people who read one paragraph.
print(said.in_plain_words)

# %% The promise in figures: fixed before anything was released, and what the published outcomes used of it.
print(f"\npromised: epsilon {said.guaranteed_epsilon:.4g} at delta {said.delta:g}")
print(f"used: epsilon {said.epsilon:.4g} at the same delta, by {said.answered} answers, {said.abstained} declined")
print(f"adjacency: {said.adjacency}")
print(f"unit: {said.unit}")

# %% Stages: what each part of the run may cost.
for stage in said.stages:
    print(f"stage {stage.name}: {stage.mechanism}, epsilon {stage.epsilon:.4g}, delta {stage.delta:g}")

# %% What mapl checked, and what only you can know.
for words in said.checked:
    print(f"- checked: {words}")
for words in said.assumptions:
    print(f"- for you to see to: {words}")

# %% For machines: JSON, tied to the plan and to the record of spending by their hashes.
stored = json.loads(said.to_json())
print(
    f"\nplan {stored['plan_digest'][:12]}..., ledger {stored['ledger_head'][:12]}..., private: {stored['private']}"
)
