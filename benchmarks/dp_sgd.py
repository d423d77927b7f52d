"""DP-SGD logistic regression with opacus; runs in the environment that baseline.py makes.

Guarantee: (epsilon, 1e-5), one row added or removed, Poisson sampling, by opacus' PRV accountant. The number of
rows is taken as public. Noise is drawn in floating point from a seeded generator: for measuring only.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.nn.functional import cross_entropy
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

DELTA = 1e-5
# One setting for all data sets and budgets, chosen from twenty on evaluation rows: generous to this baseline.
BATCH, EPOCHS, CLIP, RATE = 1024, 20, 1.0, 4.0


class Rows(TensorDataset):
    """Tensors from which a batch is taken at once, not row by row."""

    def __getitems__(self, chosen: list[int]) -> list[tuple[torch.Tensor, ...]]:
        return [self[torch.as_tensor(chosen)]] if chosen else []


def whole(batch: list[tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor, ...]:
    """Return a batch that `Rows` has already put together."""
    return batch[0]


def measure(split_npz: str, epsilon: float, seed: int) -> dict[str, float]:
    """Train on the private rows of a split; return the accuracy on its evaluation rows and CPU seconds."""
    split = np.load(split_npz)
    X, y, X_eval = (torch.as_tensor(split[name]) for name in ("X_private", "y_private", "X_eval"))
    n_classes = int(max(split["y_private"].max(), split["y_eval"].max())) + 1  # known to all, for each data set
    start = time.process_time()
    torch.manual_seed(seed)
    linear = torch.nn.Linear(X.shape[1], n_classes)
    torch.nn.init.zeros_(linear.weight)
    model, optimizer, batches = PrivacyEngine(accountant="prv").make_private_with_epsilon(
        module=linear,
        optimizer=torch.optim.SGD(linear.parameters(), lr=RATE),
        data_loader=DataLoader(Rows(X.float(), y.long()), batch_size=BATCH, collate_fn=whole),
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=EPOCHS,
        max_grad_norm=CLIP,
    )
    # The mean over the second half of the steps: noise cancels out, and averaging costs no privacy.
    mean = AveragedModel(linear)
    for epoch in range(EPOCHS):
        for rows, labels in batches:
            optimizer.zero_grad()
            cross_entropy(model(rows), labels).backward()
            optimizer.step()
            if 2 * epoch >= EPOCHS:
                mean.update_parameters(linear)
    seconds = time.process_time() - start
    with torch.no_grad():
        predicted = mean(X_eval.float()).argmax(dim=1).numpy()
    return {"accuracy": float((predicted == split["y_eval"]).mean()), "seconds": seconds}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # opacus warns about noise that is not cryptographic; the docstring says so too
    print(json.dumps(measure(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))
