"""Several lines over one quantity as inline SVG: colours and dashes come from the page, words stand beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

LEFT, TOP, ACROSS, DOWN = 58.0, 14.0, 308.0, 210.0
"""The picture's field inside its drawing."""
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Curve:
    """A named line; its number is the style that colours it."""

    name: str
    style: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """Where numbers lie in a drawing: the horizontal axis is logarithmic, the vertical one is not."""

    low: float
    high: float
    bottom: float
    top: float

    @classmethod
    def around(cls, curves: Sequence[Curve], *, bottom: float | None = None) -> Field:
        """Return the field that holds every point, with some room above."""
        xs = [x for curve in curves for x, _ in curve.points]
        ys = [y for curve in curves for _, y in curve.points]
        least = min(ys) if bottom is None else bottom
        most = max(*ys, least + 1e-9)
        room = 0.06 * (most - least)
        return cls(min(xs), max(xs), least if bottom is not None else least - room, most + room)

    def x(self, value: float) -> float:
        span = math.log(self.high / self.low) or 1.0
        return LEFT + ACROSS * min(max(math.log(value / self.low) / span, 0.0), 1.0)

    def y(self, value: float) -> float:
        return TOP + DOWN * (1 - min(max((value - self.bottom) / (self.top - self.bottom), 0.0), 1.0))


def line_plot(
    curves: Sequence[Curve],
    *,
    name: str,
    title: str,
    across: str,
    chosen: float,
    percent: bool = False,
) -> Markup:
    """Draw lines over a logarithmic axis, and a mark where the plan stands.

    Parameters
    ----------
    across
        The words under the horizontal axis.
    percent
        Whether the vertical axis is a share; it then begins where the lines do, and otherwise at zero.
    """
    field = Field.around(curves, bottom=None if percent else 0.0)
    return Markup(
        '<svg class="plot" viewBox="0 0 390 276" role="img" aria-labelledby="{name}-title {name}-desc">'
        '<title id="{name}-title">{title}</title><desc id="{name}-desc">{described}</desc>'
        '{heights}{ticks}<path class="here" d="M{here:.2f} {top:.0f} V{foot:.0f}"/>{lines}'
        '<text class="axis" x="{middle:.0f}" y="270" text-anchor="middle">{across}</text></svg>'
    ).format(
        name=name,
        title=title,
        described=_described(curves, chosen, percent=percent),
        heights=Markup("").join(_heights(field, percent=percent)),
        ticks=Markup("").join(_ticks(field)),
        here=field.x(chosen),
        top=TOP,
        foot=TOP + DOWN,
        lines=Markup("").join(_line(curve, field) for curve in reversed(curves)),
        middle=LEFT + ACROSS / 2,
        across=across,
    )


def _line(curve: Curve, field: Field) -> Markup:
    path = " L".join(f"{field.x(x):.2f} {field.y(y):.2f}" for x, y in curve.points)
    return Markup('<path class="line line-{}" d="M{}"/>').format(curve.style, path)


def _described(curves: Sequence[Curve], chosen: float, *, percent: bool) -> str:
    parts = []
    for curve in curves:
        _, y = min(curve.points, key=lambda point: abs(math.log(point[0] / chosen)))
        parts.append(f"{curve.name} {_shown(y, percent=percent, step=0.001)}")
    return f"Where the plan stands: {', '.join(parts)}."


def _heights(field: Field, *, percent: bool) -> Iterator[Markup]:
    step = _round_step((field.top - field.bottom) / 4)
    first = math.ceil(field.bottom / step - 1e-9)
    for n in range(first, math.floor(field.top / step + 1e-9) + 1):
        y = field.y(n * step)
        yield Markup(
            '<path class="grid" d="M{:.0f} {:.2f} H{:.0f}"/>'
            '<text class="tick" x="{:.0f}" y="{:.2f}" text-anchor="end">{}</text>'
        ).format(LEFT, y, LEFT + ACROSS, LEFT - 7, y + 4, _shown(n * step, percent=percent, step=step))


def _round_step(rough: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= rough * (1 - 1e-9))


def _ticks(field: Field) -> Iterator[Markup]:
    """Write round numbers under the axis, as many as there is room for."""
    powers = range(math.floor(math.log10(field.low)), math.ceil(math.log10(field.high)) + 1)
    candidates = ([k * 10.0**p for p in powers for k in ks] for ks in ((1, 2, 5), (1, 3), (1,)))
    inside = [[v for v in values if field.low * 0.999 <= v <= field.high * 1.001] for values in candidates]
    chosen = next((values for values in inside if len(values) <= MOST_TICKS), inside[-1])
    for value in chosen or [field.low, field.high]:
        x = field.x(value)
        yield Markup(
            '<path class="grid" d="M{0:.2f} {1:.0f} V{2:.0f}"/>'
            '<text class="tick" x="{0:.2f}" y="{3:.0f}" text-anchor="middle">{4}</text>'
        ).format(x, TOP, TOP + DOWN, TOP + DOWN + 19, _number(value))


def _shown(value: float, *, percent: bool, step: float) -> str:
    if percent:
        return f"{100 * value:.{0 if step >= 0.00999 else 1}f}%"
    return _number(round(value)) if step >= 1 else f"{value:.0f}"


def _number(value: float) -> str:
    """Write a number in little space.

    >>> _number(0.05), _number(1500), _number(20000), _number(3e6)
    ('0.05', '1,500', '20k', '3M')
    """
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    if value >= 1e4:
        return f"{value / 1e3:g}k"
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"
