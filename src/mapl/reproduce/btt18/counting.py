"""How many questions are contested, and what follows for the labels of Algorithm 2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.stats import binom

from mapl.bounds.btt18.algorithm2 import CONTESTED, count_contested
from mapl.bounds.btt18.release import contested_questions, misclassification, printed_cutoff
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.noise import SeededCoins
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import publish
from mapl.reproduce.crowds.teachers import teach
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.worlds import ThresholdWorld
from mapl.types import ABSTAIN, Budget, State, Tallies

BUDGET, BETA = Budget(1.0, 1e-6), 0.05


def contested_votes(n_teachers: int, rate: float, m: int, rng: Generator) -> Tallies:
    """Draw the hardest votes: just over a third of the teachers err together, as often as their rate allows.

    Otherwise nobody errs, so each teacher errs at the rate. The right label is the second class.
    """
    wrong = n_teachers // CONTESTED + 1
    together = rng.random(m) < min(1.0, rate * n_teachers / wrong)
    against = np.where(together, wrong, 0)
    return Tallies(np.column_stack([against, n_teachers - against]))


def failing_share(mechanism: AnyMechanism, cutoff: int, rate: float, m: int, times: int, n_teachers: int) -> float:
    """Return how often a run refuses more than T questions, halts, or answers an uncontested one wrongly."""
    rng, failed = np.random.default_rng(7), 0
    coins = SeededCoins(7)
    for _ in range(times):
        votes = contested_votes(n_teachers, rate, m, rng)
        found = mechanism.release(mechanism.start(coins), votes, coins).labels
        wrong = (found != 1) & (votes.counts[: len(found), 0] == 0)
        failed += len(found) < m or int(np.count_nonzero(found == ABSTAIN)) > cutoff or bool(wrong.any())
    return failed / times


def theorem_3_2(effort: ReproductionEffort) -> Evidence:
    m, alpha, times = 1000, 0.002, effort.choose(200, 2000)
    bound = misclassification(m, alpha, BUDGET.epsilon, BUDGET.delta, BETA)
    figures: dict[str, float] = {"2 beta": 2 * BETA}
    cutoffs = {"printed": math.floor(bound.terms["printed_cutoff"]), "corrected": int(bound.terms["cutoff"])}
    teachers: dict[str, Any] = {}
    for form, cutoff in cutoffs.items():
        name, limit = ("btt18", cutoff) if form == "printed" else ("stable-queries", cutoff + 1)
        mechanism = make(name, Task(BUDGET, 10**6, 2, m), max_abstentions=limit)
        teachers[form] = mechanism.parameters["k"] if form == "printed" else int(bound.terms["teachers"])
        figures[f"T/m, {form}"] = cutoff / m
        figures[f"teachers k, {form}"] = float(teachers[form])
        figures[f"share of runs that break it, {form}"] = failing_share(
            mechanism, cutoff, alpha, m, times, int(teachers[form])
        )
    return Evidence(
        figures,
        notes=(
            f"{times:,} runs of m = {m:,} questions, teachers that err at a rate of {alpha:g} and just over a "
            f"third of them together; epsilon {BUDGET.epsilon:g} at delta {BUDGET.delta:g}, beta {BETA:g}. A run "
            "breaks the claim if it halts, refuses more than T questions or answers a clear one wrongly.",
        ),
    )


def chernoff(effort: ReproductionEffort) -> Evidence:
    m, rate, teachers = 1000, 0.001, 1000
    printed = rate * m + math.sqrt(rate * m * math.log(m / BETA) / 2)
    one = float(binom.sf(math.floor(printed), m, rate))
    some = -math.expm1(teachers * math.log1p(-one))
    tiny, few = 1e-9, 100
    return Evidence(
        {
            "mistakes that no teacher exceeds, as printed": printed,
            "chance that one teacher exceeds them": one,
            "chance that one of 1,000 independent teachers does, over beta": some / BETA,
            "chance of more contested questions than the printed T, over beta": float(
                binom.sf(math.floor(printed_cutoff(few, rate, tiny)), few, 3 * rate) / tiny
            ),
            "chance of more contested questions than the corrected T, over beta": max(
                float(binom.sf(count_contested(n, q, b), n, min(1.0, 3 * q)) / b)
                for n in (10, 100, 1000, 10**6)
                for q in (1e-6, 1e-3, 0.05, 0.3)
                for b in (0.5, 0.05, 1e-9)
            ),
        },
        notes=("Exact binomial laws. Printed T: m = 100 questions, error 0.001, beta 1e-9.",),
    )


def lemma_3_3(effort: ReproductionEffort) -> Evidence:
    """Compare the attained number of contested questions with the printed bound."""
    broken = broken_beyond = 0
    for teachers in range(1, effort.choose(40, 120)):
        for mistakes in range(8):
            for xi in (1 / 2, 1 / 3, 1 / 4, 1 / 10):
                found = contested_questions(teachers, mistakes, 10**6, xi).value
                is_broken = found >= mistakes / xi - 1e-9
                broken += is_broken
                broken_beyond += is_broken and mistakes > 0
    return Evidence(
        {
            "cases with B/ξ contested questions or more": broken,
            "such cases with B above 0": broken_beyond,
        },
        notes=("The largest number of contested questions is attained by handing mistakes out in turn.",),
    )


def claim_4_1(effort: ReproductionEffort) -> Evidence:
    """Count contested questions among teachers of a known world."""
    world, rng = ThresholdWorld(cut=0.3), np.random.default_rng(5)
    ratios = []
    for rows in (10, 30, 100):
        crowd = teach(world, 1000 * rows, 1000, rng)
        X, _ = world.sample(effort.choose(50_000, 500_000), rng)
        wrong = 1000 - crowd.votes(X).counts[np.arange(len(X)), world.bayes(X)]
        ratios.append(float(np.mean(wrong > 1000 / CONTESTED) / np.mean(wrong / 1000)))
    return Evidence(
        {"share of contested questions over the mean error of teachers, at most": max(ratios)},
        notes=("1,000 teachers of 10, 30 and 100 rows each on thresholds, where some cut never errs (γ = 0).",),
    )


def map_single_questions(effort: ReproductionEffort) -> Evidence:
    """Ask the same question first, and after tied ones that end the run."""
    mechanism = make("btt18", Task(Budget(1.0, 1e-3), 3000, 2, 50), max_abstentions=2)
    clear, tied = Tallies(np.array([[3000, 0]])), Tallies(np.full((20, 2), 1500))
    times = effort.choose(200, 2000)
    asked_first = asked_last = 0
    for number in range(times):
        coins = SeededCoins(number)
        asked_first += int(publish(mechanism, clear, coins)[0] == 0)
        state: State = mechanism.release(mechanism.start(coins), tied, coins).state
        asked_last += len(mechanism.release(state, clear, coins).labels)
    return Evidence(
        {
            "chance of an answer if it is asked first": asked_first / times,
            "chance of an answer after 20 tied questions": asked_last / times,
            "difference": (asked_first - asked_last) / times,
        }
    )


CLAIMS = (
    PaperClaim(
        name="theorem-3.2",
        place="Theorem 3.2",
        says="With the cutoff T = 3(qm + √(qm ln(m/β)/2)) and k teachers that err at most q, Algorithm 2 answers "
        "all m questions but T, and rightly, except with probability 2β.",
        check="mapl bounds btt18 theorem-3.2 --m 1000 --alpha 0.002 --epsilon 1 --delta 1e-6 --beta 0.05",
        measure=theorem_3_2,
        printed=(Demand("share of runs that break it, printed", most=2 * BETA),),
        correction="The cutoff needs Bernstein's inequality (theorem-3.2-proof); it is then usually smaller.",
        corrected=(Demand("share of runs that break it, corrected", most=2 * BETA),),
    ),
    PaperClaim(
        name="theorem-3.2-proof",
        place="Theorem 3.2, proof",
        says="By Chernoff no teacher makes more than B = qm + √(qm ln(m/β)/2) mistakes, except with probability β, "
        "so that at most T = 3B questions are contested.",
        check="python -c 'from scipy.stats import binom; print(binom.sf(3, 1000, 0.001))'",
        measure=chernoff,
        printed=(
            Demand("chance that one of 1,000 independent teachers does, over beta", most=1.0),
            Demand("chance of more contested questions than the printed T, over beta", most=1.0),
        ),
        correction="A question is contested with probability 3q at most (Markov), so Bernstein bounds their number "
        "by M + L/3 + √(L²/9 + 2ML) with M = 3qm and L = ln(1/β).",
        corrected=(Demand("chance of more contested questions than the corrected T, over beta", most=1.0),),
    ),
    PaperClaim(
        name="lemma-3.3",
        place="Lemma 3.3",
        says="If every teacher errs on at most B questions, then on fewer than B/ξ of them more than a share ξ of "
        "the teachers is wrong.",
        check="mapl bounds btt18 lemma-3.3 --teachers 9 --mistakes 4 --m 100",
        measure=lemma_3_3,
        printed=(Demand("cases with B/ξ contested questions or more", most=0),),
        correction="For B = 0 there is none, which is not fewer than 0; for B ≥ 1 it holds.",
        corrected=(Demand("such cases with B above 0", most=0),),
    ),
    PaperClaim(
        name="claim-4.1",
        place="Claim 4.1",
        says="A released label is wrong with probability at most 3γ + 7α, where teachers err γ + α at most.",
        check="mapl bounds btt18 claim-4.1 --alpha 0.01",
        measure=claim_4_1,
        printed=(Demand("share of contested questions over the mean error of teachers, at most", most=7.0),),
        correction="3(γ + α) is enough, by Markov.",
        corrected=(Demand("share of contested questions over the mean error of teachers, at most", most=3.0),),
    ),
    PaperClaim(
        name="algorithm-3-mapping",
        place="Section 4, Algorithm 3",
        says="h_priv is a mapping of single questions: what it answers does not depend on what was asked before.",
        measure=map_single_questions,
        printed=(Demand("difference", least=-0.05, most=0.05),),
        correction="The sparse vector remembers its refusals: after too many nothing is answered. Labels depend on "
        "each other, so the student's error needs uniform convergence over the class (LZCW21, Remark 7).",
        corrected=(Demand("chance of an answer after 20 tied questions", most=0.0),),
    ),
)
