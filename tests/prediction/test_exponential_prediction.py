"""One draw over fixed patterns: exact laws on all small samples and all their neighbours, and broken twins.

The claims are those of docs/proofs/exponential-prediction.md. With q = e^-rate a fraction, so is every chance of
the exponential mechanism; permute-and-flip has the integers of its own table. What is drawn is a rule, so two
outcomes are the same only if they agree on the whole domain.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import chain, combinations_with_replacement, product

import numpy as np
import pytest

from mapl.audit.counts.tables import below_exp
from mapl.noise import ONE
from mapl.prediction.hypotheses import Halfspaces, Intervals, Rectangles, Thresholds
from mapl.prediction.hypotheses.draw import accepting_numerators

Q = Fraction(3, 5)
LINE = [(v,) for v in (0.0, 1.0, 2.0, 3.0)]
SQUARE = [*product((0.0, 2.0), repeat=2), (1.0, 1.0)]
CLASSES = {
    "thresholds": (Thresholds(), LINE, [(1.0,), (2.0,)]),
    "intervals": (Intervals(), LINE, [(1.0,), (3.0,)]),
    "rectangles": (Rectangles(), SQUARE, [(0.0, 0.0), (2.0, 2.0), (1.0, 1.0)]),
    "halfplanes": (Halfspaces(), SQUARE, [(0.0, 0.0), (2.0, 0.0), (1.0, 1.0)]),
}
everyone = pytest.mark.parametrize(("family", "domain", "T"), CLASSES.values(), ids=CLASSES)


class World:
    """All samples of up to `most` records over a domain, and the patterns of T, which no sample changes."""

    def __init__(self, family, domain, T, most=3):
        self.domain = np.array(domain)
        self.patterns = family.patterns(np.array(T))
        self.rules = [tuple(h.predict(self.domain).tolist()) for h in self.patterns]
        self.T = T
        self.records = list(product(range(len(domain)), (0, 1)))
        kinds = range(len(self.records))
        self.samples = list(chain.from_iterable(combinations_with_replacement(kinds, n) for n in range(most + 1)))

    @cache  # noqa: B019, a world lives as long as its test
    def counts(self, sample):
        """The errors of every representative by the code under test."""
        places = np.array([self.records[k][0] for k in sample], dtype=int)
        y = np.array([self.records[k][1] for k in sample], dtype=int)
        errors = self.patterns.errors(self.domain[places], y)
        listed = errors if hasattr(errors, "counts") else errors.listed()
        return tuple(listed.counts.tolist())

    def pairs(self, adjacency):
        """Every pair of neighbours, in both orders."""
        known = set(self.samples)
        for without in self.samples:
            more = [tuple(sorted((*without, k))) for k in range(len(self.records))]
            if more[0] not in known:
                continue
            if adjacency == "add-remove":
                yield from ((without, one) for one in more)
                yield from ((one, without) for one in more)
            else:
                yield from product(more, repeat=2)

    def worst(self, law, adjacency):
        """The largest ratio of the chances of any drawn rule on any two neighbours; infinite if one has none."""
        laws = {sample: law(self, sample) for sample in self.samples}
        ratio = Fraction(1)
        for one, other in self.pairs(adjacency):
            for rule, chance in laws[one].items():
                if chance > ratio * laws[other].get(rule, 0):
                    if not laws[other].get(rule, 0):
                        return math.inf
                    ratio = chance / laws[other][rule]
        return ratio


def total(rules, chances):
    law = {}
    for rule, chance in zip(rules, chances, strict=True):
        law[rule] = law.get(rule, 0) + chance
    return law


def shares(weights):
    return [w / Fraction(sum(weights)) for w in weights]


def gaps_of(counts):
    return tuple(count - min(counts) for count in counts)


def exponential(world, sample, *, q=Q):
    return total(world.rules, shares([q**gap for gap in gaps_of(world.counts(sample))]))


@cache
def flip_chances(accepts):
    """Permute-and-flip in fractions: p_i times the integral of the product of 1 - p_j t over the others."""
    chances = []
    for i, p in enumerate(accepts):
        polynomial = [Fraction(1)]
        for other in accepts[:i] + accepts[i + 1 :]:
            times_t = [Fraction(0), *polynomial]
            polynomial = [a - other * b for a, b in zip([*polynomial, Fraction(0)], times_t, strict=True)]
        chances.append(p * sum(c / (k + 1) for k, c in enumerate(polynomial)))
    return chances


def permute_and_flip(world, sample, *, rate=0.5):
    table = accepting_numerators(rate)
    accepts = tuple(Fraction(int(table[min(gap, len(table) - 1)]), ONE) for gap in gaps_of(world.counts(sample)))
    return total(world.rules, flip_chances(accepts))


@everyone
def test_the_exponential_mechanism_keeps_the_rate_under_both_adjacencies(family, domain, T):
    """The claim holds, and no much smaller one does: replacing an example does cost more than adding one."""
    world = World(family, domain, T)
    assert Fraction(7, 5) < world.worst(exponential, "add-remove") <= 1 / Q
    assert 2 < world.worst(exponential, "replace-one") <= 1 / Q**2


@everyone
def test_permute_and_flip_keeps_the_rate_with_the_integers_of_its_table(family, domain, T):
    world = World(family, domain, T)
    once = below_exp(0.5)
    assert Fraction(3, 2) < world.worst(permute_and_flip, "add-remove") <= once
    assert 2 < world.worst(permute_and_flip, "replace-one") <= below_exp(1.0)


@everyone
def test_an_added_example_moves_all_gaps_by_nothing_or_up_or_all_by_nothing_or_down(family, domain, T):
    world = World(family, domain, T)
    seen = set()
    for without, more in world.pairs("add-remove"):
        if len(more) > len(without):
            before, after = world.counts(without), world.counts(more)
            assert {b - a for a, b in zip(before, after, strict=True)} <= {0, 1}
            moves = {b - a for a, b in zip(gaps_of(before), gaps_of(after), strict=True)}
            assert moves <= {0, 1} or moves <= {0, -1}
            seen |= moves
    assert seen == {0, 1, -1}


def test_the_fractions_of_permute_and_flip_sum_to_one_and_are_those_of_two_coins():
    assert flip_chances((Fraction(1), Q)) == [1 - Q / 2, Q / 2]
    assert sum(flip_chances((Fraction(1), Q, Q**2, Q**2))) == 1


def nearest_example(world, sample):
    """Move each threshold half-way to the next example below it: a rule then tells where that example is."""
    values = sorted(float(world.domain[world.records[k][0]][0]) for k in sample)
    moved = []
    for h in world.patterns:
        below = [v for v in values if v < h.value]
        moved.append((h.value + below[-1]) / 2 if below and h.value < math.inf else h.value)
    rules = [tuple((world.domain[:, 0] >= value).astype(int).tolist()) for value in moved]
    return total(rules, shares([Q**gap for gap in gaps_of(world.counts(sample))]))


def doubled_rate(world, sample):
    return exponential(world, sample, q=Q**2)


def counted_twice(world, sample):
    """Add the errors on the examples of T to those on the sample that already holds them."""
    again = tuple(k for k in sample if tuple(world.domain[world.records[k][0]]) in world.T)
    counts = [a + b for a, b in zip(world.counts(sample), world.counts(again), strict=True)]
    return total(world.rules, shares([Q**gap for gap in gaps_of(counts)]))


def floored_weights(world, sample):
    """Round integer weights down: 8, 4, 2, 1 fall by 2 a step, more than 5/3."""
    return total(world.rules, shares([math.floor(8 * Q**gap) for gap in gaps_of(world.counts(sample))]))


def floored_shares(world, sample):
    """Round chances down to a table of sixteenths whose scale is the sample's own sum."""
    every = shares([Q**gap for gap in gaps_of(world.counts(sample))])
    return total(world.rules, shares([math.floor(16 * share) for share in every]))


