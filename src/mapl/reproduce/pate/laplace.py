"""PATE-2017: noisy max with Laplace noise, on MNIST and Adult votes."""

from __future__ import annotations

import numpy as np

from mapl.report.plots.log_lines import LogLine, LogPicture
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.pate.votes import DELTA, PublishedVotes, laplace_price

GAMMA = 0.05
ASKED = (100, 200, 500, 1000, 2000)
TERMS = (
    f"Laplace noise of scale 20 (γ = {GAMMA:g}) on each count, delta {DELTA:g}, the first questions of the file, "
    "the first 8 moments as in the authors' code. The price depends on the votes, so it is private itself."
)


def price_noisy_max(data: str, effort: ReproductionEffort, questions: int, published: float) -> Evidence:
    votes = PublishedVotes.of(data, effort)
    found = laplace_price(votes.gaps(questions), GAMMA)
    curve = tuple((float(n), laplace_price(votes.gaps(n), GAMMA)) for n in ASKED)
    unseen = np.zeros((1, votes.counts.shape[1]))  # a tie costs what any question may
    always = tuple((float(n), laplace_price(np.repeat(unseen, n, axis=0), GAMMA)) for n in ASKED)
    return Evidence(
        {
            "epsilon": found,
            "epsilon in print": published,
            "epsilon over that in print": found / published,
            "epsilon whatever the votes are": laplace_price(np.repeat(unseen, questions, axis=0), GAMMA),
        },
        LogPicture(
            f"Price of noisy max with Laplace noise, {data} votes",
            "questions answered",
            f"epsilon at delta {DELTA:g}",
            (LogLine("by the votes", curve), LogLine("whatever the votes are", always, theory=True)),
        ),
        (TERMS,),
    )


def labels_on_mnist(effort: ReproductionEffort) -> Evidence:
    votes, rng = PublishedVotes.of("mnist", effort), np.random.default_rng(0)
    times = effort.choose(5, 50)
    right = [
        float(
            np.mean((votes.counts + rng.laplace(0, 1 / GAMMA, votes.counts.shape)).argmax(axis=1) == votes.labels)
        )
        for _ in range(times)
    ]
    return Evidence(
        {
            "accuracy of noisy labels": float(np.mean(right)),
            "accuracy in print": 0.9318,
            "difference": float(np.mean(right)) - 0.9318,
            "accuracy of the plurality": votes.accuracy,
        },
        notes=(f"9,000 questions, {times} draws of the noise (γ = {GAMMA:g}).",),
    )


def move_one_teacher(effort: ReproductionEffort) -> Evidence:
    """Let one teacher of the winner's side go over to the runner-up on every question, and price again."""
    votes = PublishedVotes.of("mnist", effort)
    gaps = votes.gaps(100)
    nearest = gaps.argmin(axis=1)
    moved = np.where(np.isinf(gaps), np.inf, np.maximum(gaps - 1, 0))
    rows = np.arange(len(gaps))
    moved[rows, nearest] = np.maximum(gaps[rows, nearest] - 2, 0)
    before, after = laplace_price(gaps, GAMMA), laplace_price(moved, GAMMA)
    always, always_after = (laplace_price(np.zeros_like(part), GAMMA) for part in (gaps, moved))
    return Evidence(
        {
            "epsilon": before,
            "epsilon if one teacher votes otherwise": after,
            "difference": abs(after - before),
            "epsilon whatever the votes are": always,
            "difference of that": abs(always_after - always),
        },
        notes=(TERMS,),
    )


CLAIMS = (
    PaperClaim(
        name="2017-mnist-100",
        place="2017, Table 2, MNIST, 100 queries",
        says="100 labels of 250 teachers on MNIST cost epsilon 2.04 at delta 1e-5.",
        given=("votes",),
        measure=lambda effort: price_noisy_max("mnist", effort, 100, 2.04),
        printed=(Demand("epsilon over that in print", least=0.98, most=1.02),),
    ),
    PaperClaim(
        name="2017-mnist-1000",
        place="2017, Table 2, MNIST, 1,000 queries",
        says="1,000 labels on MNIST cost epsilon 8.03 at delta 1e-5, at most.",
        given=("votes",),
        measure=lambda effort: price_noisy_max("mnist", effort, 1000, 8.03),
        printed=(Demand("epsilon over that in print", most=1.02),),
    ),
    PaperClaim(
        name="2017-mnist-labels",
        place="2017, Section 4.1",
        says="Noisy labels of 250 teachers on MNIST are right on 93.18% of the questions.",
        given=("votes",),
        measure=labels_on_mnist,
        printed=(Demand("difference", least=-0.005, most=0.005),),
    ),
    PaperClaim(
        name="2017-adult",
        place="2018, Table 1, Adult by noisy max of 2017",
        says="500 labels on Adult cost epsilon 2.66 at delta 1e-5, at most.",
        given=("votes",),
        measure=lambda effort: price_noisy_max("adult", effort, 500, 2.66),
        printed=(Demand("epsilon over that in print", least=0.9, most=1.02),),
    ),
    PaperClaim(
        name="2017-epsilon-is-public",
        place="2017, the epsilon itself",
        says="The epsilon that was computed from the votes is a guarantee that can be published.",
        given=("votes",),
        measure=move_one_teacher,
        printed=(Demand("difference", most=0.0),),
        correction="It depends on the votes, so that publishing it tells of them: it has to be sanitised (2018, by "
        "smooth sensitivity), or the price is taken that holds whatever the votes are, as mapl does.",
        corrected=(Demand("difference of that", most=0.0),),
    ),
)
