"""Spectral coordinates: where a row stands in the graph that joins each public row with its nearest ones.

Rows that many short steps join have similar coordinates, so groups of alike public rows lie together before anybody
has seen a label. The graph is made of public rows. Every other row is placed by itself, between its nearest public
rows (Nystrom extension).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mapl.types import Floats, Singles

SLOWEST = 0.1
"""Eigenvectors of a smaller eigenvalue fade within two steps; they describe noise."""

WEAKEST = 1e-3
"""The least weight of a neighbour, so that a row far from all others still has somewhere to go."""

DENSE = 500
"""Graphs of so few rows are decomposed whole."""

DISTANCES_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Spectral:
    """Slow eigenvectors of the random walk on public rows.

    Parameters
    ----------
    landmarks
        The public rows of the graph, all different; points on the grid of `Projection`.
    radii
        How far from each the last of its neighbours is.
    walk, pace
        The eigenvectors, one column each with a mean square of 1, and their eigenvalues.
    n_neighbours
        How many neighbours a row has.
    """

    landmarks: Singles
    radii: Floats
    walk: Singles
    pace: Floats
    n_neighbours: int

    @classmethod
    def fit(cls, public: Singles, *, dim: int, n_neighbours: int = 10) -> Self:
        """Build the graph of PUBLIC points; equal points are one landmark."""
        first = np.sort(np.unique(public, axis=0, return_index=True)[1])
        landmarks = np.ascontiguousarray(public[first])
        k = min(n_neighbours, len(landmarks) - 1)
        if k < 1:
            return cls(landmarks, np.ones(1), np.zeros((1, 0), np.float32), np.zeros(0), 1)
        near, gap = _all_nearest(landmarks, k)
        radii = np.sqrt(gap[:, -1])
        walk, pace = _slow_eigenvectors(_graph(near, gap, radii), dim)
        return cls(landmarks, radii, walk, pace, k)

    @property
    def dim(self) -> int:
        return len(self.pace)

    def __call__(self, points: Singles) -> Singles:
        """Return the coordinates of each point, a function of that point alone.

        A landmark has its own place; any other point lies between its nearest landmarks, one step of the walk away.
        """
        placed = np.empty((len(points), self.dim), np.float32)
        landmarks = self.landmarks.astype(np.float64)
        norms, one_step = (landmarks**2).sum(axis=1), self.walk * self.pace
        for block in _blocks(len(points), len(landmarks)):
            gap = _gaps(points[block], landmarks, norms)
            near = _nearest(gap, self.n_neighbours)
            gap = np.take_along_axis(gap, near, axis=1)
            weight = self._weights(near, gap)
            total = np.zeros((len(near), self.dim))
            for j in range(near.shape[1]):  # in this order for every point, so that each is placed alike
                total += weight[:, j, None] * one_step[near[:, j]]
            at_home = gap[:, 0] == 0
            total[at_home] = one_step[near[at_home, 0]] * self.pace
            placed[block] = total
        return placed

    def _weights(self, near: NDArray[np.intp], gap: Floats) -> Floats:
        """Gaussian weights whose widths follow how dense the public rows lie, adding up to 1."""
        own = np.sqrt(np.maximum(gap[:, -1:], np.finfo(np.float64).tiny))
        exponent = gap / (own * self.radii[near])
        weight = np.exp(exponent.min(axis=1, keepdims=True) - exponent)  # the largest is 1 even far from everything
        total = np.zeros(len(weight))
        for j in range(weight.shape[1]):
            total += weight[:, j]
        return np.asarray(weight / total[:, None])


def _blocks(n: int, n_landmarks: int) -> Iterator[slice]:
    step = max(1, DISTANCES_AT_ONCE // n_landmarks)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _gaps(points: Singles, landmarks: Floats, norms: Floats) -> Floats:
    """Squared distances; exact, since the points lie on a grid, and so the same in every block."""
    wide = points.astype(np.float64)
    gaps: Floats = wide @ landmarks.T
    gaps *= -2
    gaps += norms
    gaps += (wide**2).sum(axis=1)[:, None]
    return gaps


def _nearest(gap: Floats, k: int) -> NDArray[np.intp]:
    """Return the places of the k smallest entries of each row, smallest first."""
    found = np.sort(np.argpartition(gap, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(gap, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def _all_nearest(landmarks: Singles, k: int) -> tuple[NDArray[np.intp], Floats]:
    """Return each landmark's k nearest other ones and how far they are, squared."""
    wide = landmarks.astype(np.float64)
    norms = (wide**2).sum(axis=1)
    near, gaps = np.empty((len(wide), k), np.intp), np.empty((len(wide), k))
    for block in _blocks(len(wide), len(wide)):
        gap = _gaps(landmarks[block], wide, norms)
        gap[np.arange(len(gap)), np.arange(block.start, block.stop)] = np.inf
        near[block] = _nearest(gap, k)
        gaps[block] = np.take_along_axis(gap, near[block], axis=1)
    return near, gaps


