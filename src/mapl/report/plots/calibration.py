"""Calibration as inline SVG: what was predicted, and how often it was so."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from mapl.report.calibration import Calibration
from mapl.report.figures import share
from mapl.report.plots.plots import LEFT, SIDE, TOP, place, square_tick

MOST_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def calibration_plot(found: Calibration) -> Markup:
    """Draw the share of rows that were of the second class over its predicted probability."""
    dots = Markup("").join(
        Markup('<circle class="dot" cx="{:.2f}" cy="{:.2f}" r="4.5"/>').format(*place((b.predicted, b.found)))
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
        ticks=Markup("").join(square_tick(value, f"{value:g}") for value in MOST_TICKS),
        origin=_at([(0.0, 0.0)]),
        end=_at([(1.0, 1.0)]),
        curve=_at([(b.predicted, b.found) for b in found.bins]),
        dots=dots,
        middle=LEFT + SIDE / 2,
        centre=TOP + SIDE / 2,
    )


def _at(points: Sequence[tuple[float, float]]) -> str:
    return " L".join("{:.2f} {:.2f}".format(*place(point)) for point in points)
