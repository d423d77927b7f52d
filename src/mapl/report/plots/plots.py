"""The pictures of the report as inline SVG: colours come from the page, words stand in titles and captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mapl.report.figures import rate, share, share_at_most
from mapl.report.risk import Point, Risk

LEFT, TOP, SIDE = 64.0, 14.0, 300.0
"""The square of the attack curve inside its drawing."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a whole: its name, its share, and the style class that colours it."""

    name: str
    share: float
    style: str


def draw_stacked_bar(parts: Sequence[Part], *, name: str, title: str) -> Markup:
    """Draw the parts of a whole side by side; the legend belongs under it, in text."""
    pieces, start = [], 0.0
    for part in parts:
        if part.share > 0:
            pieces.append(
                Markup('<rect class="{}" x="{:.3f}" y="0" width="{:.3f}" height="10"/>').format(
                    part.style, 1000 * start, 1000 * part.share
                )
            )
        start += part.share
    described = ", ".join(f"{part.name} {share(part.share)}" for part in parts if part.share > 0)
    return _stretched(name, title, described, Markup("").join(pieces))


def bar(value: float, *, name: str, title: str, style: str = "answered") -> Markup:
    """Draw one share of a row in a table."""
    return draw_stacked_bar(
        [Part(title, value, style), Part("the rest", 1 - value, "rest")], name=name, title=title
    )


def budget_gauge(used: float, promised: float, budget: float, *, title: str, described: str) -> Markup:
    """Draw what was used within what was promised within what was allowed."""
    whole = max(used, promised, budget) * 1.04
    pieces = [
        Markup('<rect class="{}" x="0" y="0" width="{:.3f}" height="10"/>').format(style, 1000 * value / whole)
        for style, value in (("promised", promised), ("used", used))
    ]
    mark = 1000 * budget / whole
    pieces.append(Markup('<rect class="limit" x="{:.3f}" y="0" width="5" height="10"/>').format(mark - 2.5))
    return _stretched("gauge", title, described, Markup("").join(pieces))


def attack_curve(risk: Risk) -> Markup:
    """Draw the best attacker's true-positive rate over the false-positive rate, above that of blind guessing."""
    curve = " L".join(_at(point) for point in risk.curve)
    false_alarms, hits = risk.sharpest
    x, y = place(risk.sharpest)
    ticks = Markup("").join(square_tick(value, rate(value)) for value in (0.0, 0.25, 0.5, 0.75, 1.0))
    dots = Markup("").join(
        Markup('<circle class="dot" cx="{:.2f}" cy="{:.2f}" r="4.5"/>').format(*place(point)) for point in risk.hits
    )
    described = (
        "The horizontal axis is the false-positive rate, the vertical axis the best possible true-positive rate. "
        f"Blind guessing lies on the diagonal. The curve is farthest from it at a false-positive rate of "
        f"{share(false_alarms)}, where at most {share_at_most(hits)} of those in the data are recognised."
    )
    return Markup(
        '<svg class="plot" viewBox="0 0 390 364" role="img" aria-labelledby="curve-title curve-desc">'
        '<title id="curve-title">Best possible attack on this release</title>'
        '<desc id="curve-desc">{described}</desc>'
        "{ticks}"
        '<path class="gain" d="M{curve} Z"/>'
        '<path class="guess" d="M{origin} L{end}"/>'
        '<path class="reach" d="M{x:.2f} {y:.2f} V{diagonal:.2f}"/>'
        '<path class="curve" d="M{curve}"/>'
        "{dots}"
        '<text class="axis" x="{middle}" y="358" text-anchor="middle">false-positive rate</text>'
        '<text class="axis" transform="translate(14 {centre}) rotate(-90)" text-anchor="middle">'
        "true-positive rate</text>"
        '<text class="note" transform="translate({nx:.2f} {ny:.2f}) rotate(-45)" text-anchor="middle">'
        "blind guessing</text>"
        "</svg>"
    ).format(
        described=described,
        ticks=ticks,
        curve=curve,
        origin=_at((0, 0)),
        end=_at((1, 1)),
        x=x,
        y=y,
        diagonal=place((false_alarms, false_alarms))[1],
        dots=dots,
        middle=LEFT + SIDE / 2,
        centre=TOP + SIDE / 2,
        nx=place((0.62, 0.56))[0],
        ny=place((0.62, 0.56))[1],
    )


def _stretched(name: str, title: str, described: str, inside: Markup) -> Markup:
    """Wrap shapes that stretch with the page; nothing in them may be text or round."""
    return Markup(
        '<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" '
        'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{title}</title>'
        '<desc id="{name}-desc">{described}</desc>{inside}</svg>'
    ).format(name=name, title=title, described=described, inside=inside)


def square_tick(value: float, shown: str) -> Markup:
    """Draw the grid lines of a value on both axes of a square, and write it beside them."""
    x, y = place((value, value))
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
        shown=shown,
    )


def place(point: Point) -> Point:
    """Return where a point of the unit square lies in a drawing."""
    return LEFT + SIDE * point[0], TOP + SIDE * (1 - point[1])


def _at(point: Point) -> str:
    return "{:.2f} {:.2f}".format(*place(point))
