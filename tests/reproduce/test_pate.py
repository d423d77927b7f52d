"""PATE's prices by the votes: never above those that hold always; the published rows, where votes are."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from mapl.reproduce.carry_out import reproduce
from mapl.reproduce.claim import Absent, Ruling
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.pate.votes import DELTA, ORDERS, Confident, PublishedVotes, gaussian_costs, laplace_price

VOTES = Path(__file__).parents[3] / "shared" / "data" / "votes"


def write_votes(folder: Path, counts: list[list[int]]) -> PublishedVotes:
    for data in ("mnist", "adult"):
        np.save(folder / f"{data}_250_teachers.npy", np.array(counts))
        np.save(folder / f"{data}_labels.npy", np.array(counts).argmax(axis=1))
    return PublishedVotes.of("mnist", ReproductionEffort(votes=folder))


def test_clear_votes_cost_less_and_ties_what_any_vote_may(tmp_path: Path) -> None:
    clear, tied = write_votes(tmp_path, [[250, 0]] * 100), write_votes(tmp_path, [[125, 125]] * 100)
    # By hand: 2 gamma^2 l (l + 1) for each question, the best of eight moments.
    always = min((100 * 2 * 0.05**2 * m * (m + 1) + math.log(1 / DELTA)) / m for m in range(1, 9))
    assert laplace_price(tied.gaps(), 0.05) == pytest.approx(always)
    assert laplace_price(clear.gaps(), 0.05) == pytest.approx(math.log(1 / DELTA) / 8, rel=0.05)
    setting = Confident(200, 150, 40)
    assert setting.price(clear, 100) < setting.price(clear, 100, by_votes=False)
    assert setting.passing(tied.counts)[0] == pytest.approx(0.5 * math.erfc(75 / 150 / math.sqrt(2)))


def test_a_cost_by_votes_is_never_above_the_one_that_holds_always() -> None:
    log_q = -np.geomspace(1e-6, 700, 60)
    costs = gaussian_costs(log_q, 40.0)
    assert (costs <= ORDERS / 40**2 * (1 + 1e-12)).all()
    assert (costs > 0).all()
    assert (costs[0] == ORDERS / 40**2).all()
    assert costs[-1].sum() < 1e-6
    # The exact Renyi divergence of a comparison that errs with chance q or q' is below the bound: a normal that
    # moves by two votes against noise of sigma sqrt(2).
    for z in (2.0, 3.0, 5.0):
        q, moved = (0.5 * math.erfc(x / math.sqrt(2)) for x in (z, z - 1 / (40 * math.sqrt(2)) * 2))
        for order in (2.0, 8.0, 32.0):
            exact = math.log(q**order * moved ** (1 - order) + (1 - q) ** order * (1 - moved) ** (1 - order))
            bound = gaussian_costs(np.array([math.log(q)]), 40.0)[0, int(np.flatnonzero(order == ORDERS)[0])]
            assert exact / (order - 1) <= bound


def test_votes_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(Absent, match="--votes"):
        PublishedVotes.of("mnist", ReproductionEffort())
    with pytest.raises(Absent, match=r"mnist_250_teachers\.npy and mnist_labels\.npy"):
        PublishedVotes.of("mnist", ReproductionEffort(votes=tmp_path))
    assert {one.ruling for one in reproduce("pate", ReproductionEffort())} == {Ruling.skipped}


def test_other_votes_get_another_verdict(tmp_path: Path) -> None:
    write_votes(tmp_path, [[130, 120]] * 1500)
    ruled = {one.claim.name: one.ruling for one in reproduce("pate", ReproductionEffort(votes=tmp_path))}
    assert ruled["2017-mnist-100"] is Ruling.fails
    assert ruled["2018-adult"] is Ruling.fails


def test_the_published_rows() -> None:
    if not VOTES.is_dir():
        pytest.skip("../shared/data/votes is not part of this copy")
    found = reproduce("pate", ReproductionEffort(votes=VOTES))
    assert {one.claim.name: one.ruling for one in found if one.ruling is not Ruling.holds} == {
        "2017-epsilon-is-public": Ruling.corrected
    }
