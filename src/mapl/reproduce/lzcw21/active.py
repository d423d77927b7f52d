"""Section 3.3 of LZCW21: labels that active queries save, and which rows they are about."""

from __future__ import annotations

import numpy as np

from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.btt18.rates import LADDER, LINE, PAPER, slope_of
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.crowds.cut_rules import ask_actively
from mapl.reproduce.crowds.runs import BUDGET, crowd_of, plan, publish, rehearsals, student
from mapl.reproduce.effort import ReproductionEffort
from mapl.types import ABSTAIN, Budget, Tallies

TEACHERS, ROWS = 2000, 100_000


def labels_saved(effort: ReproductionEffort) -> Evidence:
    """Count the labels that robust-cal asks for, told the exact plurality, and compare the students."""
    asked, active, passive = [], [], []
    for m in effort.choose((300, 1000, 3000, 10_000), (300, 1000, 3000, 10_000, 30_000, 100_000)):
        mechanism = make("majority", Task(Budget(float("inf"), 0.0), TEACHERS, 2, m))
        counts, errors, all_errors = [], [], []
        for number in range(effort.choose(6, 12)):
            rng, coins = np.random.default_rng((13, m, number)), SeededCoins(number)
            crowd = crowd_of(LINE, ROWS, TEACHERS, number)
            X, _ = LINE.sample(m, rng)
            labels, chosen = ask_actively(X, crowd, mechanism, coins, m)
            counts.append(len(chosen))
            errors.append(LINE.excess_risk(student(LINE, X, labels)))
            all_errors.append(LINE.excess_risk(student(LINE, X, publish(mechanism, crowd.votes(X), coins))))
        asked.append((float(m), float(np.mean(counts))))
        active.append(float(np.mean(errors)))
        passive.append(float(np.mean(all_errors)))
    return Evidence(
        {
            "power of m in the labels that are asked for": slope_of(tuple(asked)),
            "labels asked for, largest m": asked[-1][1],
            "times fewer labels than a passive student, largest m": asked[-1][0] / asked[-1][1],
            "error of active over passive students, at most": max(
                a / b for a, b in zip(active, passive, strict=True)
            ),
        },
        LogPicture(
            "Labels asked for",
            "public rows m",
            "labels",
            (
                LogLine("active (robust-cal)", tuple(asked)),
                LogLine("passive: one each", tuple((m, m) for m, _ in asked), theory=True),
            ),
        ),
        (
            "Thresholds, labels are the exact plurality of 2,000 teachers, without noise: what is saved is the "
            "number of labels that would have to be paid for. Robust-cal with c1 = 0.01, which is mapl's and not "
            "the theory's.",
        ),
    )


def passive_against_active(effort: ReproductionEffort) -> Evidence:
    """Teach students at the same budget by Gaussian noise, from m random labels and from few chosen ones."""
    m, n = 3000, ROWS
    curves: dict[str, list[tuple[float, float]]] = {"passive": [], "active": []}
    for epsilon in effort.choose((0.3, 1.0, 3.0), (0.1, 0.3, 1.0, 3.0)):
        budget = Budget(epsilon, BUDGET.delta)
        every = make(PAPER, Task(budget, TEACHERS, 2, m))
        few = make(PAPER, Task(budget, TEACHERS, 2, 60))
        errors: dict[str, list[float]] = {"passive": [], "active": []}
        for number in range(effort.choose(12, 40)):
            rng, coins = np.random.default_rng((17, number)), SeededCoins(number)
            crowd = crowd_of(LINE, n, TEACHERS, number)
            X, _ = LINE.sample(m, rng)
            errors["passive"].append(LINE.excess_risk(student(LINE, X, publish(every, crowd.votes(X), coins))))
            labels, _ = ask_actively(X, crowd, few, coins, 60)
            errors["active"].append(LINE.excess_risk(student(LINE, X, labels)))
        for way, found in errors.items():
            curves[way].append((epsilon, float(np.mean(found))))
    ratios = [p / a for (_, p), (_, a) in zip(curves["passive"], curves["active"], strict=True)]
    return Evidence(
        {
            "error of PSQ over ASQ, least over the budgets": min(ratios),
            "error of PSQ over ASQ, most over the budgets": max(ratios),
        },
        LogPicture(
            "Error of the student, Gaussian noise at the printed price",
            f"epsilon at delta {BUDGET.delta:g}",
            "error",
            (
                LogLine("PATE-PSQ: 3,000 random labels", tuple(curves["passive"])),
                LogLine("PATE-ASQ: at most 60 chosen labels", tuple(curves["active"])),
            ),
        ),
        (f"Thresholds, n = {n:,}, {TEACHERS:,} teachers, m = {m:,} public rows.",),
    )


