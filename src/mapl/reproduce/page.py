"""A reproduced paper as one HTML page that needs nothing but itself, and as JSON beside it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from jinja2 import Template

from mapl import __version__
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.release.files.write_once import write_once
from mapl.release.statement.statement import to_json
from mapl.report.pages.environment import make_environment
from mapl.report.plots.log_lines import log_lines
from mapl.reproduce.carry_out import Reproduced, as_values
from mapl.reproduce.claim import Ruling
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.papers import PAPERS
from mapl.types import ADJACENCY, UNIT

TERMS = (
    "Wherever nothing else is said, an epsilon is promised at the delta beside it for this adjacency: "
    f"{ADJACENCY}; unit: {UNIT}. Worlds are made up and coins are seeded, so that the same command gives the same "
    "bytes: nothing on this page protects anybody."
)


def render(paper: str, effort: ReproductionEffort, found: list[Reproduced]) -> str:
    """Return the page; the same findings give the same text."""
    groups: dict[str, list[Reproduced]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    return _template().render(
        title=f"{PAPERS[paper].title}, reproduced",
        not_private=None,
        version=__version__,
        paper=PAPERS[paper],
        name=paper,
        effort=effort,
        groups=groups,
        counted=Counter(one.ruling.value for one in found),
        rulings=[ruling.value for ruling in Ruling],
        terms=TERMS,
    )


def write_figure(value: float) -> str:
    """Write a figure with as many digits as anybody reads.

    >>> write_figure(0.123456), write_figure(12345.0), write_figure(1e-9), write_figure(3.0)
    ('0.1235', '12,345', '1e-09', '3')
    """
    if value == round(value) and abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def refuse_taken(folder: Path, papers: list[str]) -> None:
    """Refuse, before any work, a folder in which the files could not be written."""
    if folder.exists() and not folder.is_dir():
        raise InvalidParameter(f"{folder} is no folder; choose another one with {spell('out')}.")
    for path in (folder / f"{paper}.{kind}" for paper in papers for kind in ("html", "json")):
        if path.exists():
            raise InvalidParameter(
                f"{path} exists already; remove it, or choose another folder with {spell('out')}."
            )


def write_pages(folder: Path, paper: str, effort: ReproductionEffort, found: list[Reproduced]) -> None:
    """Write the page and the JSON of a paper as new files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_once(folder / f"{paper}.html", render(paper, effort, found).encode())
        write_once(folder / f"{paper}.json", (to_json(as_values(paper, effort, found), indent=1) + "\n").encode())
    except FileExistsError:
        refuse_taken(folder, [paper])
    except OSError as failure:
        raise InvalidParameter(f"{folder} cannot be written to ({failure.strerror}); choose another.") from None


@cache
def _template() -> Template:
    made = make_environment()
    made.filters |= {"figure": write_figure}
    made.globals |= {"log_lines": log_lines}
    return made.get_template("reproduced.html")
