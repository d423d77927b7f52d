"""Theorems 12 and 13 and Remark 14 of LZCW21: students of a crowd that agrees on something, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mapl.bounds.lzcw21.margin import AGREED_MARGIN, crowd, remark_14, theorem_12, theorem_13
from mapl.bounds.lzcw21.voting import infinite_ensemble, small_margin_share
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.btt18.rates import power_line, slope_of
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import BUDGET, publish, student
from mapl.reproduce.crowds.teachers import best_cuts, teach
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.lzcw21.vote_class import votes_of
from mapl.reproduce.worlds import FewRules, LabelNoise, ThresholdWorld, voting_fails, voting_wins
from mapl.types import ABSTAIN, Floats, Tallies

BETA = 0.05
LETTERS: Any = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta, "beta": BETA}
JUST_BELOW = 1 - 1e-6
"""Definition 10 counts questions whose margin is Delta: with a Delta just below all margins there are none."""


@dataclass(frozen=True, slots=True)
class CrowdOfRules:
    """A world of a few rules, its infinite ensemble, and Algorithm 2 with the K and T of Proposition 11."""

    world: FewRules
    m: int

    @property
    def ensemble(self) -> FewRules:
        """What infinitely many teachers vote, as the only rule of a class."""
        return FewRules((tuple(infinite_ensemble(self.world.right).tolist()),))

    @property
    def margin(self) -> float:
        return min(abs(chance - 0.5) for chance in self.world.right) * JUST_BELOW

    @property
    def least_disagreement(self) -> float:
        """How often the nearest rule of the class differs from the ensemble."""
        rules, (votes,) = np.array(self.world.rules), self.ensemble.rules
        return float((rules != np.array(votes)).mean(axis=1).min())

    def labels(self, number: int, share: float = 1.0) -> tuple[NDArray[np.int64], int]:
        """Return how many labels of either kind every point got, and how many labels are not the ensemble's.

        With a share below 1 there are fewer teachers than Proposition 11 asks for, and everything else is the same.
        """
        assert small_margin_share(self.world.right, self.margin) == 0
        found = crowd(self.m, 0.0, self.margin, **LETTERS)
        rng, coins = np.random.default_rng((23, number)), SeededCoins(number)
        rules = np.array(self.world.rules)
        # Teachers are each rule equally often, see `FewRules`.
        teachers = as_votes_of_all(found.teachers * share, len(rules))
        ones = rng.multinomial(teachers, np.full(len(rules), 1 / len(rules))) @ rules
        mechanism = make("lzcw21-sparse", Task(BUDGET, teachers, 2, self.m), max_abstentions=found.cutoff)
        points = rng.integers(self.world.n_points, size=self.m)
        labels = publish(mechanism, Tallies(np.column_stack([teachers - ones, ones])[points]), coins)
        wrong = int(np.count_nonzero(labels != np.array(self.ensemble.rules[0])[points]))
        known = labels != ABSTAIN
        table = np.bincount(2 * points[known] + labels[known], minlength=2 * self.world.n_points)
        return table.reshape(-1, 2), wrong


def as_votes_of_all(teachers: float, rules: int) -> int:
    """Round up to an odd multiple of an odd number of rules: a vote of that number is then one of so many, too."""
    times = int(np.ceil(teachers / rules))
    return rules * (times + 1 - times % 2)


def fit(students: FewRules, table: NDArray[np.int64]) -> tuple[float, int]:
    """Return the error of the rule that fits labels best, the worst of those where several do, and its mistakes."""
    rules = np.array(students.rules)
    mistakes = np.where(rules == 1, table[:, 0], table[:, 1]).sum(axis=1)
    best = np.flatnonzero(mistakes == mistakes.min())
    return max(students.errors[each] for each in best), int(mistakes.min())


TERMS = (
    f"Epsilon {BUDGET.epsilon:g} at delta {BUDGET.delta:g}, failure probability {BETA:g} for each part; K and T of "
    "Proposition 11, corrected. Example 9 is five points, of which each classifier gets two wrong, "
    "Example 8 four, of which the vote gets three wrong; errors are exact given the student."
)


def students_of_the_class(effort: ReproductionEffort) -> Evidence:
    """Compare students of H with what Theorem 12 grants, where the ensemble is not in H and where it is."""
    m, runs = effort.choose(3000, 30_000), effort.choose(2, 20)
    over_bound, over_order, broken, times = [], [], 0, 0
    for world in (voting_wins(), voting_fails()):
        one = CrowdOfRules(world, m)
        bound = theorem_12(
            m, 0.0, margin=one.margin, vc=world.vc, best_disagreement=one.least_disagreement, **LETTERS
        )
        cutoff = bound.terms["cutoff"]
        for number in range(runs):
            table, wrong = one.labels(number)
            above = fit(world, table)[0] - world.limit_error
            over_bound.append(above / bound.value)
            over_order.append(above / (one.least_disagreement + 2 * cutoff / m))
            broken, times = broken + (wrong > cutoff), times + 1
    line, bounds = [], []
    for rows in (10, 30, 100):
        above, most, wrong = students_on_a_line(rows, m, runs)
        line.append((float(rows), above))
        bounds.append((float(rows), most))
        over_bound.append(above / most)
        broken, times = broken + wrong, times + runs
    few = CrowdOfRules(voting_wins(), m).labels(0, share=0.1)[1]
    return Evidence(
        {
            "error of students of H above the ensemble's, over the bound, at most": max(over_bound),
            "the same over min Dis(h, h∞) + 2T/m, Examples 8 and 9, at most": max(over_order),
            "share of runs with more than T labels that are not the ensemble's": broken / times,
            "share of such labels with a tenth of the teachers, Example 9": few / m,
        },
        LogPicture(
            "Error of the student above the ensemble's, on a line",
            "rows of each teacher",
            "error",
            (LogLine("student", tuple(line)), LogLine("Theorem 12 with its constants", tuple(bounds), theory=True)),
        ),
        (
            TERMS,
            f"m = {m:,}, {runs} runs each. On a line without label noise the ensemble is the best cut, and ν is "
            "known.",
        ),
    )


def students_on_a_line(rows: int, m: int, runs: int) -> tuple[float, float, int]:
    """Return the worst student's error above the ensemble's, the bound, and in how many runs too many labels miss.

    A teacher's cut lies in the middle between two neighbours of the best one, whose distances to it are
    exchangeable: the ensemble is the best cut, and at a distance u from it a teacher is right with chance
    1 - (1 - 2u)^N/2, so that nu at margin Delta is 1 - (1 - 2 Delta)^(1/N) (but for 2^-N).
    """
    world, margin = ThresholdWorld(), 0.25
    nu = 1 - (1 - 2 * margin) ** (1 / rows) + 2.0**-rows
    found = crowd(m, nu, margin, **LETTERS)
    mechanism = make("lzcw21-sparse", Task(BUDGET, found.teachers, 2, m), max_abstentions=found.cutoff)
    worst, broken = 0.0, 0
    for number in range(runs):
        rng = np.random.default_rng((29, rows, number))
        teachers = teach(world, rows * found.teachers, found.teachers, rng)
        X, _ = world.sample(m, rng)
        labels = publish(mechanism, teachers.votes(X), SeededCoins(number))
        broken += int(np.count_nonzero(labels != world.bayes(X))) > found.cutoff
        worst = max(worst, world.excess_risk(student(world, X, labels)))
    return worst, theorem_12(m, nu, margin=margin, vc=1, **LETTERS).value, broken


def students_that_vote(effort: ReproductionEffort) -> Evidence:
    """Compare students that are votes themselves with Theorem 13, as printed and with its logarithm."""
    m, runs = effort.choose(3_000_000, 10_000_000), effort.choose(2, 4)
    printed, corrected, mistakes, alone = [], [], [], []
    for world in (voting_wins(7, n_wrong=1), voting_fails()):
        one = CrowdOfRules(world, m)
        bound = theorem_13(m, 0.0, margin=one.margin, vc=world.vc, **LETTERS)
        students = votes_of(world, len(world.rules))
        for number in range(runs):
            table, _ = one.labels(number)
            error, made = fit(students, table)
            printed.append((error - world.limit_error) / bound.terms["printed_form"])
            corrected.append((error - world.limit_error) / bound.value)
            mistakes.append(made - int(table.min(axis=1).sum()))
        alone.append((min(world.errors) - world.limit_error) / bound.terms["printed_form"])
    return Evidence(
        {
            "error of voting students above the ensemble's, over the printed bound, at most": max(printed),
            "the same over the bound with the logarithm, at most": max(corrected),
            "mistakes on labels beyond those of the best of all classifiers, at most": max(mistakes),
            "error of the best of H above the ensemble's, over the printed bound, Example 9": alone[0],
        },
        notes=(
            TERMS,
            f"m = {m:,}, {runs} runs each; here Example 9 is seven points, each classifier gets one wrong. "
            "Students are the best of all votes of as many classifiers as there are in the class, which are votes "
            "of K, too.",
        ),
    )


def margins_by_rows(effort: ReproductionEffort) -> Evidence:
    """Measure nu at margin 1/6 where tau is known, and the two steps that lead to it."""
    teachers = effort.choose(3000, 20_000)
    sizes = (30, 100, 300, 1000)
    curves: dict[str, tuple[tuple[float, float], ...]] = {}
    over_bound, first, second = [], [], []
    for name, noise in (("τ = 1", LabelNoise.massart(0.2)), ("τ = 1/2", LabelNoise(0.5))):
        world, points = ThresholdWorld(cut=0.3, noise=noise), []
        for rows in sizes:
            rng = np.random.default_rng((31, rows))
            cuts = cuts_of(world, rows, teachers, rng)
            # A cut x has the expected vote P[cut <= x]: it lies within 1/6 of 1/2 between two quantiles.
            low, middle, high = np.quantile(cuts, (0.5 - AGREED_MARGIN, 0.5, 0.5 + AGREED_MARGIN))
            differs = float(np.mean(np.abs(cuts - world.cut)))
            points.append((float(rows), float(high - low)))
            bound = remark_14(rows, 1, tau=noise.tau, eta=noise.eta).value
            over_bound.append(float(high - low) / bound)
            first.append(float(high - low) / (3 * differs))
            second.append(abs(float(middle) - world.cut) / (2 * differs))
        curves[name] = tuple(points)
    return Evidence(
        {
            "power of the rows in ν, τ = 1": slope_of(curves["τ = 1"]),
            "power of the rows in ν, τ = 1/2": slope_of(curves["τ = 1/2"]),
            "ν over the bound with constants, at most": max(over_bound),
            "ν over 3 E Dis(h, h*), at most": max(first),
            "Dis(h∞, h*) over 2 E Dis(h, h*), at most": max(second),
        },
        LogPicture(
            "Share of rows on which teachers agree by 1/6 or less",
            "rows of each teacher n/K",
            "ν",
            (
                *(LogLine(name, curve) for name, curve in curves.items()),
                power_line("theory, τ = 1: power -1.00", curves["τ = 1"], -1.0),
                power_line("theory, τ = 1/2: power -0.33", curves["τ = 1/2"], -1 / 3),
            ),
        ),
        (
            f"Thresholds, {teachers:,} teachers for each size, whose cuts stand for the law of one. τ = 1: labels "
            "are flipped with probability 0.2; τ = 1/2: sureness falls to nothing at the cut.",
        ),
    )


def cuts_of(world: ThresholdWorld, rows: int, teachers: int, rng: Generator) -> Floats:
    """Return the cuts of teachers on so many rows each."""
    some = max(1, min(teachers, 10**6 // rows))
    parts = []
    for first in range(0, teachers, some):
        now = min(some, teachers - first)
        X, y = world.sample(rows * now, rng)
        parts.append(best_cuts(X.reshape(now, rows), y.reshape(now, rows)))
    return np.concatenate(parts)


CLAIMS = (
    PaperClaim(
        name="theorem-12",
        place="Theorem 12",
        says="With K and T of Proposition 11 a student of H errs by min Dis(h, h∞) + 2T/m + O~(√(d/m)) more than "
        "the infinite ensemble h∞ at most.",
        check="mapl bounds lzcw21 theorem-12 --m 3000 --nu 0 --margin 0.0999 --vc 2 --best-disagreement 0.4 "
        "--epsilon 1 --delta 1e-6",
        measure=students_of_the_class,
        printed=(
            Demand("error of students of H above the ensemble's, over the bound, at most", most=1.0),
            Demand("share of runs with more than T labels that are not the ensemble's", most=0.0),
        ),
    ),
    PaperClaim(
        name="theorem-13",
        place="Theorem 13",
        says="A student that is itself a vote of K classifiers errs by 4T/m + 5(Kd + ln(4/γ))/m more than the "
        "infinite ensemble at most.",
        check="mapl bounds lzcw21 theorem-13 --m 3000000 --nu 0 --margin 0.357 --vc 1 --epsilon 1 --delta 1e-6",
        measure=students_that_vote,
        printed=(
            Demand("error of voting students above the ensemble's, over the printed bound, at most", most=1.0),
            Demand("mistakes on labels beyond those of the best of all classifiers, at most", most=0.0),
            # Otherwise the bound would grant no more than any student of H has.
            Demand("error of the best of H above the ensemble's, over the printed bound, Example 9", least=1.0),
        ),
        correction="The proof needs the growth function of votes, K ln G(2m) in place of K d (vote-dimension). "
        "These worlds do not break the printed bound.",
        corrected=(Demand("the same over the bound with the logarithm, at most", most=1.0),),
    ),
    PaperClaim(
        name="remark-14",
        place="Remark 14",
        says="Under Tsybakov's condition teachers of n/K rows satisfy Definition 10 with Δ = 1/6 and ν of the "
        "order (dK/n)^(τ/(2−τ)), which bounds the disagreement between h* and the infinite ensemble, too.",
        check="mapl bounds lzcw21 remark-14 --rows-each 1000 --vc 1 --tau 0.5 --eta 1.4143",
        measure=margins_by_rows,
        printed=(
            Demand("power of the rows in ν, τ = 1", most=-0.85),
            Demand("power of the rows in ν, τ = 1/2", most=-0.28),
            Demand("ν over the bound with constants, at most", most=1.0),
            Demand("ν over 3 E Dis(h, h*), at most", most=1.0),
            Demand("Dis(h∞, h*) over 2 E Dis(h, h*), at most", most=1.0),
        ),
    ),
)
