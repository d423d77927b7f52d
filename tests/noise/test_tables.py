"""Noise tables against laws computed another way: exact rationals, and another library's samples."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import Measurement, enable_features
from scipy import stats

from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.noise import NoiseTable, SeededCoins, discrete_gaussian, discrete_laplace, rounded_gaussian, tables
from mapl.noise.tables import MAX_HALF_WIDTH

TWO_128 = 1 << 128
SCALES = (0.3, 0.5, 1.0, 2.5, 7.0, 40.0)


def laws(scales: tuple[float, ...] = SCALES) -> list[NoiseTable]:
    return [make(scale) for scale in scales for make in (discrete_gaussian, discrete_laplace)]


def name(table: NoiseTable) -> str:
    return f"{table.kind} {table.scale}"


@cache
def ideal(kind: str, scale: float) -> Callable[[int], Fraction]:
    """The ideal law to about 2^-600, from the definition: each mass by its own exponential, no recursion."""
    with ctx.workprec(700):
        s = arb(scale)
        if kind == "discrete Gaussian":
            width = int(30 * scale) + 40  # beyond it: less than exp(-450), far below 2^-600
            masses = {k: (-(arb(k) ** 2) / (2 * s * s)).exp() for k in range(width + 1)}
            total = masses[0] + 2 * sum((masses[k] for k in range(1, width + 1)), arb(0))
            return lambda k: to_fraction(masses[abs(k)] / total)
        r = (-1 / s).exp()
        return lambda k: to_fraction((1 - r) / (1 + r) * (-arb(abs(k)) / s).exp())


def to_fraction(ball: arb) -> Fraction:
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def table_masses(table: NoiseTable) -> dict[int, Fraction]:
    """The exact law of a draw, from the integers that decide it."""
    ends = [0, *table.numerators(), TWO_128]
    support = range(-table.half_width, table.half_width + 1)
    return {k: Fraction(b - a, TWO_128) for k, a, b in zip(support, ends, ends[1:], strict=False)}


@pytest.mark.parametrize("table", laws(), ids=name)
def test_the_stated_deviation_bounds_the_total_variation(table: NoiseTable) -> None:
    masses = table_masses(table)
    assert len(masses) == 2 * table.half_width + 1
    assert sum(masses.values()) == 1
    with ctx.workprec(700):
        law = ideal(table.kind, table.scale)
        # Total variation is what the table gives too much; beyond its ends it gives nothing.
        too_much = sum((max(Fraction(0), m - law(k)) for k, m in masses.items()), Fraction(0))
    assert 0 < too_much <= Fraction(table.deviation)
    assert table.deviation < 2.0**-100


@pytest.mark.parametrize("table", laws((0.5, 7.0)), ids=name)
def test_the_deviation_is_no_idle_bound(table: NoiseTable) -> None:
    """The broken twin: a table for a scale one part in a billion away is caught by the same comparison."""
    masses = table_masses(table)
    with ctx.workprec(700):
        law = ideal(table.kind, table.scale * (1 + 1e-9))
        too_much = sum((max(Fraction(0), m - law(k)) for k, m in masses.items()), Fraction(0))
    assert too_much > Fraction(table.deviation) * 2**40


@pytest.mark.parametrize("table", laws(), ids=name)
def test_tables_are_symmetric_up_to_their_rounding(table: NoiseTable) -> None:
    masses = table_masses(table)
    for k in range(1, table.half_width):
        assert abs(masses[k] - masses[-k]) <= Fraction(2, TWO_128)
    # What lies beyond the table goes to its upper end, and is part of the stated deviation.
    assert 0 <= masses[table.half_width] - masses[-table.half_width] <= Fraction(table.deviation)


@pytest.mark.parametrize("table", laws(), ids=name)
def test_numerators_never_fall(table: NoiseTable) -> None:
    numerators = table.numerators()
    assert numerators == sorted(numerators)
    assert numerators[0] >= 0
    assert numerators[-1] < TWO_128


def invert(table: NoiseTable, uniform: int) -> int:
    """One draw from a 128-bit uniform, the low word handed over only when it is asked for."""
    high, low = divmod(uniform, 1 << 64)

    def more(n: int) -> NDArray[np.uint64]:
        return np.full(n, low, dtype=np.uint64)

    return int(table.invert(np.array([high], dtype=np.uint64), more)[0])


@cache
def numerators_of(table: NoiseTable) -> list[int]:
    return table.numerators()


def by_definition(table: NoiseTable, uniform: int) -> int:
    """The first k whose cumulative numerator exceeds the uniform; that they never fall is a test of its own."""
    return bisect_right(numerators_of(table), uniform) - table.half_width


@pytest.mark.parametrize("table", laws((0.3, 1.0, 7.0)), ids=name)
def test_inversion_is_exact_around_every_boundary(table: NoiseTable) -> None:
    uniforms = {0, TWO_128 - 1}
    for n in table.numerators():
        high = n >> 64
        # Just below, at and above; and with the same high word, so that the low word alone decides.
        uniforms |= {n - 1, n, n + 1, high << 64, (high << 64) + (1 << 64) - 1}
    for uniform in sorted(u for u in uniforms if 0 <= u < TWO_128):
        assert invert(table, uniform) == by_definition(table, uniform)


def test_inversion_is_exact_where_many_numerators_share_a_high_word() -> None:
    """Deep in the tails of a wide table dozens of numerators have the high word 0, or the largest one."""
    table = discrete_laplace(40.0)
    highs = table.high.tolist()
    assert highs.count(0) > 100
    assert highs.count(2**64 - 1) > 100
    for high in (0, 2**64 - 1):
        for low in [int(x) for x in table.low[table.high == np.uint64(high)]][::37]:
            for uniform in ((high << 64) + low - 1, (high << 64) + low, (high << 64) + low + 1):
                if 0 <= uniform < TWO_128:
                    assert invert(table, uniform) == by_definition(table, uniform)


def test_low_words_are_asked_for_only_where_they_decide() -> None:
    table = discrete_gaussian(3.0)
    at_boundary = table.high[table.half_width]
    words = np.array([at_boundary, at_boundary + np.uint64(1), 1 << 63, at_boundary], dtype=np.uint64)
    asked: list[int] = []

    def more(n: int) -> NDArray[np.uint64]:
        asked.append(n)
        return np.array([0, 2**64 - 1], dtype=np.uint64)[:n]

    drawn = table.invert(words, more)
    assert asked == [2]
    low = int(table.low[table.half_width])
    expected = [by_definition(table, (int(w) << 64) + b) for w, b in zip(words, (0, 0, 0, 2**64 - 1), strict=True)]
    assert 0 < low < 2**64 - 1
    assert drawn.tolist() == expected
    assert drawn[0] != drawn[3]


def test_the_guide_agrees_with_the_search() -> None:
    """The shortcut for common draws, against the definition, on random words."""
    table = discrete_gaussian(11.0)
    words = SeededCoins(8).words(2_000)
    assert (table.guide >= 0).mean() > 0.9
    numerators = np.array(table.numerators(), dtype=object)
    for word, k in zip(words, table.invert(words, SeededCoins(9).words), strict=True):
        assert k == np.searchsorted(numerators, int(word) << 64, side="right") - table.half_width


def pooled(drawn: NDArray[np.int64], expected: dict[int, float]) -> tuple[list[float], list[float]]:
    """Observed and expected counts in cells of at least ten expected draws; both tails are single cells."""
    inner = [k for k, e in expected.items() if e >= 10]
    low, high = min(inner), max(inner)
    clipped = np.clip(drawn, low, high)
    cells = dict.fromkeys(range(low, high + 1), 0.0)
    for k, e in expected.items():
        cells[min(max(k, low), high)] += e
    counts = np.bincount(clipped - low, minlength=high - low + 1)
    return counts.astype(float).tolist(), list(cells.values())


@pytest.mark.statistical
@pytest.mark.parametrize("table", laws(), ids=name)
def test_draws_follow_the_ideal_law(table: NoiseTable) -> None:
    """Chi-square, fixed seed; a fresh seed alarms with probability 1e-4 per table."""
    n = 200_000
    drawn = SeededCoins(77).draw(table, (n,))
    with ctx.workprec(700):
        law = ideal(table.kind, table.scale)
        expected = {k: n * float(law(k)) for k in range(-table.half_width, table.half_width + 1)}
    seen, wanted = pooled(drawn, expected)
    assert stats.chisquare(seen, wanted, sum_check=False).pvalue > 1e-4


def opendp_noise(kind: str, scale: float) -> Measurement:
    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    if kind == "discrete Gaussian":
        return make_gaussian(domain, l2_distance(T="f64"), scale=scale)
    return make_laplace(domain, l1_distance(T="i64"), scale=scale)


@pytest.mark.statistical
@pytest.mark.parametrize("table", laws((0.5, 2.5, 40.0)), ids=name)
def test_another_library_draws_the_same_noise(table: NoiseTable) -> None:
    """Two-sample chi-square on quantile cells; opendp cannot be seeded, so this alarms with probability 1e-6."""
    n = 20_000
    ours = SeededCoins(123).draw(table, (n,))
    theirs = np.array(opendp_noise(table.kind, table.scale)([0] * n))
    edges = np.unique(np.quantile(np.concatenate([ours, theirs]), np.linspace(0.02, 0.98, 25)))
    counts = np.array([np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (ours, theirs)])
    counts = counts[:, counts.sum(axis=0) > 0]
    assert stats.chi2_contingency(counts).pvalue > 1e-6


@pytest.mark.statistical
def test_the_two_sample_test_sees_a_wrong_scale() -> None:
    theirs = np.array(opendp_noise("discrete Gaussian", 2.5)([0] * 20_000))
    ours = SeededCoins(123).draw(discrete_gaussian(2.8), (20_000,))
    counts = np.array([np.bincount(np.clip(x, -8, 8) + 8, minlength=17) for x in (ours, theirs)])
    assert stats.chi2_contingency(counts).pvalue < 1e-6


@pytest.mark.parametrize("make", [discrete_gaussian, discrete_laplace])
@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_scales_that_are_no_scales_are_refused(make: Callable[[float], NoiseTable], scale: float) -> None:
    with pytest.raises(InvalidParameter, match="finite number above zero"):
        make(scale)


@pytest.mark.parametrize("make", [discrete_gaussian, discrete_laplace])
def test_scales_that_need_a_giant_table_are_refused_with_advice(make: Callable[[float], NoiseTable]) -> None:
    for scale in (MAX_HALF_WIDTH, 1e9, 1e300):
        with pytest.raises(InvalidParameter, match="use a smaller scale"):
            make(float(scale))


@pytest.mark.parametrize("make", [discrete_gaussian, discrete_laplace])
@pytest.mark.parametrize("scale", [1e-3, 0.01, 0.1])
def test_tiny_scales_give_a_table_or_advice(make: Callable[[float], NoiseTable], scale: float) -> None:
    """Almost no noise is a legitimate, if foolish, wish: an exact table, or a refusal that names the setting."""
    with suppress(InvalidParameter):
        assert float(table_masses(make(scale))[0]) > 0.99


@pytest.mark.parametrize("make", [discrete_gaussian, discrete_laplace, rounded_gaussian])
def test_a_table_that_ends_too_early_is_refused(
    make: Callable[[float], NoiseTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing beyond the table's ends counts against DEVIATION, which every price relies on."""
    monkeypatch.setattr(tables, "TAIL_BITS", 60)
    afresh = make.__wrapped__  # type: ignore[attr-defined]  # past the cache of tables made before
    with pytest.raises(GuaranteeBroken, match="too coarse"):
        afresh(2.5)
