"""What a unit adds where labels are numbers: never longer than declared, exact, and nobody else's business."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from mapl.data import Column, Schema
from mapl.data.encoding.encoder import Encoder
from mapl.data.moments import contributions
from mapl.data.moments.contributions import Clip, Crowd, sum_contributions
from mapl.data.moments.feature_map import FeatureMap
from mapl.data.moments.number_residuals import LONGEST, SQUARES, NumberResiduals, with_squares
from mapl.data.moments.products import Products
from mapl.data.moments.residuals import on_grid
from mapl.data.moments.row_map import RowMap
from mapl.data.moments.words import WordResiduals
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.release.moment_sums import MOST_REACH, MomentSums
from mapl.types import Budget

EXTREME = (0.0, 1.0, -1.0, 1e308, -math.inf, math.nan, 3.7)
CLIP = Clip(MOST_REACH - 12345, LONGEST)


def mapped() -> RowMap:
    rng = np.random.default_rng(0)
    encoder = Encoder.of(Schema(tuple(Column(f"x{j}", "number", centre=0, spread=1) for j in range(2))))
    return RowMap(encoder, FeatureMap.fit(encoder.transform(rng.normal(size=(50, 2))), ridge=0.3))


def measured(steep: float = 1.0, bound: float = 0.25) -> NumberResiduals:
    vectors = mapped()
    weights = on_grid(steep * np.random.default_rng(1).normal(size=(vectors.features.width, 1)))
    return NumberResiduals(vectors, weights, 0.1, bound)


def summed(rows: Any, labels: Any, owners: Any, what: Any, clip: Clip = CLIP) -> list[int]:
    ids = None if owners is None else pa.array([str(one) for one in owners])
    points = np.asarray(rows, dtype=np.float64).reshape(-1, 2)
    table = PrivateTable(PrivateRows(points), np.asarray(labels, np.float64), ids)
    sums = sum_contributions(Crowd.of(table), what, clip)
    return [(int(high) << 40) + int(low) for high, low in zip(sums.high, sums.low, strict=True)]


records = st.tuples(
    st.integers(0, 3),
    st.tuples(*[st.sampled_from(EXTREME)] * 2),
    st.floats(-1, 1),
    st.sampled_from([1, 2, 5]),
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(records, max_size=7),
    st.sampled_from([0.01, 1.0, 1e6]),
    st.sampled_from([1.0, 0.3, 2.0**-10]),
    st.booleans(),
)
def test_a_unit_moves_the_sums_by_its_own_part_and_no_farther_than_declared(
    drawn: list[Any], steep: float, bound: float, per_record: bool
) -> None:
    people = [(who, point, label) for who, point, label, times in drawn for _ in range(times)]
    what = measured(steep, bound)

    def of(some: list[Any]) -> list[int]:
        owners = None if per_record else [who for who, _, _ in some]
        return summed([point for _, point, _ in some], [label for _, _, label in some], owners, what)

    everybody = of(people)
    for gone in range(len(people)) if per_record else range(4):
        mine = [one for k, one in enumerate(people) if (k if per_record else one[0]) == gone]
        others = [one for k, one in enumerate(people) if (k if per_record else one[0]) != gone]
        own = of(mine)
        assert everybody == [a + b for a, b in zip(of(others), own, strict=True)]
        assert sum(one**2 for one in own) <= CLIP.reach**2


@pytest.mark.parametrize("what", ["numbers", "products"])
def test_sums_are_the_same_in_blocks_of_any_size(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    rows, labels, owners = rng.normal(size=(300, 2)), rng.uniform(-1, 1, 300), rng.integers(0, 150, 300)
    vectors = mapped()
    made = measured() if what == "numbers" else Products(vectors, vectors.features.width, 2, numeric=True)
    clip = CLIP if what == "numbers" else Clip(CLIP.reach, math.hypot(1, LONGEST))
    whole = [summed(rows, labels, of, made, clip) for of in (None, owners)]
    for at_once in (1, 7, 64):
        monkeypatch.setattr(contributions, "ROWS_AT_ONCE", at_once)
        assert [summed(rows, labels, of, made, clip) for of in (None, owners)] == whole


def test_one_person_with_very_many_records_moves_no_more_than_another() -> None:
    n = 50_000
    own = summed(np.tile([1.0, -2.0], (n, 1)), np.ones(n), ["a"] * n, measured(0.0, 0.01))
    assert 0.9 * CLIP.reach**2 < sum(one**2 for one in own) <= CLIP.reach**2


def test_products_of_one_record_are_no_longer_than_declared() -> None:
    vectors = mapped()
    clip = Clip(CLIP.reach, math.hypot(1.0, LONGEST))
    made = Products(vectors, vectors.features.width, 2, numeric=True)
    for label in (-1.0, 0.3, 1.0):
        own = summed([[1.0, 2.0]], [label], None, made, clip)
        assert 0.5 * clip.reach**2 < sum(one**2 for one in own) <= clip.reach**2


def test_residuals_are_cut_off_where_they_say() -> None:
    found = with_squares(np.array([0.0, 0.05, -0.1, 0.7, -2.0]), 0.1)
    np.testing.assert_allclose(found[:, 0], [0, 0.5, -1, 1, -1])
    np.testing.assert_allclose(found[:, 1], SQUARES * found[:, 0] ** 2)
    assert np.linalg.norm(found, axis=1).max() <= LONGEST


def test_a_number_is_a_share_of_either_end_where_words_are_counted() -> None:
    words = WordResiduals(("note",), 2)
    rows = pa.table({"note": ["one two", "three"]})
    _, of_numbers = words.measure(rows, np.array([-1.0, 1.0]))
    _, of_classes = words.measure(rows, np.array([0, 1], dtype=np.int32))
    np.testing.assert_array_equal(of_numbers, of_classes)
    _, between = words.measure(rows, np.array([0.0, 0.5]))
    assert (np.linalg.norm(between, axis=1) < words.bound).all()


def test_noise_and_reach_agree_with_an_independent_computation() -> None:
    """mu solves the Gaussian curve, found here by bisection in SciPy; a record's length by plain matrices."""
    budget, entries = Budget(0.5, 1e-5), (41,) * 6
    low, high = 1e-3, 10.0
    for _ in range(200):
        mu = (low + high) / 2
        delta = norm.cdf(mu / 2 - 0.5 / mu) - math.exp(0.5) * norm.cdf(-mu / 2 - 0.5 / mu)
        low, high = (mu, high) if delta < 1e-5 else (low, mu)
    sums = MomentSums.for_budget(budget, entries=entries)
    assert sums.reaches[0] / 2**40 == pytest.approx(low / math.sqrt(6), rel=1e-5)

    what, clip, row, label = measured(0.5, 0.25), Clip(sums.reaches[0], LONGEST), np.array([[0.4, -1.1]]), 0.6
    own = np.array(summed(row, [label], None, what, clip)[:-1], dtype=float).reshape(what.shape)
    turned = what.vectors(row)[0] / 2**18
    gap = np.clip((label - np.clip(turned @ what.weights[:, 0] + 0.1, -1, 1)) / 0.25, -1, 1)
    expected = np.outer(turned, [gap, 0.3 * gap**2]) * math.sqrt(0.99) * sums.reaches[0] / math.hypot(1, 0.3)
    np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-6 * sums.reaches[0])


