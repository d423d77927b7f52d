"""Margin curves as one SVG that needs no page around it; on a page it takes the page's colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from mapl.planning.votes.noise_conditions import MarginCurve
from mapl.report.figures import rate, share

LEFT, TOP, ACROSS, DOWN = 64.0, 14.0, 420.0, 280.0
STEPS = 50
"""The curves are drawn at so many margins from 0 to 1/2."""

COLOURS = ("#2368c4", "#cf4a12", "#0f8a7e", "#8a4fbf", "#9c7400", "#c2408f", "#5b7a16", "#1f86ab")
DASHES = ("none", "7 3", "2 3", "9 3 2 3")

STYLE = """\
.margins{font:13px system-ui,sans-serif;display:block;width:100%;max-width:42rem}
.margins .grid{stroke:var(--line,#d9e0e8)}
.margins text{fill:var(--muted,#4f5d6d)}
.margins .curve{fill:none;stroke-width:2.2}
.margins .doubt{stroke:none;opacity:.13}
"""


def margin_curves(curves: Sequence[tuple[int, MarginCurve]]) -> Markup:
    """Draw nu over the margin for teachers of several sizes, with the interval of each.

    Parameters
    ----------
    curves
        The number of rows that each teacher learned from, and the measured curve.
    """
    described = "; ".join(
        f"{size} rows: {share(curve.nu(0.1))} at a margin of 0.1, {share(curve.nu(0.3))} at 0.3"
        for size, curve in curves
    )
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="margins" viewBox="0 0 500 348" role="img" '
        'aria-labelledby="margins-title margins-desc"><title id="margins-title">Share of rows on which teachers '
        'vote with at most this margin</title><desc id="margins-desc">{described}.</desc><style>{style}</style>'
        "{grid}{doubts}{lines}{legend}"
        '<text x="{middle:.0f}" y="342" text-anchor="middle">margin Δ = {formula}</text>'
        '<text transform="translate(14 {centre:.0f}) rotate(-90)" text-anchor="middle">share ν of rows</text>'
        "</svg>"
    ).format(
        described=described,
        style=Markup(STYLE),
        grid=Markup("").join(_grid()),
        doubts=Markup("").join(_doubt(number, curve) for number, (_, curve) in enumerate(curves)),
        lines=Markup("").join(_line(number, curve) for number, (_, curve) in enumerate(curves)),
        legend=Markup("").join(_key(number, size) for number, (size, _) in enumerate(curves)),
        formula="|mean vote − 1/2|"
        if all(curve.n_classes == 2 for _, curve in curves)
        else "(first − second share of votes) / 2",
        middle=LEFT + ACROSS / 2,
        centre=TOP + DOWN / 2,
    )


def _margins() -> list[float]:
    return [0.5 * step / STEPS for step in range(STEPS + 1)]


def _line(number: int, curve: MarginCurve) -> Markup:
    points = " L".join(_at(margin, curve.nu(margin)) for margin in _margins())
    return Markup('<path class="curve" style="stroke:{}" stroke-dasharray="{}" d="M{}"/>').format(
        _colour(number), DASHES[number % len(DASHES)], points
    )


def _doubt(number: int, curve: MarginCurve) -> Markup:
    ends = [(margin, *curve.interval(margin)) for margin in _margins()]
    around = [_at(margin, low) for margin, low, _ in ends] + [_at(margin, high) for margin, _, high in ends[::-1]]
    return Markup('<path class="doubt" style="fill:{}" d="M{} Z"/>').format(_colour(number), " L".join(around))


def _key(number: int, size: int) -> Markup:
    y = TOP + 16 + 18 * number
    return Markup(
        '<path class="curve" style="stroke:{}" stroke-dasharray="{}" d="M{:.0f} {:.0f} h30"/>'
        '<text x="{:.0f}" y="{:.0f}">{} rows per teacher</text>'
    ).format(_colour(number), DASHES[number % len(DASHES)], LEFT + 12, y, LEFT + 50, y + 4, size)


def _grid() -> Iterator[Markup]:
    for tenths in range(6):
        x = LEFT + ACROSS * tenths / 5
        yield Markup(
            '<path class="grid" d="M{x:.0f} {top:.0f} V{bottom:.0f}"/>'
            '<text x="{x:.0f}" y="{under:.0f}" text-anchor="middle">{shown:.1f}</text>'
        ).format(x=x, top=TOP, bottom=TOP + DOWN, under=TOP + DOWN + 20, shown=tenths / 10)
    for quarters in range(5):
        y = TOP + DOWN * (1 - quarters / 4)
        yield Markup(
            '<path class="grid" d="M{left:.0f} {y:.0f} H{right:.0f}"/>'
            '<text x="{beside:.0f}" y="{low:.0f}" text-anchor="end">{shown}</text>'
        ).format(left=LEFT, right=LEFT + ACROSS, y=y, beside=LEFT - 8, low=y + 4, shown=rate(quarters / 4))


def _colour(number: int) -> str:
    """Return a colour of the page, or the same one where there is no page."""
    place = number % len(COLOURS)
    return f"var(--class-{place + 1},{COLOURS[place]})"


def _at(margin: float, nu: float) -> str:
    return f"{LEFT + ACROSS * 2 * margin:.1f} {TOP + DOWN * (1 - nu):.1f}"
