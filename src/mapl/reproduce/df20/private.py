"""Corollary 1 of DF20, and the predictors that it is compared with: private answers to single questions."""

from __future__ import annotations

import math

import numpy as np

from mapl.audit.examine import audit
from mapl.audit.predictions.audits import examine_predictor
from mapl.audit.votes.twins import twin_of
from mapl.bounds.df20.private import corollary_1, corollary_1_rows, private
from mapl.bounds.df20.stable import stable
from mapl.bounds.families import ClassifierKind, Family
from mapl.bounds.learners import rows_needed
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.prediction.predictors.padded_stumps import PaddedStumps
from mapl.prediction.predictors.stable_settings import for_epsilon
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import slope
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.single.cut_problem import CutProblem, padded_excess, stable_excess
from mapl.reproduce.single.naive import PredictionGoal, naive_records
from mapl.types import Budget

EPSILON = 1.0
STUMPS, DIMENSION = 10, 6
"""Ten features can rank six points so that every labeling of them is a stump."""
TERMS = (
    "Epsilon 1 for every answer, delta 0; adjacency: one record is replaced, their number is public; unit: one "
    "record."
)


def audit_stable(effort: ReproductionEffort) -> Evidence:
    honest = examine_predictor("stable", EPSILON, adjacency="replace-one")
    twin = examine_predictor("stable", EPSILON, adjacency="replace-one", twin="no-flips")
    return Evidence(
        {
            "largest log-ratio of an answer over epsilon": (honest.renyi_found or 0.0) / EPSILON,
            "the same without flips": min(1e9, (twin.renyi_found or 0.0) / EPSILON),
        },
        notes=(
            TERMS,
            "Every sample of up to four records on two points, and every replaced record; exact fractions.",
        ),
    )


def inner_epsilon(effort: ReproductionEffort) -> Evidence:
    """Compare the rows of the printed recipe, a stability of εα/2 and flips of α, with an inner epsilon of ε."""
    family, ratios = Family.of(ClassifierKind.thresholds, None), []
    alphas = (0.003, 0.01, 0.03)
    rows = [float(corollary_1_rows(alpha, EPSILON, kind=ClassifierKind.thresholds)) for alpha in alphas]
    for alpha in alphas:
        # Both err by 2 alpha on the records: the printed recipe spends half of that on its flips.
        printed = rows_needed(lambda n, a=alpha: stable(n, EPSILON * a / 2, family).excess, alpha)  # type: ignore[misc]
        ours = rows_needed(lambda n: private(n, EPSILON, family).excess, 2 * alpha)
        ratios.append(printed / ours)
    any_class = [float(corollary_1_rows(0.05, EPSILON, kind=ClassifierKind.any, vc=d)) for d in (10, 100)]
    return Evidence(
        {
            "power of 1/alpha in the rows": slope([1 / a for a in alphas], rows),
            "power of d in the rows": slope((10, 100), any_class),
            "rows of the printed recipe over those with inner epsilon ε, at least": min(ratios),
        },
        notes=(TERMS, "Thresholds, α = 0.003 to 0.03; the recipes are compared at an excess of 2α on the records."),
    )


def curves(effort: ReproductionEffort) -> Evidence:
    """Measure A^sta with flips and padded stumps on ten features, with bound and lower bound."""
    problem = CutProblem("stumps", STUMPS, 0.4)
    by_stable, by_padded, bound, floor = [], [], [], []
    for n in effort.choose((1000, 3000, 10_000), (1000, 3000, 10_000, 100_000)):
        settings = for_epsilon(n, EPSILON, problem.hypotheses)
        found: dict[str, list[float]] = {"stable": [], "padded": []}
        for seed in range(effort.choose(3, 6)):
            rng = np.random.default_rng([seed, n])
            X, y = problem.sample(n, rng)
            found["stable"].append(stable_excess(problem, settings, X, y, SeededCoins(seed)))
            stumps = PaddedStumps.fit(X, y, epsilon=EPSILON, adjacency="replace-one")
            found["padded"].append(padded_excess(problem, stumps, rng))
        by_stable.append((float(n), float(np.mean(found["stable"]))))
        by_padded.append((float(n), float(np.mean(found["padded"]))))
        bound.append((float(n), float(corollary_1(n, EPSILON, kind=ClassifierKind.any, vc=DIMENSION))))
        floor.append((float(n), (DIMENSION - 1) / (8 * math.tanh(EPSILON / 2) * n)))
    return Evidence(
        {
            "measured excess over Corollary 1's bound, at most": max(
                a / b for (_, a), (_, b) in zip(by_stable, bound, strict=True)
            ),
            "measured excess over the lower bound for the worst distribution, at least": min(
                a / b for (_, a), (_, b) in zip(by_stable, floor, strict=True)
            ),
            "slope in n, A^sta with flips": slope([n for n, _ in by_stable], [e for _, e in by_stable]),
            "excess of padded stumps over A^sta, largest n": by_padded[-1][1] / by_stable[-1][1],
        },
        LogPicture(
            "Excess error of private predictions, stumps on ten features",
            "records n",
            "excess error",
            (
                LogLine("A^sta with flips (Corollary 1)", tuple(by_stable)),
                LogLine("padded stumps (mapl)", tuple(by_padded)),
                LogLine("Corollary 1, fresh questions", tuple(p for p in bound if p[1] < 1), theory=True),
                LogLine("lower bound, worst distribution (Theorem 4)", tuple(floor), theory=True),
            ),
        ),
        (TERMS, "Labels are flipped with probability 0.4; exact laws given records and subsets."),
    )


