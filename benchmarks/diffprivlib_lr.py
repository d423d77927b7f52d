"""diffprivlib's logistic regression; runs in the environment that baseline.py makes.

Guarantee: pure epsilon (delta is 0, so the figures are not like for like with delta 1e-5), objective perturbation
of Chaudhuri, Monteleoni and Sarwate (2011), one row replaced. More than two classes share epsilon equally.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from diffprivlib.models import LogisticRegression

# For all data sets and budgets, chosen from six (the norm below from four) on evaluation rows: a generous choice.
C = 0.01


def accuracy(split_npz: str, epsilon: float, seed: int) -> float:
    """Train on the private rows of a split and return the accuracy on its evaluation rows."""
    split = np.load(split_npz)
    # Longer private rows are shortened to this norm; the public rows say what is common.
    norm = float(np.median(np.linalg.norm(split["X_public"], axis=1)))
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, C=C, max_iter=1000, random_state=seed)
    model.fit(split["X_private"], split["y_private"])
    return float((model.predict(split["X_eval"]) == split["y_eval"]).mean())


if __name__ == "__main__":
    print(json.dumps({"accuracy": accuracy(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))}))
