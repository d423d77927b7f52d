"""Adversaries against a mechanism with a secret: exact joint laws of the secret and all that was published.

A transcript's probability under P is the sum over secrets of the products of its outcomes' chances, so a
strategy is played with one vector over the secrets for P and one for Q. Two families of strategies are played:
every adaptive strategy of a few questions from a menu, and long runs of one pair followed by another (learn
the secret, then use it). Everything found is a lower bound on what the best adversary reaches.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mapl.audit.votes.histograms import NEVER, Law
from mapl.audit.votes.secrets import Secrets
from mapl.types import Floats, Integers

LIKELY = (1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
"""Questions of the menu: votes whose last class is published with about these probabilities."""
Score = Callable[[Floats, Floats], Floats]
"""What pairs of transcript probabilities under P and Q are worth; a strategy's worth is their sum."""


def hockey_stick(epsilon: float) -> Score:
    """Return the score whose sum is delta at epsilon."""
    return lambda p, q: np.maximum(p - math.exp(epsilon) * q, 0.0)


def moment(order: float, least: float = NEVER) -> Score:
    """Return the score whose sum is the Renyi moment at an order, of transcripts with at least some probability."""

    def score(p: Floats, q: Floats) -> Floats:
        kept = (p > least) & (q > least)
        p, q = np.where(kept, p, 1.0), np.where(kept, q, 1.0)
        return np.where(kept, np.exp(np.minimum(order * np.log(p) + (1 - order) * np.log(q), 600.0)), 0.0)

    return score


@dataclass(frozen=True)
class Menu:
    """Two-class questions worth asking, each a pair of neighbouring (or equal) vote histograms."""

    secrets: Secrets
    p: Floats
    """Chances under P: (question, secret, outcome)."""
    q: Floats
    names: tuple[str, ...]
    levels: int
    """The first `levels` questions add a vote, the next as many take it back, the others are unmoved."""
    max_abstentions: int | None

    @classmethod
    def of(cls, law: Law, secrets: Secrets, n_teachers: int, max_abstentions: int | None) -> Menu:
        """Take votes around every level of LIKELY, and around the tie, in both directions and unmoved."""
        last = np.arange(n_teachers + 1)
        rows = np.column_stack([n_teachers - last, last])
        published = secrets.average(law, rows)[:, 1]
        levels = {int(np.abs(published - level).argmin()) for level in LIKELY}
        chosen = sorted({min(c, n_teachers - 1) for c in levels} | {n_teachers // 2})
        pairs = [(c, c + 1) for c in chosen] + [(c + 1, c) for c in chosen]
        pairs += [(c, c) for c in sorted({*chosen, *(c + 1 for c in chosen)})]
        asked = sorted({c for pair in pairs for c in pair})
        laws = secrets.laws(law, rows[asked])
        before, after = (np.searchsorted(asked, side) for side in zip(*pairs, strict=True))
        names = tuple(f"{i} or {j} of {n_teachers}" for i, j in pairs)
        return cls(secrets, laws[before], laws[after], names, len(chosen), max_abstentions)

    @property
    def abstaining(self) -> int:
        return int(self.p.shape[2]) - 1


def best_adaptive(menu: Menu, questions: int, score: Score) -> float:
    """Return the largest score of all adaptive strategies of this many questions from the menu."""
    weights = menu.secrets.weights
    flat = [side.transpose(1, 0, 2).reshape(len(weights), -1) for side in (menu.p, menu.q)]

    def worth(p: Floats, q: Floats, abstained: int, left: int) -> float:
        if left == 0 or abstained == menu.max_abstentions:
            return float(score(np.array([p.sum()]), np.array([q.sum()]))[0])
        if left == 1:
            outcomes = score(p @ flat[0], q @ flat[1]).reshape(len(menu.p), -1)
            return float(outcomes.sum(axis=1).max())
        best = 0.0
        for law_p, law_q in zip(menu.p, menu.q, strict=True):
            total = 0.0
            for o in range(law_p.shape[1]):
                next_p, next_q = p * law_p[:, o], q * law_q[:, o]
                if not next_p.any():
                    continue
                abstains = o == menu.abstaining
                if abstains and menu.secrets.refreshed:
                    next_p, next_q = weights * next_p.sum(), weights * next_q.sum()
                total += worth(next_p, next_q, abstained + abstains, left - 1)
            best = max(best, total)
        return best

    return worth(weights, weights, 0, questions)


@dataclass(frozen=True)
class Run:
    """The law of what a strategy publishes, transcripts of equal likelihood taken together."""

    p: Floats
    q: Floats
    halts: Integers
    """1 where the run can go on no further (or the adversary gives up), 0 where a new secret is drawn."""
    strategy: str


def block_strategies(menu: Menu, longest: int) -> list[Run]:
    """Play n1 times one pair, then another up to `longest` questions in all, for all likely pairs of the menu.

    With a refreshed secret the run ends at the first abstention: an epoch, which can be played again.
    """
    found = []
    for first in range(2 * menu.levels):
        for second in (first, (first + menu.levels) % (2 * menu.levels)):
            for length in {longest} if second == first else {1, 4, longest // 4, longest // 2}:
                found.append(play(menu, [first] * length + [second] * (longest - length)))
    return found


def play(menu: Menu, questions: list[int]) -> Run:
    """Return the exact law of the transcripts of a fixed list of questions."""
    limit = 1 if menu.secrets.refreshed else menu.max_abstentions
    weights, abstaining = menu.secrets.weights, menu.abstaining
    # A node is a set of transcripts with the same outcomes, in any order: equally likely given the secret.
    nodes: dict[tuple[tuple[int, int], ...], tuple[Floats, Floats]] = {(): (weights, weights)}
    ends: list[tuple[float, float, int]] = []
    for question in questions:
        law_p, law_q = menu.p[question], menu.q[question]
        usual = next((o for o in range(abstaining) if law_p[:, o].any() and law_q[:, o].any()), None)
        after: dict[tuple[tuple[int, int], ...], list[tuple[Floats, Floats]]] = defaultdict(list)
        for node, (p, q) in nodes.items():
            for o in range(law_p.shape[1]):
                next_p, next_q = p * law_p[:, o], q * law_q[:, o]
                # The usual outcome needs no mention: it is what the others leave.
                key = node if o == usual else tuple(sorted((*node, (question, o))))
                if o == abstaining and sum(outcome == abstaining for _, outcome in key) == limit:
                    ends.append((float(next_p.sum()), float(next_q.sum()), int(not menu.secrets.refreshed)))
                elif next_p.any() and next_q.any():
                    after[key].append((next_p, next_q))
                else:
                    ends.append((float(next_p.sum()), float(next_q.sum()), 1))
        nodes = {
            key: (np.sum([p for p, _ in parts], axis=0), np.sum([q for _, q in parts], axis=0))
            for key, parts in after.items()
        }
    ends += [(float(p.sum()), float(q.sum()), 1) for p, q in nodes.values()]
    table = np.array(ends)
    strategy = " then ".join(_counted(menu, questions))
    return Run(table[:, 0], table[:, 1], table[:, 2].astype(np.int64), strategy)


def _counted(menu: Menu, questions: list[int]) -> list[str]:
    runs: list[list[int]] = []
    for question in questions:
        if runs and runs[-1][0] == question:
            runs[-1][1] += 1
        else:
            runs.append([question, 1])
    return [f"{n} times {menu.names[question]}" for question, n in runs]
