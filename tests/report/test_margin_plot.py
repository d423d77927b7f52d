"""The plot of margin curves is a sound drawing that stands by itself."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from mapl.planning.votes.noise_conditions import MarginCurve
from mapl.report.plots.margin import DOWN, LEFT, TOP, margin_curves


def test_a_drawing_by_itself_with_one_curve_per_size() -> None:
    curves = [(50, MarginCurve(np.linspace(0, 0.5, 500), 100)), (200, MarginCurve(np.full(300, 0.25), 100))]
    drawing = str(margin_curves(curves))
    root = ElementTree.fromstring(drawing)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(drawing) < 20_000
    paths = re.findall(r'<path class="curve"[^>]* d="M([^"]*L[^"]*)"', drawing)
    assert len(paths) == 2
    for label in ("50 rows per teacher", "200 rows per teacher"):
        assert label in drawing
    # All of the rows of the second curve have margin 1/4: it is zero before, one from there on.
    heights = [float(point.split()[1]) for point in paths[1].split(" L")]
    assert heights[:25] == [TOP + DOWN] * 25
    assert heights[25:] == [TOP] * 26
    first = [tuple(map(float, point.split())) for point in paths[0].split(" L")]
    assert first[0][0] == LEFT
    assert first[-1][1] == TOP
