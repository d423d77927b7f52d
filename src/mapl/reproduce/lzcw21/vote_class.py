"""Section 3.2 of LZCW21: how rich the class of votes of K classifiers is, found by enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from mapl.bounds.learners import log_growth
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.worlds import FewRules


def votes_of(rules: FewRules, voters: int) -> FewRules:
    """Return all votes of so many rules of a class, repeated or not; ties say 1, as in Algorithm 2, line 9.

    Examples
    --------
    >>> votes_of(FewRules(((0, 1), (1, 0))), 2).rules
    ((0, 1), (1, 0), (1, 1))
    """
    chosen = np.array(list(combinations_with_replacement(rules.rules, voters)))
    return FewRules.of(np.unique(2 * chosen.sum(axis=1) >= voters, axis=0).astype(np.int64))


def nearly_all_pairs() -> FewRules:
    """Return the class on five points that says 1 on two of them at most, with {2, 3, 4} in place of {3, 4}.

    Three points that it labels in all ways would have to be 2, 3 and 4, the only three with a rule that says 1 on
    all of them; no rule says 1 on 3 and 4 without 2. So d is 2. Every set of points is the union of two of these:
    up to two points of two single ones, three and four of pairs other than {3, 4}, and all five of {0, 1} and
    {2, 3, 4}. A vote of two whose ties say 1 is a union.
    """
    ones = [set(points) for size in range(3) for points in combinations(range(5), size)]
    ones[ones.index({3, 4})] = {2, 3, 4}
    return FewRules(tuple(tuple(int(point in each) for point in range(5)) for each in ones))


IN_THE_PLANE = ((1, 0), (4, 3), (-1, 0), (6, 3), (4, -5), (-3, -1), (2, 4), (-6, -5), (-3, 5), (-5, 6))
"""Ten points, no three on a line, which votes of three half-planes label in all ways; found by trying."""


def half_planes(points: Sequence[tuple[int, int]]) -> FewRules:
    """Return all that half-planes say of some points, no three of which lie on a line.

    Every half-plane can be moved until its edge runs through two of the points and no other changes sides, and a
    small turn or shift of the edge gives these two any labels.
    """
    place = np.array(points)
    found = {(0,) * len(points), (1,) * len(points)}
    for i, j in combinations(range(len(points)), 2):
        (x, y), away = place[j] - place[i], place - place[i]
        side = (y * away[:, 0] - x * away[:, 1] > 0).astype(np.int64)
        for said in (side, 1 - side):
            for said[i], said[j] in product((0, 1), repeat=2):
                found.add(tuple(said.tolist()))
    return FewRules(tuple(sorted(found)))


def classes_of_dimension_one(points: int) -> Iterator[FewRules]:
    """Yield every class of VC dimension 1 on so many points: by Sauer's lemma of points + 1 rules at most."""
    every = tuple(product((0, 1), repeat=points))
    for size in range(2, points + 2):
        for rules in combinations(every, size):
            if (found := FewRules(rules)).vc == 1:
                yield found


def most_shattered(vc: int, voters: int) -> int:
    """Return the most points v that votes may label in all ways: 2^v is at most G(v)^K, G by Sauer's lemma."""
    points = vc * voters
    while voters * log_growth(points + 1, vc) >= log_growth(points + 1, points + 1):
        points += 1
    return points


def dimension_of_votes(effort: ReproductionEffort) -> Evidence:
    cases = ((nearly_all_pairs(), 2), (half_planes(IN_THE_PLANE), 3))
    (d, found), (d_plane, found_plane) = dims = [(rules.vc, votes_of(rules, k).vc) for rules, k in cases]
    # Where votes label K + 1 points in all ways, so do the votes of what the class is on these points alone.
    richer = sum(votes_of(one, k).vc > k for k in (2, 3) for one in classes_of_dimension_one(k + 1))
    return Evidence(
        {
            "d, sets of five points": d,
            "VC dimension of their votes of two": found,
            "VC dimension over K d, votes of two sets": found / (2 * d),
            "d, half-planes on ten points": d_plane,
            "VC dimension of their votes of three": found_plane,
            "VC dimension over K d, votes of three half-planes": found_plane / (3 * d_plane),
            "VC dimension of votes over what Sauer's lemma allows, at most": max(
                vc / most_shattered(own, k) for (own, vc), (_, k) in zip(dims, cases, strict=True)
            ),
            "classes with d = 1 whose votes of two or three have more than K": richer,
        },
        notes=(
            f"{len(cases[0][0].rules)} classifiers of five points: those that say 1 on at most two, but not on "
            "{3, 4} and instead on {2, 3, 4}. Their votes of two, ties say 1 (Algorithm 2, line 9), label the "
            "points in all 32 ways. All subsets and all votes were enumerated, and so were all classes with d = 1 "
            "on three points for K = 2 and on four points for K = 3.",
            f"Half-planes label the points {', '.join(map(str, IN_THE_PLANE))} in {len(cases[1][0].rules)} "
            "ways, and their votes of three, which have no ties, in all 1,024.",
        ),
    )


CLAIMS = (
    PaperClaim(
        name="vote-dimension",
        place="Section 3.2, before Theorem 13",
        says="If H has VC dimension d, the votes of K of its classifiers have VC dimension K d at most.",
        check="mapl bounds lzcw21 theorem-13 --m 3000000 --nu 0 --margin 0.357 --vc 1 --epsilon 1 --delta 1e-6",
        measure=dimension_of_votes,
        printed=(
            Demand("VC dimension over K d, votes of two sets", most=1.0),
            Demand("VC dimension over K d, votes of three half-planes", most=1.0),
        ),
        correction="2^v ≤ G(v)^K with Sauer's G leaves a VC dimension v of the order K d ln K (Theorem 13 then has "
        "K ln G(2m) in place of K d). Where d is 1, votes of two and of three have no more than K.",
        corrected=(
            Demand("VC dimension of votes over what Sauer's lemma allows, at most", most=1.0),
            Demand("classes with d = 1 whose votes of two or three have more than K", most=0),
        ),
    ),
)
