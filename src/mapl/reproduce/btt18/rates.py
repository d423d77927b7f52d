"""Theorems 3.4 and 3.5 of BTT18: how many labels are wrong or missing, measured and as bounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from mapl.bounds.btt18.rates import agnostic_rate, composition_rate, free_questions, realizable_rate
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import (
    BUDGET,
    misses,
    not_private,
    numbers_of_teachers,
    plan,
    rehearsals,
    slope,
)
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise, ThresholdWorld

LINE, SPACE = ThresholdWorld(cut=0.3), HalfspaceWorld(n_columns=3)
LADDER, NOISY, PAPER = "ladder", "noisy-max", "lzcw21-gaussian"
SHOWN = {
    LADDER: "stability (mapl's ladder)",
    NOISY: "composition (noisy max)",
    PAPER: "composition, Gaussian at the printed price",
}
TERMS = (
    f"Epsilon {BUDGET.epsilon:g} at delta {BUDGET.delta:g}. A label is missed if it is wrong, refused or not "
    f"reached."
)
PLANNED = (
    "Teachers and cutoffs are chosen by forecast on other teachers of the same world. The ladder is mapl's form of "
    "the sparse vector: the same distance, exact tables in place of two noises."
)

LETTERS: Any = {"vc": 1, "epsilon": 1.0, "delta": 1e-6, "beta": 0.05}
"""For what the bounds are computed."""

Series = dict[str, tuple[tuple[float, float], ...]]


@cache
def misses_by_rows(world: ThresholdWorld | HalfspaceWorld, quick: bool) -> Series:
    """Return for each mechanism the share of missed labels by n, with m = n/(10 V) questions."""
    least = 5 if world.vc == 1 else 40
    sizes = (30_000, 100_000, 300_000) if quick else (30_000, 100_000, 300_000, 1_000_000)
    if world.vc > 1:
        sizes = (20_000, 50_000, 100_000) if quick else (20_000, 50_000, 100_000, 200_000)
    found: dict[str, list[tuple[float, float]]] = {}
    for n in sizes:
        m = n // (10 * world.vc)
        crowds = rehearsals(world, n, numbers_of_teachers(n, least))
        # Votes of planes are slow to count, and the claim about them is about stability.
        for name in (LADDER, NOISY, PAPER) if world.vc == 1 or not quick else (LADDER,):
            planned = plan(name, m, crowds)
            if planned is not None:
                shares = misses(world, planned, n, m, questions=20_000 if quick else 60_000, crowds=5)
                found.setdefault(name, []).append((n, float(np.mean(shares))))
    return {name: tuple(points) for name, points in found.items()}


@cache
def misses_by_questions(quick: bool) -> Series:
    """Return for each mechanism the share of missed labels by m, at n = 100,000 rows."""
    n, found = 100_000, dict[str, list[tuple[float, float]]]()
    crowds = rehearsals(LINE, n, numbers_of_teachers(n, 5))
    for m in (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000):
        for name in (LADDER, NOISY):
            planned = plan(name, m, crowds)
            assert planned is not None
            shares = misses(LINE, planned, n, m, questions=30_000 if quick else 120_000, crowds=5)
            found.setdefault(name, []).append((m, float(np.mean(shares))))
    return {name: tuple(points) for name, points in found.items()}


def slope_of(points: tuple[tuple[float, float], ...]) -> float:
    return slope([x for x, _ in points], [y for _, y in points])


def power_line(name: str, points: Sequence[tuple[float, float]], power: float) -> LogLine:
    """Return a line of theory that begins where some points do."""
    (first, value), *_ = points
    return LogLine(name, tuple((x, value * (x / first) ** power) for x, _ in points), theory=True)


def measured_lines(series: Series) -> tuple[LogLine, ...]:
    return tuple(LogLine(SHOWN[name], points) for name, points in series.items())


def by_rows(effort: ReproductionEffort) -> Evidence:
    found = misses_by_rows(LINE, effort.quick)
    sizes = [int(n) for n, _ in found[LADDER]]
    alone = tuple((float(n), float(np.mean(not_private(LINE, n, times=100)))) for n in sizes)
    space = misses_by_rows(SPACE, effort.quick)
    return Evidence(
        {
            "slope by stability, thresholds": slope_of(found[LADDER]),
            "slope without privacy, thresholds": slope_of(alone),
            "slope by stability, halfspaces": slope_of(space[LADDER]),
            "missed by stability over errors without privacy, largest n": found[LADDER][-1][1] / alone[-1][1],
        },
        LogPicture(
            "Labels that are wrong or missing, m = n/10 questions",
            "private rows n",
            "share of questions",
            (*measured_lines(found), LogLine("one learner of all rows, no privacy", alone)),
        ),
        (TERMS, PLANNED, "Thresholds have V = 1 and m = n/10; halfspaces in R³ V = 4 and m = n/40."),
    )


def by_questions(effort: ReproductionEffort) -> Evidence:
    found = misses_by_questions(effort.quick)
    ladder = found[LADDER]
    return Evidence(
        {
            "slope in m up to m = n/33": slope_of(tuple(p for p in ladder if p[0] <= 3000)),
            "slope in m beyond m = n": slope_of(tuple(p for p in ladder if p[0] >= 100_000)),
        },
        LogPicture(
            "Labels that are wrong or missing, n = 100,000 rows",
            "questions m",
            "share of questions",
            measured_lines(found),
        ),
        (TERMS, PLANNED),
    )


def against_composition(effort: ReproductionEffort) -> Evidence:
    found, asked = misses_by_rows(LINE, effort.quick), misses_by_questions(effort.quick)
    gains = tuple(
        (1 / other, other / ours) for (_, ours), (_, other) in zip(found[LADDER], found[NOISY], strict=True)
    )
    first = asked[NOISY][0][1] / asked[LADDER][0][1]
    return Evidence(
        {
            "slope by composition, thresholds": slope_of(found[NOISY]),
            "slope by the printed Gaussian, thresholds": slope_of(found[PAPER]),
            "times fewer missed labels by stability, largest n": gains[-1][1],
            "power of 1/alpha with which that factor grows": slope_of(gains),
            "times fewer by stability with m = 100 questions, n = 100,000": first,
        },
        LogPicture(
            "What stability gains",
            "1/alpha, alpha the share that composition misses",
            "times fewer missed labels",
            (LogLine("composition / stability", gains),),
        ),
        (
            TERMS,
            PLANNED,
            "With few questions composition wins: the bounds hide that, since T/m is never below 1/m.",
        ),
    )


def bounds(effort: ReproductionEffort) -> Evidence:
    """Fit the exponents of the theorem with explicit constants, far out where logarithms hardly bend them."""
    rows, asked, m, n = (10**11, 10**12), (10**8, 10**9), 10**8, 10**12
    free = [free_questions(size, **LETTERS) for size in rows]
    few = int(free[-1].value)
    return Evidence(
        {
            "power of n up to M questions": slope(rows, [bound.terms["rate"] for bound in free]),
            "power of n in M": slope(rows, [bound.value for bound in free]),
            "power of n beyond": slope(rows, [float(realizable_rate(m=m, n=size, **LETTERS)) for size in rows]),
            "power of m beyond": slope(asked, [float(realizable_rate(m=q, n=n, **LETTERS)) for q in asked]),
            "power of n by composition": slope(
                rows, [float(composition_rate(m=m, n=size, **LETTERS)) for size in rows]
            ),
            "power of m by composition": slope(
                asked, [float(composition_rate(m=q, n=n, **LETTERS)) for q in asked]
            ),
            "promised rate at M/100 questions over that at M": float(realizable_rate(m=few // 100, n=n, **LETTERS))
            / float(realizable_rate(m=few, n=n, **LETTERS)),
        },
        notes=("V = 1, epsilon 1 at delta 1e-6, beta 0.05; n = 10^11 and 10^12, m = 10^8 and 10^9.",),
    )


def agnostic(effort: ReproductionEffort) -> Evidence:
    """Measure released labels against true ones where one label in five is flipped, and fit the bound's powers."""
    flip = 0.2
    world = ThresholdWorld(cut=0.3, noise=LabelNoise.massart(flip))
    shares = []
    sizes = effort.choose((30_000, 100_000), (30_000, 100_000, 300_000))
    for n in sizes:
        planned = plan(LADDER, n // 100, rehearsals(world, n, [1000]))
        assert planned is not None
        missed = float(np.mean(misses(world, planned, n, n // 100, questions=20_000, crowds=4)))
        # A label that is not the best one is wrong 1 - flip of the time, a missing one always; count both as wrong.
        shares.append(flip * (1 - missed) + missed)
    rows, asked = (10**11, 10**12), (10**7, 10**8)
    return Evidence(
        {
            "wrong or missing labels over gamma, at most": max(shares) / flip,
            "power of n in the bound beyond gamma": slope(
                rows, [float(agnostic_rate(m=10**7, n=n, **LETTERS)) for n in rows]
            ),
            "power of m in the bound beyond gamma": slope(
                asked, [float(agnostic_rate(m=m, n=10**12, **LETTERS)) for m in asked]
            ),
        },
        notes=(
            TERMS,
            "Measured: thresholds whose labels are flipped with probability γ = 0.2, 1,000 teachers, m = n/100. "
            "The bound is fitted at γ = 0.",
        ),
    )


CLAIMS = (
    PaperClaim(
        name="theorem-3.4-rows",
        place="Theorem 3.4 (i)",
        says="Where some classifier never errs, about n/V questions are answered at the rate V/n that is best "
        "without privacy: answering so many costs nothing.",
        check="python benchmarks/rates.py",
        measure=by_rows,
        printed=(
            Demand("slope by stability, thresholds", least=-1.25, most=-0.8),
            Demand("slope without privacy, thresholds", least=-1.25, most=-0.8),
            Demand("slope by stability, halfspaces", least=-1.25, most=-0.8),
        ),
    ),
    PaperClaim(
        name="theorem-3.4-questions",
        place="Theorem 3.4 (i) and (ii)",
        says="Up to about n/V questions the rate does not depend on m; beyond, it grows like m.",
        check="python benchmarks/rates.py",
        measure=by_questions,
        printed=(
            Demand("slope in m up to m = n/33", least=-0.3, most=0.3),
            Demand("slope in m beyond m = n", least=0.7, most=1.2),
        ),
    ),
    PaperClaim(
        name="versus-composition",
        place="Section 1.1, after Theorem 3.4",
        says="Advanced composition misses √m V/n; stability answers more questions by a factor of 1/α in some "
        "cases.",
        check="python benchmarks/rates.py",
        measure=against_composition,
        printed=(
            Demand("slope by composition, thresholds", least=-0.65, most=-0.35),
            Demand("times fewer missed labels by stability, largest n", least=1.5),
            Demand("power of 1/alpha with which that factor grows", least=0.7),
        ),
    ),
    PaperClaim(
        name="theorem-3.4-bound",
        place="Theorem 3.4, the bound",
        says="The rate is V/(εn) for up to M = εn/V questions and m V²/(εn)² for more; by composition √m V/(εn).",
        check="mapl bounds btt18 theorem-3.4 --n 1e12 --vc 1 --epsilon 1 --delta 1e-6 --m 1e8 --beta 0.05",
        measure=bounds,
        printed=(
            Demand("power of n up to M questions", least=-1.15, most=-0.85),
            Demand("power of n in M", least=0.85, most=1.15),
            Demand("power of n beyond", least=-2.3, most=-1.7),
            Demand("power of m beyond", least=0.7, most=1.3),
            Demand("power of n by composition", least=-1.15, most=-0.85),
            Demand("power of m by composition", least=0.35, most=0.65),
            Demand("promised rate at M/100 questions over that at M", most=2.0),
        ),
        correction="The powers are right. The rate V/(εn) is promised at m = M: for fewer questions T/m is larger, "
        "since at least one refusal has to be allowed for.",
        corrected=(
            Demand("power of n up to M questions", least=-1.15, most=-0.85),
            Demand("power of n in M", least=0.85, most=1.15),
            Demand("power of n beyond", least=-2.3, most=-1.7),
            Demand("power of m beyond", least=0.7, most=1.3),
            Demand("power of n by composition", least=-1.15, most=-0.85),
            Demand("power of m by composition", least=0.35, most=0.65),
        ),
    ),
    PaperClaim(
        name="theorem-3.5",
        place="Theorem 3.5",
        says="Where the best classifier errs γ, labels are wrong on O(γ) plus m^(1/3) (V/(εn))^(2/3) of the "
        "questions.",
        check="mapl bounds btt18 theorem-3.5 --n 1e12 --vc 1 --epsilon 1 --delta 1e-6 --m 1e7 --beta 0.05",
        measure=agnostic,
        printed=(
            Demand("wrong or missing labels over gamma, at most", most=3.0),
            Demand("power of n in the bound beyond gamma", least=-0.75, most=-0.58),
            Demand("power of m in the bound beyond gamma", least=0.25, most=0.42),
        ),
    ),
)