def only_near_the_best(world, sample):
    """Leave out what is two errors or more behind the best."""
    return total(world.rules, shares([Q**gap * (gap < 2) for gap in gaps_of(world.counts(sample))]))


def only_the_best(world, sample):
    gaps = gaps_of(world.counts(sample))
    return total(world.rules, shares([gap == 0 for gap in gaps]))


def flips_in_order(world, sample):
    """Flip the coins of permute-and-flip without the permutation."""
    chances, left = [], Fraction(1)
    for gap in gaps_of(world.counts(sample)):
        chances.append(left * Q**gap)
        left -= chances[-1]
    return total(world.rules, chances)


def floored_coins(world, sample):
    """Round the coins of permute-and-flip down to eighths."""
    accepts = tuple(Fraction(math.floor(8 * Q**gap), 8) for gap in gaps_of(world.counts(sample)))
    return total(world.rules, flip_chances(accepts))


TWINS = [
    nearest_example,
    doubled_rate,
    counted_twice,
    floored_weights,
    floored_shares,
    only_near_the_best,
    only_the_best,
    flips_in_order,
    floored_coins,
]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_broken_twins_are_caught(twin, adjacency):
    world = World(*CLASSES["thresholds"], most=5)
    claim = 1 / Q if adjacency == "add-remove" else 1 / Q**2
    assert world.worst(exponential, adjacency) <= claim
    assert world.worst(twin, adjacency) > claim
