"""One effect as a bar from the middle, with a whisker for its noise: one row of a table, on a scale for all."""

from __future__ import annotations

from markupsafe import Markup

from mapl.report.strongest import INDISTINCT, Effect

FOR, AGAINST = "class-1", "class-2"
"""Style classes of bars to the right and to the left."""


def whiskers(line: Effect, reach: float, *, name: str) -> Markup:
    """Draw an effect between minus and plus `reach`; the whisker is two deviations of noise to either side."""
    begin, end = sorted((_along(0.0, reach), _along(line.effect, reach)))
    pieces = [
        _box("axis", _along(0.0, reach) - 0.75, 0.0, 1.5, 10.0),
        _box(FOR if line.effect >= 0 else AGAINST, begin, 2.0, end - begin, 6.0),
    ]
    described = f"effect {write_signed(line.effect)}"
    if line.noise is not None:
        low, high = (_along(line.effect + side * INDISTINCT * line.noise, reach) for side in (-1, 1))
        pieces += [
            _box("limit", low, 4.6, high - low, 0.8),
            *(_box("limit", x - 1.25, 2.9, 2.5, 4.2) for x in (low, high)),
        ]
        described += f", noise of deviation {line.noise:.2g}"
    return Markup(
        '<svg class="bar effect" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" '
        'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">Effect of {what}</title>'
        '<desc id="{name}-desc">{described}</desc>{inside}</svg>'
    ).format(name=name, what=line.name, described=described, inside=Markup("").join(pieces))


def write_signed(value: float) -> str:
    """Write an effect with its sign.

    >>> write_signed(0.7119), write_signed(-0.05)
    ('+0.71', '−0.05')
    """
    return f"{value:+.2f}".replace("-", "−")


def _along(value: float, reach: float) -> float:
    return 500 + 492 * min(1.0, max(-1.0, value / reach))


def _box(style: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>').format(
        style, x, y, max(0.0, width), height
    )
