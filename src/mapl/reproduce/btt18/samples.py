"""Section 4 and 5 of BTT18: how many rows a private student takes, by the theorems and in a known world."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mapl.bounds import Bound
from mapl.bounds.btt18.label_private import label_private_realizable
from mapl.bounds.btt18.samples import agnostic_rows, consistent_rows, erm_rows, realizable_rows
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.btt18.rates import LADDER, LINE, TERMS, slope_of
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import not_private, numbers_of_teachers, plan, rehearsals, slope, students
from mapl.reproduce.effort import ReproductionEffort

GOAL: Any = {"epsilon": 1.0, "delta": 1e-6, "beta": 0.05}
ALPHAS, DIMENSIONS = (1e-4, 1e-3, 1e-2), (100, 1000)
BOUNDS = (
    "By the theorem with explicit constants: epsilon 1 at delta 1e-6, β = 0.05, α = 0.0001 to 0.01, V = 100 "
    "to 1,000."
)


def powers(rows: Callable[..., Bound], alphas: Sequence[float] = ALPHAS, **more: Any) -> dict[str, float]:
    """Fit how the number of private rows grows with 1/alpha, and with V."""
    of_alpha = [float(rows(vc=1, alpha=alpha, **GOAL, **more)) for alpha in alphas]
    of_vc = [float(rows(vc=vc, alpha=0.01, **GOAL, **more)) for vc in DIMENSIONS]
    return {
        "power of 1/alpha": slope([1 / alpha for alpha in alphas], of_alpha),
        "power of V": slope(DIMENSIONS, of_vc),
    }


def theorem_4_2(effort: ReproductionEffort) -> Evidence:
    """Fit the bound, and measure students that learn from labels of a planned run (Algorithm 3)."""
    points = []
    for n in effort.choose((30_000, 100_000, 300_000), (30_000, 100_000, 300_000, 1_000_000)):
        m = n // 4
        planned = plan(LADDER, m, rehearsals(LINE, n, numbers_of_teachers(n, 5)))
        assert planned is not None
        points.append((float(n), float(np.mean(students(LINE, planned, n, m, crowds=effort.choose(8, 16))))))
    return Evidence(
        {
            **powers(realizable_rows),
            "error over alpha that the bound ends with, at most": max(
                realizable_rows(vc=1, alpha=alpha, **GOAL).terms["error"] / alpha for alpha in (*ALPHAS, 0.1)
            ),
            "measured: power of n in the student's error": slope_of(tuple(points)),
        },
        LogPicture(
            "Error of the student (Algorithm 3) on thresholds",
            "private rows n, m = n/4 public ones",
            "error",
            (
                LogLine("student of the ladder's labels", tuple(points)),
                LogLine(
                    "theory: n^(-2/3)",
                    tuple((n, points[0][1] * (n / points[0][0]) ** (-2 / 3)) for n, _ in points),
                    True,
                ),
            ),
        ),
        (BOUNDS, TERMS),
    )


def remark_2(effort: ReproductionEffort) -> Evidence:
    return Evidence(powers(erm_rows), notes=(BOUNDS,))


def remark_3(effort: ReproductionEffort) -> Evidence:
    """Compute the chance of a contested question for teachers of the printed error that err together."""
    m, beta = 1000, GOAL["beta"]
    some = -math.expm1(m * math.log1p(-3 / m))
    some_corrected = -math.expm1(m * math.log1p(-3 * beta / (6 * m)))
    return Evidence(
        {
            **powers(consistent_rows),
            "chance of a contested question, teachers of error 1/m": some,
            "the same, teachers of error β/(6m)": some_corrected,
            "contested questions to be expected, teachers of error 1/m": 3.0 * m / m,
        },
        notes=(BOUNDS, "m = 1,000 questions, β = 0.05; just over a third of the teachers err together."),
    )


def theorem_4_3(effort: ReproductionEffort) -> Evidence:
    alphas = (1e-3, 3e-3, 1e-2)
    equal = [float(agnostic_rows(vc=1, alpha=a, gamma=a, **GOAL)) for a in alphas]
    kept = [float(agnostic_rows(vc=1, alpha=a, gamma=0.1, **GOAL)) for a in alphas]
    sizes = [1 / a for a in alphas]
    return Evidence(
        {
            "power of 1/alpha where γ = α": slope(sizes, equal),
            "power of 1/alpha where γ = 0.1": slope(sizes, kept),
        },
        notes=("Epsilon 1 at delta 1e-6, β = 0.05, V = 1, α = 0.001 to 0.01.",),
    )


def section_5(effort: ReproductionEffort) -> Evidence:
    """Compare label-private rows with rows without privacy, by both ways to choose the unlabelled part."""
    sizes = [1 / alpha for alpha in ALPHAS]
    found = [label_private_realizable(vc=1, alpha=alpha, **GOAL) for alpha in ALPHAS]
    other = [realizable_rows(vc=1, alpha=alpha, **GOAL).terms["public_rows"] for alpha in ALPHAS]
    alone = [m / bound.terms["rows_without_privacy"] for m, bound in zip(other, found, strict=True)]
    return Evidence(
        {
            "power of 1/alpha in the unlabelled rows over the optimum, Theorem 4.2": slope(sizes, alone),
            "power of 1/alpha in all rows over the optimum, Remark 2": slope(
                sizes, [bound.terms["times_as_many"] for bound in found]
            ),
            "times as many rows as without privacy, alpha = 0.01, Remark 2": found[-1].terms["times_as_many"],
        },
        notes=(
            "Epsilon 1 at delta 1e-6; adjacency: the label of one row changes, features are public; unit: the "
            "label "
            "of one row. V = 1, so that every α here is below 1/V. The factor is a proved one, with its constants.",
        ),
    )


def label_private(effort: ReproductionEffort) -> Evidence:
    """Split the rows, let three quarters teach, throw away the labels of the others and learn from answers."""
    ours, alone = [], []
    for n in effort.choose((40_000, 120_000, 400_000), (40_000, 120_000, 400_000, 1_200_000)):
        teaching, m = 3 * n // 4, n // 4
        planned = plan(LADDER, m, rehearsals(LINE, teaching, numbers_of_teachers(teaching, 5)))
        assert planned is not None
        ours.append((float(n), float(np.mean(students(LINE, planned, teaching, m, crowds=effort.choose(8, 16))))))
        alone.append((float(n), float(np.mean(not_private(LINE, n, times=60)))))
    return Evidence(
        {
            "slope with private labels": slope_of(tuple(ours)),
            "slope without privacy": slope_of(tuple(alone)),
            "times as large an error, largest n": ours[-1][1] / alone[-1][1],
        },
        LogPicture(
            "Error of label-private learning on thresholds",
            "rows in all",
            "error",
            (LogLine("labels private", tuple(ours)), LogLine("no privacy", tuple(alone))),
        ),
        (
            "Epsilon 1 at delta 1e-6; adjacency: one teacher's votes change, so in particular if the label of one "
            "row does; unit: the label of one row.",
        ),
    )


CLAIMS = (
    PaperClaim(
        name="theorem-4.2",
        place="Theorem 4.2, Algorithm 3",
        says="Where some classifier never errs, V^1.5/(ε α^1.5) private rows give a student of error 15α.",
        check="mapl bounds btt18 theorem-4.2 --vc 1 --alpha 0.01 --epsilon 1 --delta 1e-6 --beta 0.05",
        measure=theorem_4_2,
        printed=(
            Demand("power of 1/alpha", least=1.3, most=1.75),
            Demand("power of V", least=1.3, most=1.7),
            Demand("error over alpha that the bound ends with, at most", most=15.0),
            Demand("measured: power of n in the student's error", most=-0.6),
        ),
    ),
    PaperClaim(
        name="remark-2",
        place="Remark 2",
        says="If the student minimises its errors, V^1.5/(ε α) private rows are enough.",
        check="mapl bounds btt18 remark-2 --vc 1 --alpha 0.01 --epsilon 1 --delta 1e-6 --beta 0.05",
        measure=remark_2,
        printed=(Demand("power of 1/alpha", least=0.85, most=1.3), Demand("power of V", least=1.3, most=1.7)),
    ),
    PaperClaim(
        name="remark-3",
        place="Remark 3",
        says="With teachers of error 1/m no question is contested, and a student that only fits consistent labels "
        "needs V²/(ε α) private rows.",
        check="mapl bounds btt18 remark-3 --vc 1 --alpha 0.01 --epsilon 1 --delta 1e-6 --beta 0.05",
        measure=remark_3,
        printed=(Demand("chance of a contested question, teachers of error 1/m", most=GOAL["beta"]),),
        correction="Teachers of error 1/m leave three contested questions to be expected; β/(6m) leaves none, "
        "except with probability β/2, and multiplies n by about 1/β. The powers stay.",
        corrected=(
            Demand("the same, teachers of error β/(6m)", most=GOAL["beta"] / 2),
            Demand("power of 1/alpha", least=0.85, most=1.3),
            Demand("power of V", least=1.7, most=2.3),
        ),
    ),
    PaperClaim(
        name="theorem-4.3",
        place="Theorem 4.3",
        says="Where the best classifier errs γ, V^1.5/(ε α^2.5) private rows give a student of error O(γ + α).",
        check="mapl bounds btt18 theorem-4.3 --vc 1 --alpha 0.01 --gamma 0.1 --epsilon 1 --delta 1e-6 --beta 0.05",
        measure=theorem_4_3,
        printed=(Demand("power of 1/alpha where γ = 0.1", most=2.8),),
        correction="The power 2.5 is the case γ = O(α); in general it takes V^1.5 √(γ + α)/(ε α³).",
        corrected=(
            Demand("power of 1/alpha where γ = α", least=2.3, most=2.8),
            Demand("power of 1/alpha where γ = 0.1", least=2.8, most=3.3),
        ),
    ),
    PaperClaim(
        name="section-5",
        place="Section 5, the bound",
        says="Label-private learning takes √(V/α) times as many rows as learning without privacy, at most.",
        check="mapl bounds btt18 section-5 --vc 1 --alpha 0.01 --epsilon 1 --delta 1e-6 --beta 0.05",
        measure=section_5,
        printed=(Demand("power of 1/alpha in the unlabelled rows over the optimum, Theorem 4.2", most=0.6),),
        correction="With the m of Theorem 4.2 the public part alone is 1/α times the optimum for α < 1/V; with the "
        "m of Remark 2 the factor is √V/ε, up to logarithms.",
        corrected=(Demand("power of 1/alpha in all rows over the optimum, Remark 2", most=0.6),),
    ),
    PaperClaim(
        name="section-5-measured",
        place="Section 5, measured",
        says="The construction learns with private labels alone: split the rows, discard the labels of one part.",
        check="mapl learn TABLE --label-private --label LABEL --classes A,B --epsilon 1 --delta 1e-6",
        measure=label_private,
        printed=(Demand("slope with private labels", most=-0.6),),
    ),
)
