"""Section 3.2 of LZCW21: what the vote of many teachers is worth, and how clear it has to be."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.stats import binom

from mapl.bounds.lzcw21.margin import VotingCrowd, crowd
from mapl.bounds.lzcw21.voting import small_margin_share
from mapl.pipeline.rehearsal.margin import MarginWish, measure
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Absent, Demand, Evidence, PaperClaim
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.worlds import voting_fails, voting_wins

CROWDS = (1, 3, 11, 31, 101, 301, 1001)


def example_8(effort: ReproductionEffort) -> Evidence:
    world = voting_fails()
    curve = tuple((float(k), world.voting_error(k)) for k in CROWDS)
    return Evidence(
        {
            "error of each classifier": world.errors[0],
            "error of 1,001 voters": curve[-1][1],
            "error of infinitely many": world.limit_error,
            "distance from 3/4, power of e in K between 101 and 301": math.log(
                max(0.75 - curve[5][1], 1e-300) / max(0.75 - curve[4][1], 1e-300)
            )
            / 200,
        },
        LogPicture("Error of the vote", "teachers K", "error", (LogLine("Example 8", curve),)),
        ("Exact; ties count as wrong.",),
    )


def example_9(effort: ReproductionEffort) -> Evidence:
    world = voting_wins()
    margin = 0.5 - world.errors[0]
    curve = tuple((float(k), world.voting_error(k)) for k in CROWDS)
    hoeffding = tuple((k, math.exp(-2 * k * margin**2)) for k, _ in curve)
    return Evidence(
        {
            "error of each classifier": world.errors[0],
            "error of 1,001 voters": curve[-1][1],
            "error over e^(−2KΔ²), at most": max(e / h for (_, e), (_, h) in zip(curve, hoeffding, strict=True)),
        },
        LogPicture(
            "Error of the vote",
            "teachers K",
            "error",
            (LogLine("Example 9", curve), LogLine("Hoeffding: e^(−2KΔ²)", hoeffding, theory=True)),
        ),
        ("Five points on a circle, each classifier is wrong on two neighbours; exact.",),
    )


def definition_10(effort: ReproductionEffort) -> Evidence:
    tossing, sure = np.full(1000, 0.5), np.tile([0.01, 0.99], 500)
    margin = 0.2
    return Evidence(
        {
            "ν of coins by the printed inequality": float(np.mean(np.abs(tossing - 0.5) > margin)),
            "ν of sure teachers by the printed inequality": float(np.mean(np.abs(sure - 0.5) > margin)),
            "ν of coins, corrected": small_margin_share(tossing, margin),
            "ν of sure teachers, corrected": small_margin_share(sure, margin),
        },
        notes=("Δ = 0.2. ν has to be small for teachers that agree, and 1 for coins.",),
    )


def chance_to_halt_early(found: VotingCrowd, teachers: int, margin: float, m: int, delta: float) -> float:
    """Return the chance that Algorithm 2 makes T abstentions on m rows, all votes being independent.

    Exact but for the threshold's noise, which is averaged over the midpoints of 300 equally likely parts.
    """
    middle, spread = teachers * (0.5 + margin), 10 * math.sqrt(teachers)
    votes = np.arange(max(0, math.floor(middle - spread)), min(teachers, math.ceil(middle + spread)) + 1)
    chance = binom.pmf(votes, teachers, 0.5 + margin)
    distance = np.maximum(0, np.ceil(np.abs(2 * votes - teachers) / 2) - 1)
    parts = (np.arange(300) + 0.5) / 300
    drawn = found.scale * np.where(parts < 0.5, np.log(2 * parts), -np.log(2 * (1 - parts)))
    needed = (3 * found.scale * math.log(2 * (m + found.cutoff) / delta) + drawn)[:, None] - distance
    tail = np.exp(-np.abs(needed) / (2 * found.scale)) / 2
    passes = np.where(needed > 0, tail, 1 - tail) @ chance
    # An epoch ends with its (j + 1)-th row with this chance; T epochs must not fit into m rows.
    ends = [float((passes**j * (1 - passes)).mean()) for j in range(m)]
    within = [1.0] * (m + 1)
    for _ in range(found.cutoff):
        within = [sum(ends[j] * within[rows - 1 - j] for j in range(rows)) for rows in range(m + 1)]
    return within[m]


def even_margin(m: int, delta: float, beta: float) -> float:
    """Return the margin at which both printed conditions of Proposition 11 ask for as many teachers."""
    low, high = 1e-4, 0.5
    while high / low > 1.0001:
        margin = math.sqrt(low * high)
        found = crowd(m, 0.0, margin, epsilon=1.0, delta=delta, beta=beta)
        low, high = (margin, high) if found.for_votes > found.for_noise_as_printed else (low, margin)
    return high


def proposition_11(effort: ReproductionEffort) -> Evidence:
    m, delta, beta = 50, 1e-9, 0.1
    margin = even_margin(m, delta, beta)
    found = crowd(m, 0.0, margin, epsilon=1.0, delta=delta, beta=beta)
    printed, corrected = (
        chance_to_halt_early(found, teachers, margin * 1.0001, m, delta)
        for teachers in (found.teachers_as_printed, found.teachers)
    )
    return Evidence(
        {
            "chance to halt early with the printed K": printed,
            "chance to halt early with the corrected K": corrected,
            "failure probability allowed": beta,
            "printed K": found.teachers_as_printed,
            "corrected K": found.teachers,
        },
        notes=(
            f"m = {m} questions, epsilon 1 at delta {delta:g}, ν = 0, T = {found.cutoff}, and every question has a "
            f"margin above Δ = {margin:.4f}, at which both printed conditions ask for the same K.",
        ),
    )


def adult_margins(effort: ReproductionEffort) -> Evidence:
    """Measure margin curves of logistic teachers on Adult's train split, which counts as public here."""
    path = None if effort.data is None else effort.data / "adult.parquet"
    if path is None or not path.is_file():
        raise Absent("the margins of Appendix F are those of Adult; give the folder of adult.parquet with --data.")
    table = pq.read_table(path)
    train = table.filter(pc.equal(pc.cast(table["split"], "string"), "train")).drop_columns("split")
    sizes = effort.choose((50, 500), (50, 100, 200, 500, 1000))
    wish = MarginWish(sizes, effort.choose(60, 200))
    found = measure(train, wish, label="label", learner="logistic", n_jobs=1)
    curves = [tuple((d / 100, one.curve.nu(d / 100)) for d in range(1, 50)) for one in found.sizes]
    at = [one.curve.nu(0.1) for one in found.sizes]
    return Evidence(
        {
            "share of rows with a margin of at most 0.1, smallest teachers": at[0],
            "share of rows with a margin of at most 0.1, largest teachers": at[-1],
            "shares that grow with the rows of a teacher": sum(b > a for a, b in pairwise(at)),
            "error of the vote, largest teachers": found.sizes[-1].vote_error,
        },
        LogPicture(
            "Share of rows on which teachers vote with at most this margin",
            "margin |mean vote − 1/2|",
            "share ν of rows",
            tuple(LogLine(f"{one.size} rows each", curve) for one, curve in zip(found.sizes, curves, strict=True)),
        ),
        ("Logistic regressions on parts of Adult's train split, asked about held-out rows. Not private.",),
    )


