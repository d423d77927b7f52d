"""Section 3 of DF20: the uniformly stable learner, its rows, and how many every stable learner needs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.stats import binom

from mapl.audit.predictions.samples import SampleWorld, neighbours
from mapl.audit.predictions.stable_twins import ExactStable, first_records, uniform
from mapl.bounds.df20.stable import theorem_1, theorem_1_rows, theorem_4
from mapl.bounds.families import ClassifierKind
from mapl.noise import SeededCoins
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.predictors.stable_settings import for_stability
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import slope
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.single.cut_problem import CutProblem, stable_excess

WORLD = SampleWorld(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0), most=4)
CUTS = ClassifierKind.thresholds
FLIPPED = 0.4


def most_moved(law: ExactStable) -> float:
    """Return by how much replacing one record moves the chance of an answer, over all samples of the world."""
    records = WORLD.records
    whole = [sample for sample in WORLD.samples() if len(sample) >= WORLD.most - 1]
    laws = {sample: law(tuple(records[k] for k in sample)) if len(sample) == WORLD.most else [] for sample in whole}
    return max(
        float(abs(p - q))
        for one, other in neighbours(laws, len(records), "replace-one")
        for p, q in zip(laws[one], laws[other], strict=True)
    )


def lemma_7(effort: ReproductionEffort) -> Evidence:
    """Compute the exact law of A^sta on all samples of four records, and move one record."""
    printed, sharpened, broken = [], [], []
    for falls in (Fraction(9, 10), Fraction(3, 4), Fraction(1, 2)):
        inner, eta = -2 * math.log(falls), 0.25
        law = ExactStable(world=WORLD, hypotheses=Thresholds(), subsets=lambda n: uniform(n, 1), fall=falls)
        moved = most_moved(law)
        gamma = max(eta, inner)
        printed.append(moved / (3 * gamma))
        sharpened.append(moved / (eta + (1 - eta) * math.tanh(inner / 2)))
        twin = ExactStable(world=WORLD, hypotheses=Thresholds(), subsets=first_records(lambda n: 1), fall=falls)
        broken.append(most_moved(twin) / (eta + (1 - eta) * math.tanh(inner / 2)))
    return Evidence(
        {
            "movement over the printed 3γ, at most": max(printed),
            "movement over η + (1 − η) tanh(ε/2), at most": max(sharpened),
            "the same where the subset is not drawn anew, at most": max(broken),
        },
        notes=(
            "Thresholds, every sample of four records on two points, one of them drawn (η = 1/4), errors cost "
            "0.11, 0.29 or 0.69; exact, in fractions. Adjacency: one record is replaced; unit: one record.",
        ),
    )


def rows_of_theorem_1(effort: ReproductionEffort) -> Evidence:
    alphas, gammas = (1e-3, 1e-2), (1e-7, 1e-6)
    small = [float(theorem_1_rows(a, 1e-6, kind=CUTS)) for a in alphas]
    large = [float(theorem_1_rows(a, 0.5, kind=CUTS)) for a in alphas]
    by_gamma = [float(theorem_1_rows(0.01, g, kind=CUTS)) for g in gammas]
    by_vc = [float(theorem_1_rows(0.01, 1e-6, kind=ClassifierKind.any, vc=d)) for d in (10, 100)]
    return Evidence(
        {
            "power of 1/alpha where stability costs most": slope([1 / a for a in alphas], small),
            "power of 1/gamma there": slope([1 / g for g in gammas], by_gamma),
            "power of d there": slope((10, 100), by_vc),
            "power of 1/alpha where stability costs nothing": slope([1 / a for a in alphas], large),
        },
        notes=("Thresholds with explicit constants: γ = 10⁻⁶ and 1/2, α = 0.001 to 0.01. d: any class.",),
    )


def measure_stability(effort: ReproductionEffort) -> Evidence:
    """Measure the excess error of the stable learner next to what is proved for fresh questions."""
    problem = CutProblem("thresholds", 1, FLIPPED)
    lines, worst, falling = [], 0.0, []
    for gamma in (0.1, 0.01):
        found, bounds = [], []
        for n in effort.choose((1000, 3000, 10_000, 30_000), (1000, 3000, 10_000, 30_000, 100_000)):
            settings = for_stability(n, gamma, problem.hypotheses)
            excess = []
            for seed in range(effort.choose(3, 8)):
                X, y = problem.sample(n, np.random.default_rng([seed, n]))
                excess.append(stable_excess(problem, settings, X, y, SeededCoins(seed)))
            found.append((float(n), float(np.mean(excess))))
            bounds.append((float(n), float(theorem_1(n, gamma, kind=CUTS))))
        worst = max(worst, *(a / b for (_, a), (_, b) in zip(found, bounds, strict=True)))
        falling.append(slope([n for n, _ in found], [e for _, e in found]))
        lines += [
            LogLine(f"measured, γ = {gamma:g}", tuple(found)),
            LogLine(f"Theorem 1, γ = {gamma:g}", tuple(p for p in bounds if p[1] < 1), theory=True),
        ]
    return Evidence(
        {
            "measured excess over the bound, at most": worst,
            "slope in n, γ = 0.1": falling[0],
            "slope in n, γ = 0.01": falling[1],
        },
        LogPicture("Excess error of the stable learner, thresholds", "records n", "excess error", tuple(lines)),
        (f"Labels are flipped with probability {FLIPPED:g}; exact laws given records and subsets.",),
    )


def stable_error(n: int, alpha: float, gamma: float, d: int) -> float:
    """Return the error of the most that stability allows on the distribution of the proof.

    All d - 1 light points have mass 4 alpha/(d - 1). A point that was seen N times is called rightly with chance
    1/2 + gamma N/2, at most 1: every flipped label moves that by gamma.
    """
    seen = np.arange(0, min(n, math.ceil(1 / gamma)) + 1)
    wrong = np.maximum(0.0, 0.5 - gamma * seen / 2)
    return float(4 * alpha * (binom.pmf(seen, n, 4 * alpha / (d - 1)) @ wrong))


def lower_bound(effort: ReproductionEffort) -> Evidence:
    """Find the rows that the best stable predictor needs on the hard distribution, next to the lower bound."""
    ratios, needed, floors = [], [], []
    for alpha in (0.25, 0.1, 0.03, 0.01):
        for gamma, d in ((0.1, 11), (0.01, 11), (0.01, 101)):
            floor = float(theorem_4(alpha, gamma, vc=d))
            low, high = 1, 1
            while stable_error(high, alpha, gamma, d) > alpha:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if stable_error(middle, alpha, gamma, d) <= alpha else (middle, high)
            ratios.append(high / floor)
            if (gamma, d) == (0.01, 11):
                needed.append((alpha, float(high)))
                floors.append((alpha, floor))
    return Evidence(
        {
            "rows that are needed over (d − 1)/(8γα), at least": min(ratios),
            "the same, at most": max(ratios),
        },
        LogPicture(
            "Rows that the best stable predictor needs on the hard distribution, γ = 0.01, d = 11",
            "error α",
            "rows n",
            (LogLine("needed", tuple(needed)), LogLine("Theorem 4", tuple(floors), theory=True)),
        ),
        ("Exact; 12 settings, γ 0.1 and 0.01, d 11 and 101. The bound is attained up to rounding.",),
    )


CLAIMS = (
    PaperClaim(
        name="lemma-7",
        place="Lemma 7",
        says="The learner A^sta, which draws a γ share of the records and a rule by the exponential mechanism at "
        "γ, is 3γ-uniformly stable.",
        check="mapl audit --mechanism stable --epsilon 1 --adjacency replace-one",
        measure=lemma_7,
        printed=(
            Demand("movement over the printed 3γ, at most", most=1.0),
            Demand("movement over η + (1 − η) tanh(ε/2), at most", most=1.0),
            Demand("the same where the subset is not drawn anew, at most", least=1.0),
        ),
    ),
    PaperClaim(
        name="theorem-1-rows",
        place="Theorem 1",
        says="A γ-stable learner of excess error α takes d/(γα) + d/α² records, up to logarithms.",
        check="mapl bounds df20 theorem-1-rows --alpha 0.01 --stability 0.001 --kind thresholds",
        measure=rows_of_theorem_1,
        printed=(
            Demand("power of 1/alpha where stability costs most", least=0.85, most=1.25),
            Demand("power of 1/gamma there", least=0.85, most=1.15),
            Demand("power of d there", least=0.85, most=1.25),
            Demand("power of 1/alpha where stability costs nothing", least=1.8, most=2.25),
        ),
    ),
    PaperClaim(
        name="theorem-1-measured",
        place="Theorem 1, measured",
        says="Stable predictions learn: excess errors fall with n and stay below what is proved.",
        check="python benchmarks/prediction.py curves",
        measure=measure_stability,
        printed=(
            Demand("measured excess over the bound, at most", most=1.0),
            Demand("slope in n, γ = 0.1", most=-0.4),
            Demand("slope in n, γ = 0.01", most=-0.4),
        ),
    ),
    PaperClaim(
        name="theorem-4",
        place="Theorem 4",
        says="Every γ-stable learner needs (d − 1)/(8γα) records for an error of α, even where some rule never "
        "errs.",
        check="mapl bounds df20 theorem-4 --alpha 0.1 --stability 0.01 --vc 11",
        measure=lower_bound,
        printed=(
            Demand("rows that are needed over (d − 1)/(8γα), at least", least=1.0),
            Demand("the same, at most", most=1.5),
        ),
    ),
)
