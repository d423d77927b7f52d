"""The tables of peers are those of the measured figures, and the README holds no other figures."""

from __future__ import annotations

import math
import re
import runpy
from importlib.metadata import version
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

ROOT = Path(__file__).parent.parent
MAKER = runpy.run_path(str(ROOT / "benchmarks" / "compare_picture.py"))
FOUND = MAKER["figures"]()
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/compare.md"])
def test_a_table_of_peers_is_what_was_measured(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert len(MAKER["MARK"].findall(text)) == 1
    assert MAKER["written_in"](text, FOUND) == text, "python benchmarks/compare_picture.py writes it anew"


def test_a_figure_of_the_table_by_hand() -> None:
    rows = [one for one in MAKER["json"].loads(MAKER["FOUND"].read_text("utf-8"))["rows"] if one["data"] == "adult"]
    ours = [one["accuracy"] for one in rows if one["method"] == "mapl, auto" and one["epsilon"] == 0.5]
    assert len(ours) >= 5
    assert f"| Adult | 0.5 | **{sum(ours) / len(ours):.1f}** |" in README


def test_what_was_not_measured_is_called_so() -> None:
    adult = {key: one for key, one in FOUND.items() if key[1] in ("mapl, auto", *MAKER["OPEN"])}
    assert "| not measured | not measured |" in MAKER["table"](adult, [0.5])


def test_what_peers_are_priced_by_is_how_much_one_row_changes() -> None:
    world = np.random.default_rng(0)
    rows, labels, questions = world.normal(size=(60, 3)), world.integers(3, size=60), world.normal(size=(20, 3))
    knn = runpy.run_path(str(ROOT / "benchmarks" / "private_knn.py"))
    knn["neighbour_votes"].__globals__.update(SHARE=1.0, NEIGHBOURS=7)
    votes = [knn["neighbour_votes"](rows[:n], labels[:n], questions, 3, world) for n in (60, 59)]
    moved = np.linalg.norm(votes[0] - votes[1], axis=1)
    assert 0 < moved.max() <= np.sqrt(2) + 1e-12
    sums = runpy.run_path(str(ROOT / "benchmarks" / "adassp.py"))
    short = sums["short"](sums["with_constant"](10 * rows), 2.0)
    assert np.linalg.norm(short, axis=1).max() <= 1 + 1e-12
    Y = np.eye(3)[labels]
    plain = np.linalg.lstsq(np.tile(short, (10**4, 1)), np.tile(Y, (10**4, 1)), rcond=None)[0]
    noisy = sums["fitted"](np.tile(short, (10**4, 1)), np.tile(Y, (10**4, 1)), 30.0, world)
    np.testing.assert_allclose(noisy, plain, atol=0.01)


def test_what_pate_tells_of_its_price_hides_one_teacher() -> None:
    """One teacher moves the price by no more than the sensitivity, and that itself by no more than e^beta."""
    pate = runpy.run_path(str(ROOT / "benchmarks" / "sanitised_pate.py"))
    world, sigma, teachers, order, beta = np.random.default_rng(0), 4.0, 30, 6, 0.05
    moved = []
    for _ in range(40):
        votes = np.where(world.random((teachers, 12)) < 0.9, 0, world.integers(3, size=(teachers, 12)))
        found = []
        for teacher in (votes[0], world.integers(3, size=12)):  # with the first teacher as it is, and another
            cast = np.vstack([teacher, votes[1:]])
            counts = np.stack([(cast == one).sum(axis=0) for one in range(3)], axis=1).astype(float)
            e = pate["places"](counts, sigma)
            costs = pate["Costs"].of(12.0, sigma, 3)
            sums = costs.sensitivities(costs.cells(e), order, teachers)
            assert (np.diff(sums) >= 0).all()
            found.append((costs.total(costs.cells(e))[order], sums[0], pate["smooth"](sums, beta)))
        (one, most, wide), (other, _, wide_too) = found
        assert abs(one - other) <= most + 1e-12
        assert most <= wide <= np.exp(beta) * wide_too * (1 + 1e-9)
        moved.append(abs(one - other))
    assert max(moved) > 0
    # The divergence of two normals by hand, where one is wider by e^beta and moved by one.
    grid = np.linspace(-30, 30, 200_001)
    wide, narrow = 2 * np.exp(beta), 2.0
    for one, other in ((wide, narrow), (narrow, wide)):
        p, q = (np.exp(-((grid - at) ** 2) / (2 * s**2)) / s for at, s in ((1.0, one), (0.0, other)))
        exact = np.log(np.sum(p**4 * q**-3.0) * (grid[1] - grid[0]) / np.sqrt(2 * np.pi)) / 3
        assert exact <= pate["noise_cost"](4.0, beta, 2.0) * (1 + 1e-6)


def test_the_readme_decides_and_no_more() -> None:
    """What it is, one picture, two commands, ten lines, one table, links; the rest is in docs."""
    assert len(README.split()) < 900
    assert len(re.findall(r"!\[", README)) == 1
    for command in ("pip install mapl", "make demo", "make test"):
        assert command in README
    assert max(len(one.split()) for one in re.findall(r"[^.|`\n]+\.", README)) < 45


def test_what_the_page_says_of_dp_accounting_is_so() -> None:
    if not version("dp-accounting").startswith("0.6."):
        pytest.skip("the page speaks of dp-accounting 0.6")
    page = (ROOT / "docs" / "compare.md").read_text("utf-8")
    relation = dp_accounting.NeighboringRelation
    assert {one.name for one in relation} == {"ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL"}
    gaussian, laplace = dp_accounting.GaussianDpEvent(4.0), dp_accounting.LaplaceDpEvent(4.0)
    for event in (gaussian, laplace):
        for accountant in (PLDAccountant(), RdpAccountant()):
            accountant.compose(event, 10)
            assert accountant.get_epsilon(0.0) == math.inf
            assert accountant.ledger == dp_accounting.SelfComposedDpEvent(event, 10)
    replaced = [
        accountant(neighboring_relation=relation.REPLACE_ONE).compose(gaussian, 10).get_epsilon(1e-5)
        for accountant in (PLDAccountant, RdpAccountant)
    ]
    assert f"cost epsilon {replaced[0]:.2f} at delta 1e-5 by privacy loss distributions" in page
    assert f"and {replaced[1]:.2f} by Renyi orders" in page
    # As an event of half the noise, which is what a replaced record does to a sum of rows of norm 1.
    twice = PLDAccountant().compose(dp_accounting.GaussianDpEvent(2.0), 10).get_epsilon(1e-5)
    assert replaced[0] == pytest.approx(twice, rel=1e-3)
