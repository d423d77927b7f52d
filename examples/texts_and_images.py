"""Texts and images: the same call, whatever the rows are.

A column of texts is learned by its words, a column of pictures by features that are made for pictures.
"""

# %%
import numpy as np
import pandas as pd
import pyarrow as pa

from mapl import PrivateClassifier, people

world = np.random.default_rng(6)
budget = {"epsilon": 1.0, "delta": 1e-6}

# %%
# Complaints: short texts with a number beside them. That a column holds text is seen on public rows, and words are
# counted with noise.
words = {
    "billing": ["invoice", "charged twice", "refund", "payment", "too expensive"],
    "delivery": ["late", "parcel", "never arrived", "courier", "wrong address"],
}
filler = ["hello", "please help", "since monday", "again", "my order", "thank you", "customer for years"]


def complaints(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    topics = world.choice(list(words), size=n)
    meant = np.where(world.random(n) < 0.9, topics, world.choice(list(words), size=n))
    texts = [" ".join(world.permutation([world.choice(words[one]), *world.choice(filler, 4)])) for one in meant]
    return pd.DataFrame({"text": texts, "days": world.integers(1, 30, n)}), topics


(X, y), (public, _), (test, truth) = complaints(8000), complaints(500), complaints(500)
reader = PrivateClassifier(**budget, classes=tuple(words), n_rows=8000)
with people("who complained"):
    reader.fit(X, y, public=public)
print(f"texts: accuracy {reader.score(test, truth):.3f} (about 0.95 is the best there is)")

# %%
# Pictures of 12 times 12 pixels, as lists of numbers in one column. A linear model is made of noisy sums, and on
# public pictures it teaches a kernel, which stands beside it.


def pictures(n: int) -> tuple[pa.Table, np.ndarray]:
    down, across = np.mgrid[:12, :12]
    (top, left), radius = world.uniform(4, 7, (2, n, 1, 1)), world.uniform(2.5, 4, (n, 1, 1))
    square = world.random((n, 1, 1)) < 0.5
    gaps = np.abs(down - top), np.abs(across - left)
    inside = np.where(square, np.maximum(*gaps), 0.9 * np.hypot(*gaps)) < radius
    pixels = np.clip(inside + world.normal(0, 0.2, inside.shape), 0, 1).astype(np.float32)
    names = np.where(square.ravel(), "square", "circle")
    return pa.table({"picture": pa.array(list(pixels.reshape(n, -1)))}), names


(X, y), (public, _), (test, truth) = pictures(8000), pictures(500), pictures(500)
seer = PrivateClassifier(**budget, classes=("circle", "square"), n_rows=8000)
with people("who drew"):  # others than those above, so that the two budgets are no sum
    seer.fit(X, y, public=public)
print(f"images: accuracy {seer.score(test, truth):.3f}")

# %%
# What is promised to every row of the second table; it is the same of the first.

said = seer.statement_
print(
    f"epsilon {said.guaranteed_epsilon:.3g} at delta {said.delta:g}; adjacency: {said.adjacency}; unit: {said.unit}"
)
