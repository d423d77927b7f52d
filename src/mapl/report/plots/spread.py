"""How noisy totals spread over the cells, as inline SVG, with what noise alone does to an empty cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from mapl.report.cell_map import CellMap, CountBin
from mapl.report.counting import Counting
from mapl.report.figures import count, share

LEFT, TOP, ACROSS, DOWN = 72.0, 36.0, 306.0, 210.0
"""The histogram inside its drawing."""

OVER = 16.0
"""How high the bracket of the noise stands, over all bars."""

MOST_TICKS = 5


def spread_of_totals(found: CellMap, counting: Counting) -> Markup:
    """Draw how many cells have how large a noisy total."""
    bins, noise = found.bins, counting.deviation_of_a_cell
    most = max((one.cells for one in bins), default=1)
    low, middle, high = map(count, found.quartiles)
    described = (
        f"Of {count(found.cells)} cells, a quarter have a noisy total of at most {low}, half of at most {middle}, "
        f"three quarters of at most {high}. The standard deviation of the noise in a total is {noise:.3g}, and "
        f"{share(found.indistinct / max(1, found.cells))} of the cells lie within two of them around zero."
    )
    return Markup(
        '<svg class="plot" viewBox="0 0 390 302" role="img" aria-labelledby="spread-title spread-desc">'
        '<title id="spread-title">Noisy totals of the cells</title><desc id="spread-desc">{described}</desc>'
        "{heights}{bars}{ticks}{bracket}"
        '<text class="axis" x="{middle:.0f}" y="296" text-anchor="middle">noisy records in a cell</text>'
        '<text class="axis" transform="translate(14 {centre:.0f}) rotate(-90)" text-anchor="middle">cells</text>'
        "</svg>"
    ).format(
        described=described,
        heights=Markup("").join(_heights(most)),
        bars=Markup("").join(_bars(bins, most)),
        ticks=Markup("").join(_ticks(bins)),
        bracket=_bracket(bins, noise),
        middle=LEFT + ACROSS / 2,
        centre=TOP + DOWN / 2,
    )


def _bars(bins: Sequence[CountBin], most: int) -> Iterator[Markup]:
    step = ACROSS / max(1, len(bins))
    for number, one in enumerate(bins):
        height = DOWN * one.cells / most
        yield Markup('<rect class="answered" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>').format(
            LEFT + step * number + 0.75, TOP + DOWN - height, max(1.0, step - 1.5), height
        )


def _heights(most: int) -> Iterator[Markup]:
    """Draw a few lines at round numbers of cells."""
    power = 10 ** math.floor(math.log10(most))
    step = next(one for one in (max(1, power // 5), max(1, power // 2), power, 2 * power) if most <= 5 * one)
    for n in range(0, most + 1, step):
        y = TOP + DOWN * (1 - n / most)
        yield Markup(
            '<path class="grid" d="M{:.0f} {:.2f} H{:.0f}"/>'
            '<text class="tick" x="{:.0f}" y="{:.2f}" text-anchor="end">{}</text>'
        ).format(LEFT, y, LEFT + ACROSS, LEFT - 8, y + 4, count(n))


def _ticks(bins: Sequence[CountBin]) -> Iterator[Markup]:
    """Write some totals where they lie, zero among them, and under the open last bin where it begins."""
    apart = max(1, math.ceil(len(bins) / MOST_TICKS))
    zero = next((number for number, one in enumerate(bins) if one.first >= 0), 0)
    for number, one in enumerate(bins):
        if one.last is None:
            yield _tick(LEFT + ACROSS, "end", f"≥ {count(one.first)}")
        elif number % apart == zero % apart and number < len(bins) - 1 - apart / 2:
            yield _tick(_along(bins, one.first), "middle", count(one.first))


def _tick(x: float, anchor: str, shown: str) -> Markup:
    return Markup('<text class="tick" x="{:.2f}" y="{:.0f}" text-anchor="{}">{}</text>').format(
        x, TOP + DOWN + 20, anchor, shown.replace("-", "−")
    )


def _bracket(bins: Sequence[CountBin], noise: float) -> Markup:
    """Mark what one standard deviation of noise makes of zero, with the words where there is room for them."""
    begin, end = (_along(bins, total) for total in (-noise, noise))
    on_the_right = end < LEFT + 0.6 * ACROSS
    return Markup(
        '<path class="reach" d="M{begin:.2f} {high:.0f} V{low:.0f} M{begin:.2f} {over:.0f} H{end:.2f} '
        'M{end:.2f} {high:.0f} V{low:.0f}"/>'
        '<text class="tick" x="{beside:.2f}" y="{foot:.0f}" text-anchor="{anchor}">noise alone: ±{noise:.3g}</text>'
    ).format(
        begin=begin,
        end=end,
        high=OVER - 6,
        over=OVER,
        low=OVER + 6,
        beside=end + 8 if on_the_right else begin - 8,
        foot=OVER + 4,
        anchor="start" if on_the_right else "end",
        noise=noise,
    )


def _along(bins: Sequence[CountBin], total: float) -> float:
    """Return where a total lies on the horizontal axis, or the end of the axis that is nearer to it."""
    if not bins:
        return LEFT
    first = bins[0]
    assert first.last is not None
    width = first.last - first.first + 1
    # Totals are whole numbers: the bin of n alone reaches from n - 1/2 to n + 1/2.
    across = (total - first.first + 0.5) / (width * len(bins))
    return LEFT + ACROSS * min(1.0, max(0.0, across))