def same_rows(effort: ReproductionEffort) -> Evidence:
    """Compare the rows that robust-cal asks about with those on which a ladder over the pool abstains."""
    n, m = ROWS, 3000
    planned = plan(LADDER, m, rehearsals(LINE, n, [TEACHERS]))
    assert planned is not None
    exact = make("majority", Task(Budget(float("inf"), 0.0), TEACHERS, 2, m))
    both = chosen_rows = refused_rows = total = 0
    near, every = [], []
    for number in range(effort.choose(10, 40)):
        rng, coins = np.random.default_rng((19, number)), SeededCoins(number)
        crowd = crowd_of(LINE, n, TEACHERS, number)
        X, _ = LINE.sample(m, rng)
        votes: Tallies = crowd.votes(X)
        refused = publish(planned.mechanism, votes, coins) == ABSTAIN
        _, chosen = ask_actively(X, crowd, exact, coins, m)
        both += int(np.count_nonzero(refused[chosen]))
        chosen_rows, refused_rows, total = chosen_rows + len(chosen), refused_rows + int(refused.sum()), total + m
        near.append(float(np.median(votes.distances[chosen])))
        every.append(float(np.median(votes.distances)))
    by_chance = chosen_rows * refused_rows / total
    return Evidence(
        {
            "rows chosen and refused, over what chance would give": both / by_chance,
            "share of chosen rows that are refused": both / chosen_rows,
            "share of all rows that are refused": refused_rows / total,
            "median distance to instability of chosen rows": float(np.mean(near)),
            "median distance to instability of all rows": float(np.mean(every)),
        },
        notes=(
            f"Thresholds, n = {n:,}, {TEACHERS:,} teachers, m = {m:,}; epsilon 1 at delta 1e-6 for the ladder.",
        ),
    )


CLAIMS = (
    PaperClaim(
        name="labels-saved",
        place="Section 3.3, Theorem 15",
        says="Disagreement-based queries save labels, and with them privacy budget, exponentially: about θ d "
        "ln(1/α) labels do what d/α do for a passive student.",
        check="python benchmarks/students.py active",
        measure=labels_saved,
        printed=(
            Demand("power of m in the labels that are asked for", most=0.35),
            Demand("times fewer labels than a passive student, largest m", least=20),
            Demand("error of active over passive students, at most", most=1.5),
        ),
    ),
    PaperClaim(
        name="psq-against-asq",
        place="Algorithms 3 and 4",
        says="With the same Gaussian noise and budget, active queries (PATE-ASQ) give better students than passive "
        "ones (PATE-PSQ), because fewer labels have to be paid for.",
        check="python benchmarks/students.py active",
        measure=passive_against_active,
        printed=(Demand("error of PSQ over ASQ, least over the budgets", least=1.0),),
    ),
    PaperClaim(
        name="same-rows",
        place="Section 4, discussion",
        says="Both ways select: active learning asks near the boundary, and the sparse vector pays for unstable "
        "questions. Whether the two select the same rows is left open.",
        check="python benchmarks/students.py active",
        measure=same_rows,
        printed=(Demand("rows chosen and refused, over what chance would give", least=2.0),),
    ),
)
