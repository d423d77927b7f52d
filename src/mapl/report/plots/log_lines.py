"""Lines and points over two logarithmic axes, with their key, as one SVG that needs no page around it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

LEFT, TOP, ACROSS, DOWN = 82.0, 14.0, 420.0, 270.0
COLOURS = ("#2368c4", "#cf4a12", "#0f8a7e", "#8a4fbf", "#9c7400", "#c2408f", "#5b7a16", "#1f86ab")
MOST_TICKS = 7

STYLE = """\
.loglines{font:13px system-ui,sans-serif;display:block;width:100%;max-width:44rem}
.loglines .grid{stroke:var(--line,#d9e0e8)}
.loglines text{fill:var(--muted,#4f5d6d)}
.loglines .curve{fill:none;stroke-width:2.2}
"""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A named line; theory is dashed and has no dots."""

    name: str
    points: tuple[tuple[float, float], ...]
    theory: bool = False


@dataclass(frozen=True, slots=True)
class LogPicture:
    """What is drawn: lines, words under and beside the axes. Points that are not positive are left out."""

    title: str
    across: str
    up: str
    lines: tuple[LogLine, ...]

    def shown(self) -> list[LogLine]:
        """Return the lines with those of their points that a logarithm has."""
        kept = [
            LogLine(line.name, tuple((x, y) for x, y in line.points if x > 0 and 0 < y < math.inf), line.theory)
            for line in self.lines
        ]
        return [line for line in kept if line.points]


@dataclass(frozen=True, slots=True)
class LogField:
    """Where numbers lie in the drawing."""

    low: float
    high: float
    bottom: float
    top: float

    @classmethod
    def around(cls, lines: list[LogLine]) -> LogField:
        xs = [x for line in lines for x, _ in line.points]
        ys = [y for line in lines for _, y in line.points]
        room = (max(ys) / min(ys)) ** 0.05 if max(ys) > min(ys) else 1.5
        return cls(min(xs), max(xs) if max(xs) > min(xs) else 2 * min(xs), min(ys) / room, max(ys) * room)

    def at(self, x: float, y: float) -> tuple[float, float]:
        right = math.log(x / self.low) / math.log(self.high / self.low)
        up = math.log(y / self.bottom) / math.log(self.top / self.bottom)
        return LEFT + ACROSS * right, TOP + DOWN * (1 - up)


def log_lines(picture: LogPicture, *, name: str) -> Markup:
    """Draw the picture; `name` tells it from others on the same page."""
    lines = picture.shown()
    if not lines:
        return Markup("")
    field = LogField.around(lines)
    height = TOP + DOWN + 52 + 19 * len(lines)
    described = "; ".join(
        f"{line.name}: from {write_number(line.points[0][1])} at {write_number(line.points[0][0])} to "
        f"{write_number(line.points[-1][1])} at {write_number(line.points[-1][0])}"
        for line in lines
    )
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="loglines" viewBox="0 0 536 {height:.0f}" role="img" '
        'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{title}</title>'
        '<desc id="{name}-desc">{described}.</desc><style>{style}</style>{grid}{lines}{key}'
        '<text x="{middle:.0f}" y="{under:.0f}" text-anchor="middle">{across}</text>'
        '<text transform="translate(13 {centre:.0f}) rotate(-90)" text-anchor="middle">{up}</text></svg>'
    ).format(
        height=height,
        name=name,
        title=picture.title,
        described=described,
        style=Markup(STYLE),
        grid=Markup("").join(_grid(field)),
        lines=Markup("").join(_line(number, line, field) for number, line in enumerate(lines)),
        key=Markup("").join(_key(number, line) for number, line in enumerate(lines)),
        middle=LEFT + ACROSS / 2,
        under=TOP + DOWN + 39,
        across=picture.across,
        centre=TOP + DOWN / 2,
        up=picture.up,
    )


def write_number(value: float) -> str:
    """Write a number in little space.

    >>> write_number(0.05), write_number(1500), write_number(20000), write_number(3e6), write_number(1.5e-7)
    ('0.05', '1,500', '20k', '3M', '1.5e-07')
    """
    if 1e6 <= value < 1e9:
        return f"{value / 1e6:.3g}M"
    if 1e4 <= value < 1e6:
        return f"{value / 1e3:.3g}k"
    return f"{value:,.0f}" if 100 <= value < 1e4 else f"{value:.3g}"


def _line(number: int, line: LogLine, field: LogField) -> Markup:
    places = [field.at(x, y) for x, y in line.points]
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dots = Markup("").join(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3.2" style="fill:{}"/>').format(x, y, _colour(number))
        for x, y in ([] if line.theory else places)
    )
    return (
        Markup('<path class="curve" style="stroke:{}"{} d="M{}"/>').format(_colour(number), _dashes(line), path)
        + dots
    )


def _key(number: int, line: LogLine) -> Markup:
    y = TOP + DOWN + 62 + 19 * number
    return Markup(
        '<path class="curve" style="stroke:{}"{} d="M{:.0f} {:.0f} h30"/><text x="{:.0f}" y="{:.0f}">{}</text>'
    ).format(_colour(number), _dashes(line), LEFT, y - 4, LEFT + 38, y, line.name)


def _dashes(line: LogLine) -> Markup:
    return Markup(' stroke-dasharray="6 4"') if line.theory else Markup("")


def _grid(field: LogField) -> Iterator[Markup]:
    for value in _ticks(field.low, field.high):
        x, _ = field.at(value, field.bottom)
        yield Markup(
            '<path class="grid" d="M{x:.1f} {top:.0f} V{bottom:.0f}"/>'
            '<text x="{x:.1f}" y="{under:.0f}" text-anchor="middle">{shown}</text>'
        ).format(x=x, top=TOP, bottom=TOP + DOWN, under=TOP + DOWN + 19, shown=write_number(value))
    for value in _ticks(field.bottom, field.top):
        _, y = field.at(field.low, value)
        yield Markup(
            '<path class="grid" d="M{left:.0f} {y:.1f} H{right:.0f}"/>'
            '<text x="{beside:.0f}" y="{low:.1f}" text-anchor="end">{shown}</text>'
        ).format(left=LEFT, right=LEFT + ACROSS, y=y, beside=LEFT - 7, low=y + 4, shown=write_number(value))


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers, as many as there is room for."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / MOST_TICKS))
    powers = range(first, last + 1)
    candidates = (
        *([k * 10.0**p for p in powers for k in ks] for ks in ((1, 2, 5), (1, 3), (1,))),
        [10.0**p for p in powers if p % step == 0],
    )
    inside = [[v for v in values if low * 0.999 <= v <= high * 1.001] for values in candidates]
    fitting = (values for values in inside if len(values) <= MOST_TICKS)
    return next(fitting, inside[-1]) or [low, high]


def _colour(number: int) -> str:
    """Return a colour of the page, or the same one where there is no page."""
    place = number % len(COLOURS)
    return f"var(--class-{place + 1},{COLOURS[place]})"
