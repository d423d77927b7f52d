"""Colours of both themes keep the contrast that WCAG 2.2 asks for: 4.5 for text, 3 for parts of pictures."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from mapl.report.plots.cell_map import N_COLOURS

STYLE = files("mapl.report.pages").joinpath("html", "page.css").read_text("utf-8")
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", theme)) for theme in STYLE.split(":root {")[1:3])


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_pictures_can_be_seen(theme: dict[str, str]) -> None:
    for ground in ("page", "paper", "sunk"):
        for text in ("ink", "muted", "accent"):
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    for text, ground in (("good", "paper"), ("good", "good-soft"), ("warn", "warn-soft")):
        assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    assert contrast("#ffffff", theme["alarm"]) >= 4.5
    for part in ("answered", "fallback", "abstained", "unasked"):
        assert contrast(theme[part], theme["paper"]) >= 3, part
    for number in range(1, N_COLOURS + 1):  # the marks of the map and of its legend
        assert contrast(theme[f"class-{number}"], theme["paper"]) >= 3, number
        assert contrast(theme[f"class-{number}"], theme["sunk"]) >= 3, number
    assert contrast(theme["unasked"], theme["sunk"]) >= 3


def test_the_dark_theme_redefines_every_colour_and_spares_paper() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert "@media screen and (prefers-color-scheme: dark)" in STYLE
