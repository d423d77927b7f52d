"""Coins: uniform bits turned into exact Bernoulli, choice and noise draws by integer comparisons."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import EntropyFailure, InvalidParameter
from mapl.noise.tables import NoiseTable
from mapl.types import Words

BITS = 62
ONE = 1 << BITS
"""Denominator of every Bernoulli numerator: probability p is the integer p * ONE."""

BLOCK = 1 << 14


class Coins(ABC):
    """A source of uniform words and the exact draws made of them."""

    private: bool
    """Whether what these coins decide may be called private; artefacts print it."""

    @abstractmethod
    def words(self, n: int) -> Words:
        """Return n independent uniform 64-bit words."""

    def flip(self, numerators: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return True with probability numerator / ONE, independently for each numerator."""
        uniform = self.words(numerators.size) >> np.uint64(64 - BITS)
        passed: NDArray[np.bool_] = uniform.view(np.int64).reshape(numerators.shape) < numerators
        return passed

    def draw(self, table: NoiseTable, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent draws of integer noise, in blocks that stay in the processor's cache."""
        out = np.empty(int(np.prod(shape)), dtype=np.int64)
        for start in range(0, out.size, BLOCK):
            block = out[start : start + BLOCK]
            block[:] = table.invert(self.words(block.size), self.words)
        return out.reshape(shape)

    def below(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return uniform integers below each bound (at most ONE), by rejection, hence exactly."""
        if bounds.size and not (bounds.min() >= 1 and bounds.max() <= ONE):
            raise InvalidParameter("A bound for a uniform integer is outside 1 .. 2**62; check the weights.")
        out = np.empty(bounds.shape, dtype=np.int64)
        todo = np.arange(bounds.size)
        while todo.size:
            bound = bounds[todo]
            uniform = (self.words(todo.size) >> np.uint64(64 - BITS)).view(np.int64)
            fair = uniform < (ONE // bound) * bound
            out[todo[fair]] = uniform[fair] % bound[fair]
            todo = todo[~fair]
        return out

    def choose(self, weights: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return for each row an index with probability proportional to its integer weight."""
        ends = np.cumsum(weights, axis=1)
        picked = self.below(ends[:, -1])
        return np.asarray((picked[:, None] >= ends).sum(axis=1, dtype=np.int32))

    def __reduce__(self) -> Any:
        raise TypeError("Coins are never copied or stored: a replayed coin protects nobody.")


class SystemCoins(Coins):
    """Words straight from the operating system's generator.

    Nothing is buffered, so a forked process can never replay its parent's coins. If the generator
    fails, the release is abandoned.
    """

    private = True

    def words(self, n: int) -> Words:
        try:
            raw = os.urandom(8 * n)
        except (OSError, NotImplementedError) as failure:
            raise EntropyFailure(
                "The operating system's random generator failed; nothing was released. Repair it and run again."
            ) from failure
        if len(raw) != 8 * n:
            raise EntropyFailure(
                "The operating system's random generator gave too few bytes; nothing was released."
            )
        return np.frombuffer(raw, dtype=np.uint64)


class SeededCoins(Coins):
    """Reproducible words for tests and benchmarks; everything they touch is NOT PRIVATE."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def words(self, n: int) -> Words:
        return np.asarray(self._generator.random_raw(n), dtype=np.uint64)