CLAIMS = (
    PaperClaim(
        name="example-8",
        place="Example 8",
        says="Three classifiers that each err on half of the points: their vote errs on 3/4 of them, which it "
        "reaches exponentially fast in K.",
        check="mapl bounds lzcw21 example-8 --gamma 0.5",
        measure=example_8,
        printed=(
            Demand("error of each classifier", least=0.5, most=0.5),
            Demand("error of 1,001 voters", least=0.7499, most=0.7501),
            Demand("error of infinitely many", least=0.75, most=0.75),
            Demand("distance from 3/4, power of e in K between 101 and 301", most=-0.01),
        ),
    ),
    PaperClaim(
        name="example-9",
        place="Example 9",
        says="If every teacher errs at every point with a chance of at most 1/2 − Δ, the vote of K errs with at "
        "most e^(−2KΔ²).",
        check="mapl bounds lzcw21 example-9 --margin 0.1 --teachers 1001",
        measure=example_9,
        printed=(
            Demand("error over e^(−2KΔ²), at most", most=1.0),
            Demand("error of 1,001 voters", most=1e-8),
        ),
    ),
    PaperClaim(
        name="definition-10",
        place="Definition 10",
        says="A problem has an approximate high margin (ν, Δ) if P[Δ_n(x) > Δ] ≤ ν.",
        check="python -c 'from mapl.bounds.lzcw21.voting import small_margin_share; "
        "print(small_margin_share([0.5, 0.5], 0.2))'",
        measure=definition_10,
        printed=(
            Demand("ν of coins by the printed inequality", least=0.5),
            Demand("ν of sure teachers by the printed inequality", most=0.5),
        ),
        correction="The inequality is the wrong way round: P[Δ_n(x) ≤ Δ] ≤ ν. As printed, coins have the best ν.",
        corrected=(
            Demand("ν of coins, corrected", least=0.5),
            Demand("ν of sure teachers, corrected", most=0.5),
        ),
    ),
    PaperClaim(
        name="proposition-11",
        place="Proposition 11",
        says="K ≥ max{2 ln(3m/γ)/Δ², 3λ(ln(4m/δ) + ln(3m/γ))/Δ} teachers of margin Δ let Algorithm 2 finish.",
        check="mapl bounds lzcw21 proposition-11 --m 50 --nu 0 --margin 0.1 --epsilon 1 --delta 1e-9 --beta 0.1",
        measure=proposition_11,
        printed=(Demand("chance to halt early with the printed K", most=0.1),),
        correction="Half a margin is a distance of KΔ/2 − 1: the second condition has to be (6λ(...) + 2)/Δ.",
        corrected=(Demand("chance to halt early with the corrected K", most=0.1),),
    ),
    PaperClaim(
        name="appendix-f-adult",
        place="Appendix F",
        says="Linear classifiers on Adult satisfy the approximate high-margin condition with a small ν at a large "
        "Δ, the more so the more rows each teacher has.",
        check="python benchmarks/margin.py",
        given=("data",),
        measure=adult_margins,
        printed=(
            Demand("share of rows with a margin of at most 0.1, largest teachers", most=0.1),
            Demand("shares that grow with the rows of a teacher", most=0),
        ),
    ),
)
