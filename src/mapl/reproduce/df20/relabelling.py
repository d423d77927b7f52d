"""Theorem 2 of DF20: relabel, then vote; its rows, its constants and a lemma."""

from __future__ import annotations

import math

from mapl.bounds.btt18.algorithm2 import Constants
from mapl.bounds.df20.private import corollary_1_on_sample
from mapl.bounds.df20.relabel import theorem_2_on_sample, theorem_2_rows
from mapl.bounds.families import ClassifierKind
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import slope
from mapl.reproduce.effort import ReproductionEffort

CUTS = ClassifierKind.thresholds
TERMS = (
    "Epsilon 1 for every prediction, delta 0; adjacency: one row is replaced, n is public; unit: one row. "
    "Thresholds, with explicit constants."
)
STEPS_OF_LEMMA_9 = {
    "the net holds a good rule": 1,
    "the subset is no net, with probability α": 1,
    "the exponential mechanism": 1,
    "from S to D for what is drawn": 1,
    "from S to D for the best rule": 1,
    "the realizable learner": 1,
}
"""What each step of the printed proof adds to the error, in α."""


def rows(effort: ReproductionEffort) -> Evidence:
    alphas = effort.choose((1e-4, 1e-3, 1e-2), (2e-5, 1e-4, 1e-3, 1e-2))
    tuned = [float(theorem_2_rows(a, 1.0, kind=CUTS)) for a in alphas]
    printed = float(theorem_2_rows(alphas[-1], 1.0, kind=CUTS, constants=Constants.printed))
    far = [float(theorem_2_rows(a, 1e-4, kind=CUTS)) for a in (0.05, 0.1)]
    return Evidence(
        {
            "power of 1/alpha in the rows, ε = 1, small α": slope([1 / a for a in alphas[:2]], tuned[:2]),
            "power of 1/alpha in the rows where privacy costs most (ε = 0.0001)": slope((20, 10), far),
            "rows for α = 0.01": tuned[-1],
            "rows for α = 0.01 with the printed constant 4e⁶, over those": printed / tuned[-1],
        },
        LogPicture(
            "Rows that suffice by Theorem 2, thresholds, ε = 1",
            "1/α",
            "rows n",
            (LogLine("theorem-2-rows", tuple((1 / a, n) for a, n in zip(alphas, tuned, strict=True))),),
        ),
        (TERMS, "The printed choice aM = ε_r M = 2 makes 4e⁶; it is sound, and smaller choices take fewer rows."),
    )


def find_crossing(effort: ReproductionEffort) -> Evidence:
    sizes = [10**k for k in range(4, 12)]
    relabelled = [float(theorem_2_on_sample(n, 1.0, kind=CUTS)) for n in sizes]
    flipped = [float(corollary_1_on_sample(n, 1.0, kind=CUTS)) for n in sizes]
    wins = [n for n, a, b in zip(sizes, relabelled, flipped, strict=True) if a < b]
    return Evidence(
        {
            "excess by Theorem 2 over Corollary 1, n = 10¹¹": relabelled[-1] / flipped[-1],
            "excess by Theorem 2 over Corollary 1, n = 10⁶": relabelled[2] / flipped[2],
            "first power of ten from which on Theorem 2 is better": min(wins, default=math.inf),
        },
        LogPicture(
            "Excess error on the rows that is promised, thresholds, ε = 1",
            "rows n",
            "excess error",
            (
                LogLine("Theorem 2, tuned constants", tuple(zip(map(float, sizes), relabelled, strict=True))),
                LogLine("Corollary 1", tuple(zip(map(float, sizes), flipped, strict=True))),
            ),
        ),
        (TERMS,),
    )


def lemma_9(effort: ReproductionEffort) -> Evidence:
    return Evidence(
        {"α that the steps of the printed proof add up to": sum(STEPS_OF_LEMMA_9.values())},
        notes=("Arithmetic: " + "; ".join(f"{words}: {a}α" for words, a in STEPS_OF_LEMMA_9.items()) + ".",),
    )


CLAIMS = (
    PaperClaim(
        name="theorem-2-rows",
        place="Theorem 2",
        says="d²/(εα) + d/α² records are enough for ε-private predictions of excess error α, up to logarithms.",
        check="mapl bounds df20 theorem-2-rows --alpha 0.01 --epsilon 1 --kind thresholds",
        measure=rows,
        printed=(
            Demand("power of 1/alpha in the rows, ε = 1, small α", least=1.7, most=2.25),
            Demand("power of 1/alpha in the rows where privacy costs most (ε = 0.0001)", least=0.8, most=1.6),
        ),
    ),
    PaperClaim(
        name="theorem-2-better",
        place="Theorem 2 against Corollary 1",
        says="Theorem 2's predictor improves on Corollary 1 for small α.",
        check="mapl bounds df20 theorem-2-on-sample corollary-1-on-sample --n 1e10 --epsilon 1 --kind thresholds",
        measure=find_crossing,
        printed=(Demand("excess by Theorem 2 over Corollary 1, n = 10¹¹", most=1.0),),
    ),
    PaperClaim(
        name="lemma-9",
        place="Lemma 9",
        says="The error of Theorem 2's predictor is at most the best one's plus 4α.",
        check="python -c 'from mapl.reproduce.df20.relabelling import *; print(sum(STEPS_OF_LEMMA_9.values()))'",
        measure=lemma_9,
        printed=(Demand("α that the steps of the printed proof add up to", most=4),),
        correction="Its proof gives 6α, which the theorem's O(α) absorbs.",
        corrected=(Demand("α that the steps of the printed proof add up to", most=6),),
    ),
)
