"""An exact adversary against noisy shares: every way in which one teacher's shares can change, and what it tells.

What is published of a question are sums with independent noise. An adversary who knows by what vector d the sums
may have changed looks at the published numbers along d: a whole number, whose two laws are listed exactly. For
normal noise nothing is lost by that; for rounded noise next to nothing is. It may ask any change, at any time, by
all that was published before.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from mapl.audit.finding import Finding
from mapl.audit.soft.labels import examine_pairs
from mapl.audit.votes.histograms import Pairs
from mapl.audit.votes.limits import RunEnds
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.mechanisms.scores.scores import TOP
from mapl.mechanisms.tables.noise_law import masses
from mapl.types import Budget, Floats

SAID = (0, TOP // 2, TOP)
"""What a teacher may say about a class; all combinations are listed, those that add up to nothing sensible too."""


def audit_shares(mechanism: NoisyShares, budget: Budget, *, law: NoisyShares | None = None) -> Finding:
    """Compare what noisy shares claim with what an adversary learns when one teacher's shares change.

    Parameters
    ----------
    mechanism
        In coarse steps (`in_coarse_steps`): every change of a teacher's parts is listed.
    law
        What actually runs, if that is not the mechanism: a broken twin.
    """
    real = mechanism if law is None else law
    laws = [_laws(real, change) for change in changes(real)]
    widest = max(len(one) for one, _ in laws)
    p, q = (np.array([np.pad(pair[side], (0, widest + 1 - len(pair[side]))) for pair in laws]) for side in (0, 1))
    questions = mechanism.max_answers // mechanism.n_shares
    limits = RunEnds(answers=questions)
    pairs = Pairs.of(p, q, widest)
    return examine_pairs(mechanism, budget, pairs, limits, questions, certified=real.certify(budget))


def changes(mechanism: NoisyShares) -> list[tuple[int, ...]]:
    """Return all vectors by which one teacher can change the sums of a question, up to the order of the classes."""
    said = np.array(list(product(SAID, repeat=mechanism.n_shares)), dtype=np.int64)
    parts = [mechanism.parts(said, np.full(len(said), dice, dtype=np.int64)) for dice in (0, TOP - 1)]
    found = {
        tuple(sorted(change.tolist()))
        for points in parts
        for change in (points[:, None] - points[None, :]).reshape(-1, mechanism.n_shares)
    }
    return sorted(change for change in found if any(change))


def _laws(mechanism: NoisyShares, change: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the laws of the published numbers along a change, without it and with it."""
    noise, steps = masses(mechanism.noise), np.array(change, dtype=np.int64)
    steps //= np.gcd.reduce(steps)
    along: Floats = np.ones(1)
    for step in steps[steps != 0].tolist():
        along = np.convolve(along, _stretched(noise, step))
    moved = int(steps @ np.array(change))
    still = np.zeros(moved)
    return np.concatenate([along, still]), np.concatenate([still, along])


def _stretched(noise: Floats, step: int) -> Floats:
    """Return the law of `step` times the noise."""
    apart = np.zeros((len(noise) - 1) * abs(step) + 1)
    apart[:: abs(step)] = noise if step > 0 else noise[::-1]
    return apart
