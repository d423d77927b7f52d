"""Means and variances of the classes of every shard, one shard after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.teachers.compiled.compiling import compile_lazily


@compile_lazily
def class_moments(rows: Any, places: Any, n_classes: int) -> Any:
    """Return of each shard's classes how many rows they have, and the mean and variance of every column there."""
    n_shards, n, width = rows.shape
    counts = np.zeros((n_shards, n_classes, 1))
    means = np.zeros((n_shards, n_classes, width))
    variances = np.zeros((n_shards, n_classes, width))
    for k in range(n_shards):
        for i in range(n):
            c = places[k, i]
            counts[k, c, 0] += 1.0
            for j in range(width):
                means[k, c, j] += rows[k, i, j]
        for c in range(n_classes):
            for j in range(width):
                means[k, c, j] /= counts[k, c, 0]
        for i in range(n):
            c = places[k, i]
            for j in range(width):
                apart = rows[k, i, j] - means[k, c, j]
                variances[k, c, j] += apart * apart
        for c in range(n_classes):
            for j in range(width):
                variances[k, c, j] /= counts[k, c, 0]
    return counts, means, variances
