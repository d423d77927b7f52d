"""The pictures of the page as inline SVG; colours come from its style sheet, words stand beside them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from mapl.report.figures import count
from mapl.service.page.history import SpentPoint

WIDTH, HEIGHT, FOOT = 640.0, 160.0, 1.0


def gauge(used: int, most: int, *, name: str, style: str) -> Markup:
    """Draw how much of a limit is used up."""
    filled = 1000 * min(1.0, used / most) if most else 0.0
    return Markup(
        '<svg class="gauge" viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label="{}"><rect '
        'class="track" width="1000" height="28" rx="6"/><rect class="{}" width="{:.1f}" height="28" rx="6"/></svg>'
    ).format(f"{name}: {count(used)} of {count(most)}", style, filled)


def timeline(points: Sequence[SpentPoint]) -> Markup:
    """Draw all answers and abstentions so far along the entries of the ledger, as two stacked areas.

    Words stand below and not inside, where they would shrink with the picture.
    """
    last = points[-1]
    total = max(1, last.answered + last.abstained)
    span = max(1, last.entry)

    def path(heights: Sequence[int]) -> str:
        corners = [
            (WIDTH * point.entry / span, HEIGHT * (1 - height / total))
            for point, height in zip(points, heights, strict=True)
        ]
        line = " ".join(f"L{x:.1f} {y:.1f}" for x, y in corners)
        return f"M0 {HEIGHT:.0f} {line} L{WIDTH:.0f} {HEIGHT:.0f} Z"

    return Markup(
        '<svg class="timeline" viewBox="0 0 {w:.0f} {h:.0f}" role="img" aria-labelledby="timeline-title"><title '
        'id="timeline-title">{title}</title><path class="abstained" d="{all}"/><path class="answered" '
        'd="{answers}"/><path class="axis" d="M0 {foot:.0f} H{w:.0f}"/></svg><p class="ends"><span>first entry of '
        "the ledger</span><span>entry {last}</span></p>"
    ).format(
        w=WIDTH,
        h=HEIGHT + FOOT,  # room for the line of the axis
        foot=HEIGHT,
        title=f"{count(last.answered)} answers and {count(last.abstained)} abstentions by entry {last.entry}",
        all=path([point.answered + point.abstained for point in points]),
        answers=path([point.answered for point in points]),
        last=count(last.entry),
    )
