"""Draw the pictures of docs/how-it-works.md and docs/budget.md: a real ladder and real limits, made-up people.

python docs/idea_pictures.py
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from mapl import Budget, Task, make_mechanism
from mapl.report.risk import Risk

HERE = Path(__file__).parent
BLUE, ORANGE, GREY, PALE, INK = "#1f6f8b", "#cf4a12", "#9aa3ad", "#eef2f4", "#333333"
Point = tuple[float, float]


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return a whole SVG on white, so that it can be read on dark pages, too."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="sans-serif" font-size="14" fill="{INK}">',
            f"<title>{title}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, *, at: str = "middle", size: int = 14, fill: str = INK) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{at}" font-size="{size}" fill="{fill}">{words}</text>'


def dot(at: Point, fill: str, radius: float = 4.5) -> str:
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{fill}"/>'


def box(x: float, y: float, width: float, height: float, fill: str = PALE, edge: str = GREY) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{edge}"/>'


def line(a: Point, b: Point, stroke: str = GREY, width: float = 1.5, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="{stroke}" '
        f'stroke-width="{width:g}"{dashed}/>'
    )


def arrow(a: Point, b: Point, stroke: str = GREY, width: float = 1.5) -> str:
    """A line with a head of its own, as long as it is thick."""
    angle = math.atan2(b[1] - a[1], b[0] - a[0])
    size = 4 + 2 * width
    sides = [(b[0] - size * math.cos(angle + turn), b[1] - size * math.sin(angle + turn)) for turn in (0.45, -0.45)]
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (b, *sides))
    return line(a, b, stroke, width) + f'<polygon points="{corners}" fill="{stroke}"/>'


def border(x: float, height: float) -> list[str]:
    """The line that only noisy things cross."""
    return [
        line((x, 30), (x, height - 30), ORANGE, 2, "6 5"),
        text(x - 12, height - 12, "private", at="end", fill=ORANGE),
        text(x + 12, height - 12, "public", at="start", fill=ORANGE),
    ]


def shards() -> str:
    """People go to shards by a keyed hash, teachers vote, the noisy winner leaves."""
    lot = random.Random(4)
    parts = [
        text(90, 22, "people"),
        text(260, 22, "shards, teachers"),
        text(480, 22, "votes"),
        text(690, 22, "label"),
    ]
    votes = (0, 0, 1, 0, 0)
    for one, vote in enumerate(votes):
        y = 45 + 56 * one
        parts += [box(200, y, 120, 44), text(260, y + 27, f"teacher {one + 1}")]
        for _ in range(4):
            start = (60 + 60 * lot.random(), 50 + 270 * lot.random())
            parts += [line(start, (200, y + 22), "#d5dade", 1), dot(start, BLUE if lot.random() < 0.8 else ORANGE)]
        parts += [arrow((320, y + 22), (440, (110, 250)[vote]), (BLUE, ORANGE)[vote])]
    for y, count, name, fill in ((110, 4, "yes", BLUE), (250, 1, "no", ORANGE)):
        parts += [box(445, y - 22, 80, 44, "#ffffff", fill), text(485, y + 5, f"{name}: {count}", fill=fill)]
        parts += [arrow((525, y), (636, 180), fill)]
    parts += [text(558, 92, "+ noise", fill=ORANGE), box(640, 156, 100, 48, "#ffffff", BLUE)]
    parts += [text(690, 186, "yes", size=18, fill=BLUE), *border(590, 360)]
    return picture(780, 360, "Shards, teachers and votes", parts)


def ladder() -> str:
    """The pass probabilities of a real ladder, by how many teachers would have to change their minds."""
    budget = Budget(1.0, 1e-6)
    rungs = make_mechanism("ladder", Task(budget, 500, 2, 1000), max_abstentions=10).rungs
    left, right, top, bottom, most = 80, 730, 40, 290, 240

    def place(distance: float, chance: float) -> Point:
        return left + (right - left) * distance / most, bottom - (bottom - top) * chance

    chances = [int(rungs.at(distance)) / 2**62 for distance in range(most + 1)]
    curve = " ".join("{:.1f},{:.1f}".format(*place(distance, chance)) for distance, chance in enumerate(chances))
    sure = next(distance for distance, chance in enumerate(chances) if chance >= 0.99)
    half = next(distance for distance, chance in enumerate(chances) if chance >= 0.5)
    parts = [line((left, bottom), (right, bottom), INK), line((left, bottom), (left, top), INK)]
    for distance in range(0, most + 1, 40):
        parts += [text(place(distance, 0)[0], bottom + 20, str(distance))]
    for chance in (0, 0.5, 1):
        parts += [text(left - 10, place(0, chance)[1] + 5, f"{chance:.0%}", at="end")]
    parts += [f'<polyline points="{curve}" fill="none" stroke="{BLUE}" stroke-width="3"/>']
    for distance, chance in ((half, 0.5), (sure, 0.99)):
        x, y = place(distance, chance)
        parts += [line((x, bottom), (x, y), GREY, 1, "4 4"), dot((x, y), ORANGE, 5)]
        parts += [text(x + 10, y + 22, f"distance {distance}: answered {chance:.0%}", at="start", size=13)]
    parts += [
        text((left + right) / 2, 335, "distance: how many teachers could change their minds, and the winner stays"),
        text(left, 24, "chance of an answer (else: abstention)", at="start"),
    ]
    return picture(780, 350, "The ladder at epsilon 1, delta 1e-6, ten abstentions", parts)


def cells() -> str:
    """Public points divide the plane; private records are counted where they fall; counts get noise."""
    lot = random.Random(11)
    size = 300.0
    points = [
        (50 + 100 * (k % 3) + lot.uniform(-30, 30), 50 + 100 * (k // 3) + lot.uniform(-30, 30)) for k in range(9)
    ]
    regions = [_cell(one, points, size) for one in points]
    people = [(size * lot.random(), size * lot.random()) for _ in range(70)]
    homes = [min(range(9), key=lambda one: math.dist(points[one], who)) for who in people]
    ill = [who[0] + who[1] + 60 * (lot.random() - 0.5) > size for who in people]

    def moved(at: Point, by: float) -> Point:
        return at[0] + by, at[1] + 40

    parts = [text(180, 26, "records, counted in cells"), text(590, 26, "what leaves: noisy counts")]
    for by in (30.0, 440.0):
        for region in regions:
            corners = " ".join("{:.1f},{:.1f}".format(*moved(corner, by)) for corner in region)
            parts += [f'<polygon points="{corners}" fill="{PALE}" stroke="{GREY}"/>']
    parts += [dot(moved(who, 30), ORANGE if sick else BLUE, 4) for who, sick in zip(people, ill, strict=True)]
    for one, at in enumerate(points):
        x, y = moved(at, 30)
        parts += [f'<path d="M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12" stroke="{INK}" stroke-width="2.5"/>']
        counts = [
            sum(home == one and sick is which for home, sick in zip(homes, ill, strict=True))
            for which in (False, True)
        ]
        noisy = [count + lot.choice((-1, 0, 0, 1)) for count in counts]
        x, y = moved(at, 440)
        parts += [
            text(x - 4, y + 5, str(noisy[0]), at="end", fill=BLUE),
            text(x + 4, y + 5, str(noisy[1]), at="start", fill=ORANGE),
        ]
    parts += [*border(385, 390), arrow((345, 190), (425, 190), GREY, 2)]
    return picture(780, 390, "Cells: public rows (crosses) divide space, records are counted with noise", parts)


def _cell(one: Point, points: Sequence[Point], size: float) -> list[Point]:
    """Return the corners of what lies nearest to a point: a square, cut in half by every other point."""
    corners: list[Point] = [(0, 0), (size, 0), (size, size), (0, size)]
    for other in points:
        if other != one:
            corners = _cut(corners, one, other)
    return corners


def _cut(corners: Sequence[Point], one: Point, other: Point) -> list[Point]:
    side = [math.dist(corner, other) ** 2 - math.dist(corner, one) ** 2 for corner in corners]
    kept: list[Point] = []
    for here, there, a, b in zip(corners, [*corners[1:], corners[0]], side, [*side[1:], side[0]], strict=True):
        if a >= 0:
            kept.append(here)
        if (a >= 0) != (b >= 0):
            part = a / (a - b)
            kept.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
    return kept


def moments() -> str:
    """Everybody adds one arrow of bounded length; the sum gets noise; a few rounds."""
    lot = random.Random(2)
    parts = [text(120, 26, "one short vector each"), text(390, 26, "their sum"), text(660, 26, "what leaves")]
    total = [0.0, 0.0]
    for one in range(16):
        angle, length = lot.gauss(-0.5, 0.8), min(30, 18 + 14 * lot.random())
        step = (length * math.cos(angle), length * math.sin(angle))
        start = (50 + 42 * (one % 4), 80 + 58 * (one // 4))
        parts += [dot(start, BLUE, 3), arrow(start, (start[0] + step[0], start[1] + step[1]), BLUE)]
        total = [total[0] + step[0], total[1] + step[1]]
    scale = 150 / math.hypot(*total)
    foot, tip = (330.0, 230.0), (330 + scale * total[0], 230 + scale * total[1])
    parts += [dot(foot, BLUE), arrow(foot, tip, BLUE, 4)]
    parts += [
        f'<circle cx="{tip[0]:.1f}" cy="{tip[1]:.1f}" r="26" fill="none" stroke="{ORANGE}" stroke-dasharray="4 4"/>'
    ]
    parts += [text(tip[0] - 10, tip[1] - 34, "+ noise", fill=ORANGE), *border(530, 350)]
    foot = (600.0, 230.0)
    parts += [dot(foot, ORANGE), arrow(foot, (foot[0] + tip[0] - 330 + 15, tip[1] + 12), ORANGE, 4)]
    parts += [arrow((700, 270), (700, 300), GREY, 2), text(700, 320, "model, then the next round", size=13)]
    return picture(820, 350, "Moments: bounded contributions, one noisy sum", parts)


def risk() -> str:
    """What an attacker can achieve at most, by epsilon: right guesses, people found at few false alarms."""
    left, right, top, bottom, most = 80, 560, 40, 290, 6.0
    epsilons = [most * step / 120 for step in range(1, 121)]
    risks = [Risk.of(Budget(epsilon, 1e-6)) for epsilon in epsilons]

    def place(epsilon: float, share: float) -> Point:
        return left + (right - left) * epsilon / most, bottom - (bottom - top) * share

    def curve(shares: Iterable[float], stroke: str) -> str:
        points = (place(epsilon, share) for epsilon, share in zip(epsilons, shares, strict=True))
        corners = " ".join("{:.1f},{:.1f}".format(*point) for point in points)
        return f'<polyline points="{corners}" fill="none" stroke="{stroke}" stroke-width="3"/>'

    parts = [line((left, bottom), (right, bottom), INK), line((left, bottom), (left, top), INK)]
    parts += [text(place(epsilon, 0)[0], bottom + 20, f"{epsilon}") for epsilon in range(7)]
    parts += [text(left - 10, place(0, share)[1] + 5, f"{share:.0%}", at="end") for share in (0, 0.5, 1)]
    parts += [line(place(1, 0), place(1, 1), GREY, 1, "4 4"), line(place(0, 0.5), place(most, 0.5), GREY, 1, "4 4")]
    parts += [curve((one.accuracy for one in risks), BLUE), curve((dict(one.hits)[0.01] for one in risks), ORANGE)]
    parts += [
        text(575, 60, "right guesses whether", at="start", fill=BLUE),
        text(575, 78, "somebody is in the table", at="start", fill=BLUE),
        text(575, 130, "people found while", at="start", fill=ORANGE),
        text(575, 148, "1% are accused wrongly", at="start", fill=ORANGE),
        text(575, place(0, 0.5)[1] + 5, "a coin", at="start", fill=GREY),
        text((left + right) / 2, 335, "epsilon"),
        text(left, 24, "at most", at="start"),
    ]
    return picture(780, 350, "What an attacker can achieve at most, at delta 1e-6", parts)


PICTURES = {
    "idea-shards.svg": shards,
    "idea-ladder.svg": ladder,
    "idea-cells.svg": cells,
    "idea-moments.svg": moments,
    "idea-risk.svg": risk,
}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw(), "utf-8")
