"""Small networks, as scikit-learn's MLPClassifier trains them by Adam: many shards at a time, and the same bits.

Every product, sum and function is the one that scikit-learn calls, on operands of the same shape, layout and width;
starting weights and shuffles come from the same generator, in the same order. So there is nothing to round
otherwise: weights are equal bit for bit, in 32 and in 64 bits. What is saved is what scikit-learn does around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from mapl.teachers.together.family import Stack, transpose
from mapl.types import Flags, Silent

Matrices = NDArray[Any]
"""A matrix per shard, of 32 or 64 bits."""


@dataclass(frozen=True, slots=True, repr=False)
class Network(Silent):
    """One trained network. Private."""

    coefs: tuple[Matrices, ...]
    intercepts: tuple[Matrices, ...]
    codes: NDArray[np.int64]
    scaler: Any | None

    def votes(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the class number of every row, as scikit-learn's predict finds it."""
        at = rows if self.scaler is None else self.scaler.transform(rows)
        at = at if at.dtype == np.float32 else np.asarray(at, dtype=np.float64)
        last = len(self.coefs) - 1
        for layer, (coef, intercept) in enumerate(zip(self.coefs, self.intercepts, strict=True)):
            at = at @ coef
            at += intercept
            if layer < last:
                np.maximum(at, 0, out=at)
        if at.shape[1] == 1:
            places = (expit(at[:, 0]) > 0.5).astype(np.int64)
            return np.asarray(self.codes[places], dtype=np.int64)
        _softmax(at)
        return np.asarray(self.codes[at.argmax(axis=1)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Networks:
    """The settings of MLPClassifier that are understood: rectified units, Adam, a loss that decides when it ends.

    ``seed`` is None where every teacher has its number for one, and ``scales`` says that a StandardScaler of
    scikit-learn's comes first.
    """

    hidden: tuple[int, ...]
    alpha: float
    batch_size: int | None
    rate: float
    max_iter: int
    shuffle: bool
    seed: int | None
    tol: float
    beta_1: float
    beta_2: float
    epsilon: float
    patience: float
    scales: tuple[bool, bool] | None = None

    @property
    def scalable(self) -> bool:
        return False

    @property
    def narrows(self) -> bool:
        return False

    def n_weights(self, n_columns: int) -> int:
        """Return how many weights a network for two classes has."""
        units = (n_columns, *self.hidden, 1)
        return sum((a + 1) * b for a, b in pairwise(units))

    def learn(self, stack: Stack, codes: Sequence[NDArray[np.int64]]) -> list[Network | None]:
        """Train the network of every shard of a stack; None where scikit-learn itself may say what is wrong."""
        rows, scalers = stack.rows, [None] * len(stack)
        if self.scales is not None:
            from sklearn.preprocessing import StandardScaler

            scalers = [StandardScaler(with_mean=self.scales[0], with_std=self.scales[1]) for _ in range(len(stack))]
            rows = np.stack([one.fit_transform(own) for one, own in zip(scalers, rows, strict=True)])  # type: ignore[attr-defined]
        layout = _Layout.of((rows.shape[2], *self.hidden, 1 if stack.n_classes == 2 else stack.n_classes))
        targets = stack.members()[:, 1:] if stack.n_classes == 2 else stack.members()
        found = _Course(self, layout, rows, transpose(targets).astype(np.bool_), stack.seeds).run()
        learned: list[Network | None] = []
        for own, scaler, known in zip(found, scalers, codes, strict=True):
            coefs, intercepts = layout.parts(own[None])
            parts = tuple(c[0].copy() for c in coefs), tuple(i[0].copy() for i in intercepts)
            learned.append(Network(*parts, known, scaler) if np.isfinite(own).all() else None)
        return learned


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the weights of each layer lie in the vector of a network: first all matrices, then all constants."""

    units: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, units: tuple[int, ...]) -> _Layout:
        pairs = list(pairwise(units))
        sizes = [a * b for a, b in pairs] + [b for _, b in pairs]
        return cls(units, (0, *np.cumsum(sizes).tolist()))

    @property
    def n_layers(self) -> int:
        return len(self.units) - 1

    @property
    def n_coefs(self) -> int:
        return self.ends[self.n_layers]

    def parts(self, vectors: Matrices) -> tuple[list[Matrices], list[Matrices]]:
        """Return the matrices and the constants of each layer, as views."""
        n, units, ends = len(vectors), self.units, self.ends
        coefs = [vectors[:, ends[i] : ends[i + 1]].reshape(n, units[i], units[i + 1]) for i in range(self.n_layers)]
        return coefs, [vectors[:, ends[i] : ends[i + 1]] for i in range(self.n_layers, 2 * self.n_layers)]

    def first(self, generator: np.random.RandomState, into: Matrices) -> None:
        """Draw the weights to begin with."""
        for i, (a, b) in enumerate(pairwise(self.units)):
            bound = np.sqrt(6.0 / (a + b))
            into[self.ends[i] : self.ends[i + 1]] = generator.uniform(-bound, bound, (a, b)).ravel()
            constants = slice(self.ends[self.n_layers + i], self.ends[self.n_layers + i + 1])
            into[constants] = generator.uniform(-bound, bound, b)


class _Course:
    """Networks of one stack on their way; whoever is done leaves. Private."""

    def __init__(
        self, settings: Networks, layout: _Layout, rows: Matrices, targets: Flags, seeds: Sequence[int]
    ) -> None:
        self.settings, self.layout, self.rows, self.targets = settings, layout, rows, targets
        fixed = settings.seed
        self.generators = [np.random.RandomState(k if fixed is None else fixed) for k in seeds]
        self.at = np.empty((len(rows), layout.ends[-1]), rows.dtype)
        for generator, own in zip(self.generators, self.at, strict=True):
            layout.first(generator, own)
        self.means, self.squares = np.zeros_like(self.at), np.zeros_like(self.at)
        self.order = np.tile(np.arange(rows.shape[1]), (len(rows), 1))
        self.best: Matrices = np.full(len(rows), np.inf, np.float32)  # becomes as wide as losses are
        self.idle = np.zeros(len(rows), dtype=np.int64)
        self.steps = 0

    def run(self) -> Matrices:
        """Return the weights of all networks, each as it was when it was done."""
        found, active = self.at.copy(), np.arange(len(self.at))
        for _ in range(self.settings.max_iter):
            loss = self._epoch()
            self.idle = np.where(loss > self.best - self.settings.tol, self.idle + 1, 0)
            self.best = np.where(loss < self.best, loss, self.best)
            done = self.idle > self.settings.patience
            if done.any():
                found[active[done]] = self.at[done]
                active = active[~done]
                self._keep(~done)
                if not len(active):
                    return found
        found[active] = self.at
        return found

    def _keep(self, kept: Flags) -> None:
        self.generators = [one for one, stays in zip(self.generators, kept, strict=True) if stays]
        for name in ("rows", "targets", "at", "means", "squares", "order", "best", "idle"):
            setattr(self, name, getattr(self, name)[kept])

    def _epoch(self) -> Matrices:
        """Go through all rows once, batch by batch; return each network's mean loss on the way."""
        n = self.rows.shape[1]
        rows, targets = self.rows, self.targets
        if self.settings.shuffle:
            for generator, order in zip(self.generators, self.order, strict=True):
                moved = np.arange(n)
                generator.shuffle(moved)
                order[:] = order[moved]
            shards = np.arange(len(rows))[:, None]
            rows, targets = rows[shards, self.order], targets[shards, self.order]
        total: Any = 0.0
        at_once = min(self.settings.batch_size or 200, n)
        for start in range(0, n, at_once):
            some = np.ascontiguousarray(rows[:, start : start + at_once])
            total = total + self._step(some, targets[:, start : start + at_once]) * some.shape[1]
        mean: Matrices = total / n
        return mean

    def _step(self, rows: Matrices, targets: Flags) -> Matrices:
        """Take one step of Adam; return each network's loss before it."""
        coefs, intercepts = self.layout.parts(self.at)
        layers = [rows]
        for i, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
            made = layers[-1] @ coef
            made += intercept[:, None, :]
            if i < len(coefs) - 1:
                np.maximum(made, 0, out=made)
            layers.append(made)
        if layers[-1].shape[2] == 1:
            expit(layers[-1], out=layers[-1])
        else:
            _softmax(layers[-1])
        loss = self._loss(layers[-1], targets, coefs)
        slopes, n = np.empty_like(self.at), rows.shape[1]
        steep, steep_constants = self.layout.parts(slopes)
        delta = layers[-1] - targets
        for i in range(len(coefs) - 1, -1, -1):
            np.matmul(transpose(layers[i]), delta, out=steep[i])
            steep_constants[i][...] = np.sum(delta, axis=1) / n
            if i:
                delta = delta @ transpose(coefs[i])
                np.copyto(delta, 0, where=layers[i] == 0)
        penalised = slice(self.layout.n_coefs)
        slopes[:, penalised] += self.settings.alpha * self.at[:, penalised]
        slopes[:, penalised] /= n
        self._move(slopes)
        return loss

    def _loss(self, shares: Matrices, targets: Flags, coefs: list[Matrices]) -> Matrices:
        tiny = np.finfo(shares.dtype).eps
        shares = np.clip(shares, tiny, 1 - tiny)
        each = xlogy(targets, shares)
        if shares.shape[2] == 1:
            each = each + xlogy(1 - targets, 1 - shares)  # of 64 bits, here and there, since whole numbers are
        lengths: Any = 0
        for coef in coefs:
            lengths = lengths + np.array([np.dot(one, one) for one in coef.reshape(len(coef), -1)])
        loss: Matrices = -np.mean(each, axis=1).sum(axis=1)
        loss += (0.5 * self.settings.alpha) * lengths / targets.shape[1]
        return loss

    def _move(self, slopes: Matrices) -> None:
        settings = self.settings
        self.steps += 1
        rate = settings.rate * np.sqrt(1 - settings.beta_2**self.steps) / (1 - settings.beta_1**self.steps)
        self.means *= settings.beta_1
        self.means += (1 - settings.beta_1) * slopes
        self.squares *= settings.beta_2
        slopes *= slopes
        slopes *= 1 - settings.beta_2
        self.squares += slopes
        np.sqrt(self.squares, out=slopes)
        slopes += settings.epsilon
        # The rate has 64 bits in scikit-learn, too, so the step has; only the sum is rounded to 32.
        np.add(self.at, -rate * self.means / slopes, out=self.at, casting="same_kind")


def _softmax(scores: Matrices) -> None:
    moved = scores - scores.max(axis=-1)[..., None]
    np.exp(moved, out=scores)
    scores /= scores.sum(axis=-1)[..., None]
