"""The map of the cells as inline SVG; colours come from the page, and the words stand beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

from mapl.report.cell_map import MOST_MARKS, CellMap, ClassMass, Mark
from mapl.report.figures import count

WIDTH, HEIGHT, EDGE = 640.0, 420.0, 14.0
"""The size of the drawing, and the margin that the middles of marks keep."""

SMALLEST, LARGEST, ROOMY = 1.5, 7.0, 13.0
"""Radii of marks: the smallest, and the largest of a full map and of one with few marks."""

TO_SCALE = 0.98
"""The share of the marks that are drawn to scale; a few huge ones may not make all others invisible."""

N_COLOURS = 10
OTHER, NONE = "class-other", "class-none"


def class_styles(per_class: Sequence[ClassMass]) -> tuple[str, ...]:
    """Give each class a colour; where there are too few, the classes that lead most cells get one of their own."""
    by_cells = sorted(range(len(per_class)), key=lambda code: -per_class[code].leads)
    own = sorted(by_cells[:N_COLOURS])
    return tuple(f"class-{own.index(code) + 1}" if code in own else OTHER for code in range(len(per_class)))


@dataclass(frozen=True, slots=True)
class Scale:
    """Where marks go and how large they are."""

    left: float
    low: float
    across: float
    up: float
    full: int
    """The noisy number of records from which on marks have the largest size."""
    largest: float

    @classmethod
    def of(cls, marks: Sequence[Mark]) -> Self:
        xs, ys = sorted(mark.x for mark in marks) or [0.0], sorted(mark.y for mark in marks) or [0.0]
        totals = sorted(max(1, mark.total) for mark in marks) or [1]
        full = totals[int(TO_SCALE * (len(totals) - 1))]
        largest = min(ROOMY, LARGEST * (MOST_MARKS / len(totals)) ** 0.25)
        return cls(xs[0], ys[0], xs[-1] - xs[0], ys[-1] - ys[0], full, largest)

    def place(self, mark: Mark) -> tuple[float, float]:
        """Return the middle of a mark; what has no extent lies in the middle of the map."""
        x = (mark.x - self.left) / self.across if self.across else 0.5
        y = (mark.y - self.low) / self.up if self.up else 0.5
        return EDGE + (WIDTH - 2 * EDGE) * x, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * y

    def radius(self, total: int) -> float:
        """Return the radius of a mark, whose area grows with the noisy number of records."""
        return max(SMALLEST, self.largest * math.sqrt(min(1.0, max(0, total) / self.full)))

    @property
    def steps(self) -> tuple[int, ...]:
        """The noisy numbers of records whose sizes a legend shows."""
        return tuple(dict.fromkeys((1, max(1, self.full // 4), self.full)))


def map_of_cells(found: CellMap) -> Markup:
    """Draw each cell where its public rows lie on average, coloured by the class that leads there."""
    leads = ", ".join(f"{one.name} leads in {count(one.leads)}" for one in found.per_class if one.leads)
    described = (
        f"Circles for {count(len(found.marks))} of {count(found.cells)} cells, at the places of their public rows "
        "and in the colour of the class with the largest noisy count. Of all cells: "
        f"{leads or 'no class leads in any'}, and {count(found.no_leader)} have no leader. The table says the same."
    )
    return Markup(
        '<svg class="map" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-labelledby="map-title map-desc">'
        '<title id="map-title">Map of the cells</title><desc id="map-desc">{}</desc>{}</svg>'
    ).format(WIDTH, HEIGHT, described, _layers(found))


def legend_of(found: CellMap) -> list[tuple[str, str | None]]:
    """Return the colours of the map with the class of each, None for the one that further classes share."""
    styles = class_styles(found.per_class)
    own = [(style, one.name) for style, one in zip(styles, found.per_class, strict=True) if style != OTHER]
    return [*own, (OTHER, None)] if OTHER in styles else [*own]


def size_keys(found: CellMap) -> list[tuple[int, Markup]]:
    """Return some noisy numbers of records, each with a mark of its size for the legend."""
    scale = Scale.of(found.marks)
    return [(total, mark_key(OTHER, scale.radius(total), room=scale.largest)) for total in scale.steps]


def mark_key(style: str, radius: float = 6.0, *, room: float = 7.0) -> Markup:
    """Draw one mark for the legend."""
    return Markup(
        '<svg class="mark" width="{0:.0f}" height="{0:.0f}" viewBox="-{1:.1f} -{1:.1f} {2:.1f} {2:.1f}" '
        'aria-hidden="true"><title>mark</title><circle class="{3}" r="{4:.1f}"/></svg>'
    ).format(2 * room, room, 2 * room, style, radius)


def _layers(found: CellMap) -> Markup:
    """Draw the largest marks first, so that none is hidden by a larger one, and those without a leader below."""
    styles, scale = class_styles(found.per_class), Scale.of(found.marks)
    pieces = []
    for mark in sorted(found.marks, key=lambda mark: (mark.leader is not None, -mark.total)):
        style = NONE if mark.leader is None else styles[mark.leader]
        r = SMALLEST if mark.leader is None else scale.radius(mark.total)
        pieces.append(
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>').format(style, *scale.place(mark), r)
        )
    return Markup("").join(pieces)
