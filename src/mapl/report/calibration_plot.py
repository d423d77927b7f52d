"""Calibration as inline SVG: what was predicted, and how often it was so."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from mapl.report.calibration import Calibration
from mapl.report.figures import share

LEFT, TOP, SIDE = 64.0, 14.0, 300.0
MOST_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def calibration_plot(found: Calibration) -> Markup:
    """Draw the share of rows that were of the second class over its predicted probability."""
    dots = Markup("").join(
        Markup('<circle class="dot" cx="{:.2f}" cy="{:.2f}" r="4.5"/>').format(*_place(b.predicted, b.found))
        for b in found.bins
    )
    described = "; ".join(f"predicted {share(b.predicted)}, found {share(b.found)}" for b in found.bins)
    return Markup(
        '<svg class="plot" viewBox="0 0 390 364" role="img" aria-labelledby="calibration-title calibration-desc">'
        '<title id="calibration-title">Predicted probabilities and what was found</title>'
        '<desc id="calibration-desc">{described}</desc>'
        '{ticks}<path class="guess" d="M{origin} L{end}"/><path class="curve" d="M{curve}"/>{dots}'
        '<text class="axis" x="{middle}" y="358" text-anchor="middle">predicted probability</text>'
        '<text class="axis" transform="translate(14 {centre}) rotate(-90)" text-anchor="middle">share found</text>'
        "</svg>"
    ).format(
        described=described,
        ticks=Markup("").join(_tick(value) for value in MOST_TICKS),
        origin=_at([(0.0, 0.0)]),
        end=_at([(1.0, 1.0)]),
        curve=_at([(b.predicted, b.found) for b in found.bins]),
        dots=dots,
        middle=LEFT + SIDE / 2,
        centre=TOP + SIDE / 2,
    )


def _tick(value: float) -> Markup:
    x, y = _place(value, value)
    return Markup(
        '<path class="grid" d="M{left:.0f} {y:.2f} H{right:.0f} M{x:.2f} {top:.0f} V{bottom:.0f}"/>'
        '<text class="tick" x="{beside:.0f}" y="{low:.2f}" text-anchor="end">{shown}</text>'
        '<text class="tick" x="{x:.2f}" y="{under:.0f}" text-anchor="middle">{shown}</text>'
    ).format(
        left=LEFT,
        right=LEFT + SIDE,
        top=TOP,
        bottom=TOP + SIDE,
        x=x,
        y=y,
        beside=LEFT - 8,
        low=y + 4,
        under=TOP + SIDE + 20,
        shown=f"{value:g}",
    )


def _place(x: float, y: float) -> tuple[float, float]:
    return LEFT + SIDE * x, TOP + SIDE * (1 - y)


def _at(points: Sequence[tuple[float, float]]) -> str:
    return " L".join("{:.2f} {:.2f}".format(*_place(*point)) for point in points)
