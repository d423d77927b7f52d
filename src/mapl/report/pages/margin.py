"""What `mapl margin` measured, as one HTML page that needs nothing but itself, and as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template

from mapl import __version__
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.rehearsal.margin import MeasuredMargin
from mapl.planning.rules.margin import MarginPlan
from mapl.release.files.write_once import write_once
from mapl.release.statement.plain_words import why_not_private
from mapl.report.pages.environment import make_environment
from mapl.report.plots.margin import margin_curves
from mapl.types import ADJACENCY, UNIT, Budget

NOTICE = (
    "NOT PRIVATE: the rows were treated as public, and everything here was computed from them without noise. Never "
    "measure margins on private rows."
)
SHOWN = (0.0, 0.1, 0.2, 0.3, 0.4)
"""The margins whose nu is printed."""
STORED = tuple(round(0.02 * step, 2) for step in range(26))
"""The margins whose nu is in the JSON."""


@dataclass(frozen=True, slots=True)
class MarginQuestion:
    """For which budget and how many questions T and K were asked, and what follows for each size and margin."""

    budget: Budget
    n_queries: int
    failure: float
    plans: tuple[MarginPlan, ...]

    @property
    def promise(self) -> str:
        """The budget with all its terms."""
        return (
            f"epsilon {self.budget.epsilon:g} at delta {self.budget.delta:g} (adjacency: {ADJACENCY}; unit: {UNIT})"
        )


def tau_in_words(measured: MeasuredMargin) -> str:
    """Say the Tsybakov parameter with its uncertainty, or why it is unknown."""
    fitted = measured.tsybakov
    if fitted is None:
        return measured.without_tau
    return (
        f"tau {fitted.tau:.2f} ({fitted.confidence:.0%} of redrawn tables: {fitted.low:.2f} to {fitted.high:.2f}), "
        f"eta {fitted.eta:.2f}; of r(x) as {measured.regression_by} estimates it, give or take "
        f"{measured.resolution:.2g}, fitted to the least sure {fitted.lowest:.0%} to {fitted.highest:.0%} of rows"
    )


def as_values(measured: MeasuredMargin, asked: MarginQuestion | None) -> dict[str, Any]:
    """Return everything as plain values for JSON."""
    return {
        "private": False,
        "notice": NOTICE,
        "learner": measured.learner,
        "classes": list(measured.classes),
        "teachers": measured.n_teachers,
        "rows_taught_from": measured.n_taught_from,
        "questions": measured.n_questions,
        "sizes": [
            {
                "rows_per_teacher": one.size,
                "teacher_error": one.teacher_error,
                "vote_error": one.vote_error,
                "disjoint": one.apart,
                "curve": [
                    {"margin": margin, "nu": one.curve.nu(margin), "interval": list(one.curve.interval(margin))}
                    for margin in STORED
                ],
            }
            for one in measured.sizes
        ],
        "tsybakov": None if measured.tsybakov is None else asdict(measured.tsybakov),
        "tsybakov_unknown_because": measured.without_tau or None,
        "regression_by": measured.regression_by,
        "regression_resolution": measured.resolution,
        "asked": None
        if asked is None
        else {
            "epsilon": asked.budget.epsilon,
            "delta": asked.budget.delta,
            "adjacency": ADJACENCY,
            "unit": UNIT,
            "queries": asked.n_queries,
            "failure": asked.failure,
            "plans": [{**asdict(plan), "rows": plan.rows} for plan in asked.plans],
        },
    }


def render(measured: MeasuredMargin, asked: MarginQuestion | None) -> str:
    """Return the page. Everything from outside is escaped."""
    return _template().render(
        measured=measured,
        asked=asked,
        notice=why_not_private(NOTICE),
        margins=SHOWN,
        tau=tau_in_words(measured),
        plot=margin_curves([(one.size, one.curve) for one in measured.sizes]),
        version=__version__,
    )


def refuse_taken(path: Path) -> None:
    """Refuse, before any work, a page that could not be written."""
    if path.exists():
        raise InvalidParameter(
            f"{path} exists already; choose another file with {spell('out')}, or remove it first."
        )
    if not path.parent.is_dir():
        raise InvalidParameter(
            f"{path} is in a folder that does not exist; make it, or choose another {spell('out')}."
        )


def write_page(path: Path, measured: MeasuredMargin, asked: MarginQuestion | None) -> None:
    """Write the page as a new file."""
    try:
        write_once(path, render(measured, asked).encode())
    except FileExistsError:
        refuse_taken(path)
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another file.") from None


@cache
def _template() -> Template:
    return make_environment().get_template("margin.html")