def against_naive(effort: ReproductionEffort) -> Evidence:
    """Say how many times as many records naive averaging needs for the error of A^sta, by the noise of labels."""
    n, goal = effort.choose(30_000, 100_000), PredictionGoal("epsilon", EPSILON)
    points = []
    for flipped in (0.1, 0.3, 0.4, 0.45):
        problem = CutProblem("thresholds", 1, flipped)
        settings = for_epsilon(n, EPSILON, problem.hypotheses)
        excess = []
        for seed in range(effort.choose(3, 5)):
            X, y = problem.sample(n, np.random.default_rng([seed, n]))
            excess.append(stable_excess(problem, settings, X, y, SeededCoins(seed)))
        needed = naive_records(problem, goal, float(np.mean(excess)))
        assert needed is not None
        points.append((1 / (1 - 2 * flipped), needed / n))
    return Evidence(
        {
            "times as many records for naive averaging, labels flipped with 0.1": points[0][1],
            "times as many, flipped with 0.45": points[-1][1],
        },
        LogPicture(
            "Records that naive averaging needs for the same error",
            "1/(1 − 2 flipped): how noisy labels are",
            "times as many records",
            (LogLine("thresholds, epsilon 1 per answer", tuple(points)),),
        ),
        (TERMS, f"A^sta has n = {n:,} records. Naive averaging takes its best number of models in hindsight."),
    )


def softmax(effort: ReproductionEffort) -> Evidence:
    budget = Budget(EPSILON, 0.0)
    mechanism = make("exponential-vote", Task(budget, 50, 2, 1))
    twin = twin_of("softmax", mechanism)
    honest = audit(mechanism, budget, n_teachers=50, n_classes=2, questions=1)
    broken = audit(twin.claims, budget, n_teachers=50, n_classes=2, questions=1, law=twin.law)
    which = "largest_log_ratio_of_one_question"
    return Evidence(
        {
            "log-ratio of softmax(ε counts) over ε": broken.details[which] / EPSILON,
            "log-ratio of softmax(ε counts/2) over ε": honest.details[which] / EPSILON,
        },
        notes=("50 teachers, two classes, epsilon 1 at delta 0; one teacher's vote changes; exact.",),
    )


CLAIMS = (
    PaperClaim(
        name="corollary-1-privacy",
        place="Corollary 1, privacy",
        says="Flipping the answers of the stable learner now and then makes every prediction ε-private.",
        check="mapl audit --mechanism stable --epsilon 1 --adjacency replace-one",
        measure=audit_stable,
        printed=(
            Demand("largest log-ratio of an answer over epsilon", most=1.0),
            Demand("the same without flips", least=1.0),
        ),
    ),
    PaperClaim(
        name="corollary-1-rows",
        place="Corollary 1, rows",
        says="d/(ε α²) records are enough, with the stable learner run at γ = εα/2 and flips of α.",
        check="mapl bounds df20 corollary-1-rows --alpha 0.01 --epsilon 1 --kind thresholds",
        measure=inner_epsilon,
        printed=(
            Demand("power of 1/alpha in the rows", least=1.8, most=2.3),
            Demand("power of d in the rows", least=0.85, most=1.25),
        ),
    ),
    PaperClaim(
        name="corollary-1-measured",
        place="Corollary 1 and Theorem 4, measured",
        says="Private predictions learn: their excess error falls with n and lies below the bound of Corollary 1. "
        "Theorem 4's lower bound is for the worst distribution, and drawn beside them.",
        check="python benchmarks/prediction.py curves",
        measure=curves,
        printed=(
            Demand("measured excess over Corollary 1's bound, at most", most=1.0),
            Demand("slope in n, A^sta with flips", most=-0.25),
        ),
    ),
    PaperClaim(
        name="against-naive-averaging",
        place="Section 1",
        says="Naive averaging of models on disjoint parts needs 1/α times as many records as the stable learner.",
        check="python benchmarks/prediction.py curves",
        measure=against_naive,
        printed=(Demand("times as many records for naive averaging, labels flipped with 0.1", least=5.0),),
        correction="That is so where labels are noisy, as in the worst case; where they are clean there is little "
        "to gain.",
        corrected=(Demand("times as many, flipped with 0.45", least=5.0),),
    ),
    PaperClaim(
        name="df18-softmax",
        place="Lemma 6 (DF18, Theorem 4.1), as implemented elsewhere",
        says="Answering by softmax(ε counts) of the teachers' votes, as facebookresearch/private_prediction does, "
        "is ε-private if one teacher changes its vote.",
        check="mapl audit --mechanism exponential-vote --epsilon 1 --delta 0 --twin softmax",
        measure=softmax,
        printed=(Demand("log-ratio of softmax(ε counts) over ε", most=1.0),),
        correction="A changed vote moves two counts, so it is 2ε; softmax(ε counts/2) is ε-private.",
        corrected=(Demand("log-ratio of softmax(ε counts/2) over ε", most=1.0),),
    ),
)
