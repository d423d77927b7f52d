"""Subsample and aggregate: what most bags say about anything is a stable query, whatever the function."""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.data.units.bags import Bagged
from mapl.errors import InvalidParameter
from mapl.planning.plan import canonical
from mapl.release.queries.leader import leader
from mapl.release.queries.query import Named

FAILED = None
"""The value of a bag on which the function fails or returns nothing that can be compared."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The value that a function has on most bags (Smith and Thakurta, 2013).

    Parameters
    ----------
    name
        What is asked, in public words.
    function
        Called with the features, or features and labels, of one bag. What it returns must follow from these and
        from public things alone. Generators of its own have to be seeded; the global ones are seeded anew for
        every bag, so that how often one bag drew from them moves no other.

    Notes
    -----
    *Guarantee.* A stable query: a unit in at most s of the K bags moves at most s of the K values, each of which
    moves a difference of counts by at most 2. Theorem 2 of docs/proofs/stable-queries.md.
    """

    name: str
    function: Callable[..., Any]

    def __call__(self, data: Bagged) -> tuple[Any, int]:
        said = values_of(self.function, data)
        counts: Counter[str | None] = Counter(canonical(value) for value in said)
        winner, distance = leader(counts, moves=2 * data.bags.most)
        return next((value for value in said if canonical(value) == winner), FAILED), distance


def each_of(items: Collection[str], function: Callable[..., Any], data: Bagged) -> list[Named]:
    """Return one stable query for each of some items: is it among those that the function picks on most bags?

    The function, which returns a collection of items, runs once on every bag. Private, as the queries are.
    """
    if not items or len(set(items)) < len(items):
        raise InvalidParameter("The items to choose among are none, or one is listed twice; list each one once.")
    chosen = [_collected(value) for value in values_of(function, data)]
    return [Named(f"is {item} chosen", _Majority(item, chosen, 2 * data.bags.most)) for item in items]


def values_of(function: Callable[..., Any], data: Bagged) -> list[Any]:
    """Return the function's value on every bag, FAILED where it has none. Private."""
    return [_value(function, data, k) for k in range(data.bags.n_bags)]


def _value(function: Callable[..., Any], data: Bagged, k: int) -> Any:
    try:
        with warnings.catch_warnings(), _own_draws(k):
            warnings.simplefilter("ignore")
            value = function(*data.bag(k))
        canonical(value)
    except Exception:  # whatever a bag makes of the function, it has one value, and no message quotes a row
        return FAILED
    return value


@contextmanager
def _own_draws(k: int) -> Iterator[None]:
    """Let the global generators begin at a place of the bag's own, and give them back as they were."""
    torch = sys.modules.get("torch")
    numpys = np.random.get_state()  # noqa: NPY002  (functions may use the global generator)
    before = random.getstate(), None if torch is None else torch.get_rng_state()
    random.seed(k)
    np.random.seed(k)  # noqa: NPY002
    if torch is not None:
        _seed_torch(torch, k)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(numpys)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(before[1])


def _seed_torch(torch: Any, k: int) -> None:
    """Seed torch: its own function asks for every kind of device first, which takes longer than most bags."""
    versions = (getattr(torch.version, kind, None) for kind in ("cuda", "hip", "xpu"))
    if all(version is None for version in versions) and not torch.backends.mps.is_built():
        torch.default_generator.manual_seed(k)
    else:
        torch.manual_seed(k)


def _collected(value: Any) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else frozenset()


@dataclass(frozen=True, slots=True, repr=False)
class _Majority:
    """Whether more bags picked an item than did not. Private."""

    item: str
    chosen: list[frozenset[str]]
    moves: int

    def __call__(self, data: Bagged) -> tuple[bool, int]:
        picked = sum(self.item in one for one in self.chosen)
        winner, distance = leader({False: len(self.chosen) - picked, True: picked}, moves=self.moves)
        return bool(winner), distance
