"""PATE-2018: confident noisy max with Gaussian noise, on MNIST and Adult votes."""

from __future__ import annotations

import math

import numpy as np

from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.pate.laplace import GAMMA
from mapl.reproduce.pate.votes import DELTA, Confident, PublishedVotes, laplace_price

ON_MNIST, ON_ADULT = Confident(200, 150, 40), Confident(300, 200, 40)
TERMS = (
    f"delta {DELTA:g}, the first questions of the file; expected figures, by the chance of every question to be "
    "answered. The price depends on the votes, so it is private itself."
)


def price_confident_max(
    data: str, setting: Confident, effort: ReproductionEffort, questions: int, epsilon: float, answered: int
) -> Evidence:
    votes = PublishedVotes.of(data, effort)
    passing = setting.passing(votes.counts[:questions])
    right = (votes.counts.argmax(axis=1) == votes.labels)[:questions]
    found = setting.price(votes, questions)
    sizes = [max(10, questions * part // 8) for part in range(1, 9)]
    return Evidence(
        {
            "answers to be expected": float(passing.sum()),
            "answers in print": answered,
            "answers over those in print": float(passing.sum()) / answered,
            "epsilon": found,
            "epsilon in print": epsilon,
            "epsilon over that in print": found / epsilon,
            "epsilon for as many answers, whatever the votes are": setting.price(votes, questions, by_votes=False),
            "accuracy of the plurality where it answers": float(passing @ right / passing.sum()),
            "accuracy of the plurality, all of these questions": float(np.mean(right)),
        },
        LogPicture(
            f"Price of confident noisy max, {data} votes",
            "questions asked",
            f"epsilon at delta {DELTA:g}",
            (
                LogLine("by the votes", tuple((float(n), setting.price(votes, n)) for n in sizes)),
                LogLine(
                    "as many answers, whatever the votes are",
                    tuple((float(n), setting.price(votes, n, by_votes=False)) for n in sizes),
                    theory=True,
                ),
            ),
        ),
        (
            f"Threshold {setting.threshold:g}, σ₁ = {setting.sigma_1:g}, σ₂ = {setting.sigma_2:g}, {questions:,} "
            f"questions; {TERMS}",
        ),
    )


def better(effort: ReproductionEffort) -> Evidence:
    """Compare what both mechanisms pay for one answer."""
    figures: dict[str, float] = {}
    for data, setting, questions in (("mnist", ON_MNIST, 640), ("adult", ON_ADULT, 1500)):
        votes = PublishedVotes.of(data, effort)
        answers = math.floor(setting.passing(votes.counts[:questions]).sum())
        figures[f"epsilon of 2017 over that of 2018 for as many answers, {data}"] = laplace_price(
            votes.gaps(answers), GAMMA
        ) / setting.price(votes, questions)
    return Evidence(figures, notes=(TERMS,))


AS_IN_PRINT = (
    Demand("answers over those in print", least=0.93, most=1.07),
    Demand("epsilon over that in print", least=0.93, most=1.07),
)

CLAIMS = (
    PaperClaim(
        name="2018-mnist",
        place="2018, Table 1, MNIST",
        says="Confident noisy max answers 286 of 640 questions on MNIST for epsilon 1.97 at delta 1e-5.",
        given=("votes",),
        measure=lambda effort: price_confident_max("mnist", ON_MNIST, effort, 640, 1.97, 286),
        printed=AS_IN_PRINT,
    ),
    PaperClaim(
        name="2018-adult",
        place="2018, Table 1, Adult",
        says="Confident noisy max answers about 524 of 1,500 questions on Adult for epsilon 1.66 at delta 1e-5.",
        given=("votes",),
        measure=lambda effort: price_confident_max("adult", ON_ADULT, effort, 1500, 1.66, 524),
        printed=AS_IN_PRINT,
    ),
    PaperClaim(
        name="2018-better",
        place="2018, Section 5",
        says="Selective answers with Gaussian noise cost less than those of 2017.",
        given=("votes",),
        measure=better,
        printed=(
            Demand("epsilon of 2017 over that of 2018 for as many answers, mnist", least=1.0),
            Demand("epsilon of 2017 over that of 2018 for as many answers, adult", least=1.0),
        ),
    ),
)