def _graph(near: NDArray[np.intp], gap: Floats, radii: Floats) -> Any:
    """Join neighbours by Gaussian weights that adapt to the density on both sides."""
    n, k = near.shape
    weight = np.maximum(np.exp(-gap / (radii[:, None] * radii[near])), WEAKEST)
    one_way = sp.csr_array((weight.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return one_way.maximum(one_way.T).tocsr()


def _slow_eigenvectors(graph: Any, dim: int) -> tuple[Singles, Floats]:
    """Return the slowest eigenvectors of the walk, without the constant one, and their eigenvalues.

    A walk never leaves its part of the graph, so as many eigenvectors as there are parts have the eigenvalue 1.
    They are written down rather than searched for, because a search misses some of several equal eigenvalues. They
    take turns with the others, so that many small parts do not hide what is inside a large one.
    """
    from scipy.sparse.csgraph import connected_components

    n = graph.shape[0]
    dim = min(dim, n - 2)
    if dim < 1:
        return np.zeros((n, 0), np.float32), np.zeros(0)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    root = sp.diags_array(1 / np.sqrt(degree))
    part = connected_components(graph, directed=False)[1]
    mass = np.asarray(np.bincount(part, weights=degree), np.float64)
    known = np.sqrt(degree / mass[part])  # belongs to the eigenvalue 1, part by part
    between = known[:, None] * _between(mass)[part, : dim // 2]
    within, pace = _largest((root @ graph @ root).tocsr(), known, part, dim - between.shape[1])
    turns = np.argsort([*range(0, 2 * between.shape[1], 2), *range(1, 2 * len(pace), 2)], kind="stable")
    vectors = np.hstack([between, within])[:, turns]
    values = np.concatenate([np.ones(between.shape[1]), pace])[turns]
    walk = vectors * np.sqrt(degree.sum() / degree)[:, None]
    return np.asarray(walk, np.float32), values


def _between(mass: Floats) -> Floats:
    """Return orthonormal directions that tell the parts of a graph apart, the largest first, none the constant."""
    n_parts = len(mass)
    largest_first = np.eye(n_parts)[:, np.argsort(-mass, kind="stable")[: n_parts - 1]]
    constant = np.sqrt(mass / mass.sum())[:, None]
    return np.asarray(np.linalg.qr(np.hstack([constant, largest_first]))[0][:, 1:])


def _largest(symmetric: Any, known: Floats, part: NDArray[Any], dim: int) -> tuple[Floats, Floats]:
    """Return the eigenvectors of the largest eigenvalues besides the known ones, largest first."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    def without_known(vector: Floats) -> Floats:
        along = np.bincount(part, weights=known * vector)
        return np.asarray(symmetric @ vector - known * along[part])

    n = len(known)
    if n <= DENSE:
        same = part[:, None] == part
        values, vectors = np.linalg.eigh(symmetric.toarray() - same * np.outer(known, known))
    else:
        operator = LinearOperator((n, n), matvec=without_known, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigsh(operator, k=dim, which="LA", v0=start, ncv=min(n, 3 * dim + 20), tol=1e-6)
        except ArpackNoConvergence as unfinished:  # what has been found will do
            values, vectors = unfinished.eigenvalues, unfinished.eigenvectors
    order = np.argsort(-values)[:dim]
    order = order[values[order] > SLOWEST]
    return np.asarray(vectors[:, order]), np.asarray(values[order])
