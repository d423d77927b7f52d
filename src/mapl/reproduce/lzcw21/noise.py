"""Table 1 of LZCW21 under Tsybakov's noise condition: rates of students where labels are noisy."""

from __future__ import annotations

import numpy as np

from mapl.planning.votes.noise_conditions import fit_tsybakov
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.btt18.rates import LADDER, PAPER, Series, power_line, slope_of
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.runs import BUDGET, best_student, not_private, rehearsals
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.worlds import LabelNoise, ThresholdWorld

TEACHERS = 1000
"""The theorems let their number grow with logarithms only."""
ALONE = "one learner of all rows, no privacy"
SHOWN = {LADDER: "sparse (mapl's ladder)", PAPER: "Gaussian at the printed price", ALONE: ALONE}
TERMS = (
    f"Thresholds, {TEACHERS:,} teachers, epsilon {BUDGET.epsilon:g} at delta {BUDGET.delta:g}; each student from "
    "the number of public rows that serves it best, chosen on one half of the crowds and shown on the other. "
    "Excess risks are exact given the student."
)


def risks_by_rows(noise: LabelNoise, quick: bool) -> Series:
    """Return for each way to ask the mean excess risk of students, by n; and without privacy."""
    world = ThresholdWorld(cut=0.3, noise=noise)
    found: dict[str, list[tuple[float, float]]] = {}
    for n in (30_000, 100_000, 300_000) if quick else (30_000, 100_000, 300_000, 1_000_000):
        crowds = rehearsals(world, n, [TEACHERS])
        for name in (LADDER, PAPER):
            point = best_student(world, name, n, (1000, 10_000, 100_000), crowds, half=8 if quick else 16)
            found.setdefault(name, []).append((n, point["mean"]))
        found.setdefault(ALONE, []).append((n, float(np.mean(not_private(world, n, times=40)))))
    return {name: tuple(points) for name, points in found.items()}


def draw_risks(found: Series, theory: LogLine) -> LogPicture:
    lines = tuple(LogLine(SHOWN[name], points) for name, points in found.items())
    return LogPicture("Excess risk of the student", "private rows n", "excess risk", (*lines, theory))


def bounded_noise(effort: ReproductionEffort) -> Evidence:
    found = risks_by_rows(LabelNoise.massart(0.2), effort.quick)
    return Evidence(
        {
            "slope, sparse": slope_of(found[LADDER]),
            "slope, Gaussian": slope_of(found[PAPER]),
            "slope without privacy": slope_of(found[ALONE]),
        },
        draw_risks(found, power_line("theory, sparse: power -1.00", found[LADDER], -1.0)),
        (TERMS, "Every label is flipped with probability 0.2 (τ = 1)."),
    )


def tsybakov(effort: ReproductionEffort) -> Evidence:
    found = risks_by_rows(LabelNoise(0.5), effort.quick)
    bound = tuple((n, n ** (-1 / 3)) for n, _ in found[LADDER])
    above = (risk / most for (_, risk), (_, most) in zip(found[LADDER], bound, strict=True))
    return Evidence(
        {
            "excess risk over the bound without constants, at most": max(above),
            "slope, sparse": slope_of(found[LADDER]),
            "slope, Gaussian": slope_of(found[PAPER]),
            "slope without privacy": slope_of(found[ALONE]),
            "excess risk of the sparse student over that without privacy, largest n": found[LADDER][-1][1]
            / found[ALONE][-1][1],
        },
        draw_risks(found, LogLine("at most, sparse: n^(−1/3)", bound, theory=True)),
        (
            TERMS,
            "τ = 1/2: sureness falls to nothing at the cut. Theory promises at most n^(−1/3) (sparse), n^(−2/7) "
            "(Gaussian), and n^(−2/3) without privacy; a crowd of cuts is better than a bound by disagreement "
            "sees. So far below the bound errors follow no power: slopes are shown and decide nothing.",
        ),
    )


def definition_3(effort: ReproductionEffort) -> Evidence:
    """Measure τ where it is known, and look for the smallest η of Lemma 4."""
    missed, broken = [], []
    rng = np.random.default_rng(3)
    for tau in (0.3, 0.5, 0.7):
        noise = LabelNoise(tau)
        world = ThresholdWorld(cut=0.4, noise=noise)
        X, _ = world.sample(effort.choose(50_000, 500_000), rng)
        missed.append(abs(fit_tsybakov(world.regression(X)).tau - tau))
        broken += [
            world.disagreement(cut) / (noise.eta * world.excess_risk(cut) ** tau)
            for cut in np.linspace(0, 1, 201).tolist()
            if cut != world.cut
        ]
    return Evidence(
        {
            "measured τ less the true one, at most": max(missed),
            "Dis(h, h*) over η (excess risk)^τ, at most": max(broken),
        },
        notes=("τ = 0.3, 0.5 and 0.7; 201 cuts h in each world, exactly.",),
    )


CLAIMS = (
    PaperClaim(
        name="lemma-4",
        place="Definition 3, Lemma 4",
        says="Tsybakov's condition means that classifiers of small excess risk hardly differ from the best one: "
        "Dis(h, h*) ≤ η (excess risk)^τ.",
        check="mapl margin PUBLIC --label LABEL --learner logistic",
        measure=definition_3,
        printed=(
            Demand("measured τ less the true one, at most", most=0.05),
            Demand("Dis(h, h*) over η (excess risk)^τ, at most", most=1 + 1e-9),
        ),
    ),
    PaperClaim(
        name="table-1-bounded-noise",
        place="Table 1 and Remark 6, τ = 1; Theorem 5",
        says="Under bounded noise students are as good as where nobody errs: excess risk d^1.5/(nε) by the sparse "
        "vector, (nε)^(−2/3) by Gaussian noise.",
        check="python benchmarks/rates.py",
        measure=bounded_noise,
        printed=(
            Demand("slope, sparse", most=-0.75),
            Demand("slope, Gaussian", most=-0.45),
        ),
    ),
    PaperClaim(
        name="table-1-tsybakov",
        place="Table 1, τ = 1/2; Theorem 5",
        says="Under Tsybakov's condition the excess risk is at most (d^1.5/(nε))^(τ/(2−τ)) by the sparse vector.",
        check="python benchmarks/rates.py",
        measure=tsybakov,
        printed=(Demand("excess risk over the bound without constants, at most", most=1.0),),
    ),
)