class NoNumbers:
    """A contribution that went astray: residuals that are no numbers."""

    shape = (3, 2)

    def __init__(self, worst: float) -> None:
        self.worst = worst

    def encode(self, rows: Any) -> Any:
        return rows

    def measure(self, rows: Any, labels: Any) -> tuple[Any, Any]:
        return np.full((len(labels), 3), 2.0**16), np.full((len(labels), 2), self.worst)


@pytest.mark.parametrize("worst", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("owners", [None, [0, 0, 1, 1, 2, 2]], ids=["records", "people"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_model_that_is_no_number_adds_nothing_boundless(worst: float, owners: list[int] | None) -> None:
    """As whole numbers, NaNs were -2^63 a block or a unit: how many people there are showed through all noise."""
    ids = None if owners is None else pa.array([str(one) for one in owners])
    table = PrivateTable(PrivateRows(np.zeros((6, 2))), np.zeros(6), ids)
    for contribution in (NoNumbers(worst), replace(measured(), level=worst), replace(measured(), bound=worst)):
        sums = sum_contributions(Crowd.of(table), contribution, CLIP)
        added = [(int(high) << 40) + int(low) for high, low in zip(sums.high, sums.low, strict=True)]
        assert math.isqrt(sum(one**2 for one in added)) <= 6 * CLIP.reach
