"""Public partitions of feature space: a private record may influence the one cell that it falls into.

Cells are fixed by public rows, or by what was released before; never by private rows. Then adding or removing one
unit changes one count of one cell, and all cells together cost what one of them costs. Proof: docs/proofs/cells.md.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from mapl.data.cells.space import CellSpace
from mapl.data.tables.rows import Rows, n_rows
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.parameters import spell
from mapl.types import Integers, Labels, Singles, positive_integer

PartitionKind = Literal["points", "centroids", "leaves"]
KINDS: tuple[PartitionKind, ...] = get_args(PartitionKind)

SEED = 2021
"""Of the choice among public rows. It is public, and the same in every run."""

SCORES_AT_ONCE = 1 << 24
"""Distances that are held at the same time, 64 MB of them at most."""

SCORES_NEARBY, ROWS_NEARBY = 1 << 18, 512
"""So many distances, or those of so many rows, are still in the cache when the nearest is looked for."""

MOST_CLUSTERED = 100_000
MOST_MEASURED = 2_000
SPARE = 4.0
"""A row is far if it lies twice as far from all centres as any of the measured public rows."""


class Partition(Protocol):
    """A rule that gives every point of a space one cell."""

    @property
    def n_cells(self) -> int: ...

    @property
    def far(self) -> int | None:
        """The cell of points that are far from everything public, where there is one."""

    def of(self, points: Singles) -> Integers:
        """Return the cell of each point, a function of that point alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The cell of a point is the nearest centre, found exactly; of several equally near ones the first.

    Points farther from all centres than `reach` (squared) fall into one more cell, the last, which teaches nothing:
    its noisy count tells how much of the private table lies where there is nothing public.
    """

    centres: Singles
    reach: float

    @property
    def n_cells(self) -> int:
        return len(self.centres) + 1

    @property
    def far(self) -> int | None:
        return len(self.centres)

    def of(self, points: Singles) -> Integers:
        found = np.empty(len(points), dtype=np.int64)
        weights, step = _weights(self.centres), _rows_at_once(len(self.centres))
        # Written over block by block, which saves a tenth of the time.
        own, scores = np.ones((step, len(weights)), np.float32), np.empty((step, len(self.centres)), np.float32)
        places = np.arange(step)
        for start in range(0, len(points), step):
            block = points[start : start + step]
            n = len(block)
            own[:n, :-1] = block
            np.matmul(own[:n], weights, out=scores[:n])
            nearest = found[start : start + n]
            np.argmax(scores[:n], axis=1, out=nearest)
            gaps = np.einsum("ij,ij->i", block, block) - scores[places[:n], nearest]
            nearest[gaps > self.reach] = len(self.centres)
        return found


def _rows_at_once(n_centres: int) -> int:
    """Return how many rows are compared with all centres at the same time."""
    return max(1, min(SCORES_AT_ONCE // n_centres, max(ROWS_NEARBY, SCORES_NEARBY // n_centres)))


def _weights(centres: Singles) -> Singles:
    """Return what turns a point into 2 x.c - |c|^2 for every centre, which grows as the distance falls.

    All of these are whole numbers below 2^24, so that no sum is ever rounded.
    """
    return np.ascontiguousarray(np.column_stack([2 * centres, -(centres**2).sum(axis=1)]).T, np.float32)


def _with_one(points: Singles) -> Singles:
    return np.column_stack([points, np.ones(len(points), np.float32)])


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The cell of a point is the leaf that it falls into, of a tree that was grown on public rows."""

    tree: Any
    numbers: Integers

    @classmethod
    def grown(cls, points: Singles, n_cells: int, targets: NDArray[Any] | None = None) -> Self:
        """Grow a tree with so many leaves.

        Parameters
        ----------
        targets
            What public rows in a leaf should have in common, such as the scores of a student that was released
            before; without them, their place: the tree then splits where public rows differ most.
        """
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(max_leaf_nodes=max(2, n_cells), random_state=SEED)
        tree.fit(points, points if targets is None else targets)
        return cls(tree, np.flatnonzero(tree.tree_.children_left < 0))

    @property
    def n_cells(self) -> int:
        return len(self.numbers)

    @property
    def far(self) -> None:
        return None

    def of(self, points: Singles) -> Integers:
        return np.asarray(np.searchsorted(self.numbers, self.tree.apply(points)), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A public partition of rows: where rows lie, which cell that is, and which cells the public rows are in."""

    space: CellSpace
    partition: Partition
    public: Integers

    @classmethod
    def of_public(
        cls,
        rows: Rows,
        space: CellSpace,
        n_cells: int,
        *,
        kind: PartitionKind = "points",
        targets: NDArray[Any] | None = None,
    ) -> Self:
        """Partition by PUBLIC rows; there are fewer cells where rows are alike, and none without a public row.

        Parameters
        ----------
        kind
            points: the nearest of so many public rows; centroids: the nearest mean of a group of public rows;
            leaves: the leaf of a tree.
        targets
            For leaves: what the public rows of a leaf should have in common.
        """
        positive_integer(cells=n_cells)
        if kind not in KINDS:
            raise InvalidParameter(f"The partition is {kind!r}; choose one of {', '.join(KINDS)}.")
        if n_cells > n_rows(rows):
            raise InvalidParameter(
                f"There are {n_cells} cells and {n_rows(rows)} public rows; every cell needs a public row. Ask for "
                f"fewer with {spell('cells')}, or give more public rows."
            )
        points = np.concatenate([block for _, block, _ in space.blocks(rows)])
        if kind == "leaves":
            leaves = Leaves.grown(points, n_cells, targets)
            return cls(space, leaves, leaves.of(points))
        centres = _centroids(points, n_cells) if kind == "centroids" else _chosen(points, n_cells)
        public = Nearest(centres, np.inf).of(points)
        used = np.unique(public)  # a centre without a public row would have nothing to teach
        centres = centres[used]
        nearest = Nearest(centres, _reach(points, centres))
        return cls(space, nearest, np.searchsorted(used, public).astype(np.int64))

    @property
    def n_cells(self) -> int:
        return self.partition.n_cells

    @property
    def digest(self) -> str:
        """The SHA-256 of the public rows' cells: a run that goes on must find the same ones again."""
        return hashlib.sha256(self.public.astype("<i8").tobytes()).hexdigest()

    def of(self, rows: Rows, *, n_jobs: int = 2) -> Integers:
        """Return the cell of every row; rows are taken in blocks, and memory is bounded by these.

        Nobody is told how far it is: a bar that moves with the blocks would show how many there are.
        """
        found = np.empty(n_rows(rows), dtype=np.int64)

        def assign(start: int, points: Singles, outside: NDArray[np.bool_]) -> None:
            stop = start + len(points)
            found[start:stop] = self.partition.of(points)
            if self.partition.far is not None:
                found[start:stop][outside] = self.partition.far

        with ThreadPoolExecutor(max_workers=n_jobs) as pool:
            waiting: list[Future[None]] = []
            for block in self.space.blocks(rows):
                waiting.append(pool.submit(assign, *block))
                if len(waiting) > n_jobs:  # never more blocks in memory than are being worked on
                    waiting.pop(0).result()
            for last in waiting:
                last.result()
        return found

    def counts(self, rows: Rows, labels: Labels, n_classes: int) -> Integers:
        """Return how many rows of each class fall into each cell. PRIVATE: not to be released without noise."""
        if len(labels) != n_rows(rows) or (len(labels) and not 0 <= labels.min() <= labels.max() < n_classes):
            # Such a label would be counted in a cell that its row is not in.
            raise GuaranteeBroken(
                f"Every row must have one label, and labels must be class numbers from 0 to {n_classes - 1}; some "
                "are not. Nothing was released. Declare every class, and leave labels alone while they are counted."
            )
        cells = self.of(rows)
        if len(cells) and not 0 <= cells.min() <= cells.max() < self.n_cells:
            raise GuaranteeBroken("A row fell into no cell; nothing was released. This is a fault of mapl.")
        entries = cells * n_classes + labels
        return np.bincount(entries, minlength=self.n_cells * n_classes).reshape(self.n_cells, n_classes)


def _reach(points: Singles, centres: Singles) -> float:
    """Return how far (squared) rows like the public ones lie from the nearest centre, with room to spare.

    A public row that is a centre itself says nothing about that, so its own centre does not count.
    """
    some = points[np.random.default_rng(SEED).permutation(len(points))[:MOST_MEASURED]]
    gaps = np.empty(len(some))
    weights, step = _weights(centres), _rows_at_once(len(centres))
    for start in range(0, len(some), step):
        block = some[start : start + step]
        between = (block**2).sum(axis=1)[:, None] - _with_one(block) @ weights
        gaps[start : start + step] = np.where(between > 0, between, np.inf).min(axis=1)
    finite = gaps[np.isfinite(gaps)]
    return float(SPARE * np.max(finite)) if finite.size else np.inf


def _chosen(points: Singles, n_cells: int) -> Singles:
    """Return so many of the public points, all different."""
    shuffled = points[np.random.default_rng(SEED).permutation(len(points))]
    first_of_its_kind = np.sort(np.unique(shuffled, axis=0, return_index=True)[1])
    return np.asarray(shuffled[first_of_its_kind[:n_cells]])


def _centroids(points: Singles, n_cells: int) -> Singles:
    """Return the means of so many groups of public points, on the grid."""
    from sklearn.cluster import MiniBatchKMeans

    some = points[np.random.default_rng(SEED).permutation(len(points))[:MOST_CLUSTERED]]
    groups = MiniBatchKMeans(
        min(n_cells, len(some)),
        init="random",
        n_init=1,
        batch_size=max(4096, n_cells),
        max_iter=20,
        random_state=SEED,
    )
    means = groups.fit(some).cluster_centers_
    return np.unique(np.rint(means).astype(np.float32), axis=0)
