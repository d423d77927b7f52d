"""The answer of a planner as one HTML page that needs nothing but itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup

from mapl import __version__
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.planning.planner.answer import Answer
from mapl.planning.planner.proposal import Proposal
from mapl.planning.planner.sweep import Quantity, Sweep, sweeps
from mapl.planning.planner.ways import HOW_KNOWN
from mapl.release.files.write_once import write_once
from mapl.report.pages.environment import make_environment
from mapl.report.plots.lines import Curve, line_plot

ACROSS: dict[Quantity, str] = {
    "epsilon": "epsilon",
    "teachers": "number of teachers K",
    "queries": "number of questions M",
}
CLEAR = "publishes the winner of the vote where it is clear enough"
WORDS = {
    "ladder": f"{CLEAR}, and otherwise abstains; only abstentions cost",
    "threshold-ladder": f"{CLEAR}, seen from a secret threshold, and otherwise abstains; for few abstentions",
    "ladder-then-link": f"{CLEAR}, and answers the other questions by a biased coin",
    "ladder-then-max": f"{CLEAR}, and answers the other questions from noisy counts",
    "link": "answers every question by a coin that the lead of the winner biases",
    "noisy-max": "answers every question by the largest noisy count of votes",
    "confident-max": "tests, with noise, whether the largest count is large, and answers from noisy counts there",
    "permute-and-flip": "answers every question with a pure epsilon of its own",
}
"""What mechanisms do, to go on after their name."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One quantity: the plot of answers, and that of the student's accuracy where it is forecast."""

    quantity: Quantity
    answered: Markup
    student: Markup | None


def render(answer: Answer) -> str:
    """Return the page. Everything from outside is escaped."""
    best = answer.best if answer.proposals else None
    drawn = sweeps(answer.question, best) if answer.question.delta > 0 and best is not None else ()
    return _template().render(
        answer=answer,
        question=answer.question,
        best=best,
        ways=answer.ways,
        how_known=HOW_KNOWN,
        knows_truth=answer.question.learning_curve is not None,
        words=WORDS,
        pictures=[_picture(one) for one in drawn],
        names=[line.name for line in drawn[0].lines] if drawn else [],
        across=ACROSS,
        command=[] if best is None else answer.command(best).split(" --"),
        rows_each=_rows_each,
        version=__version__,
    )


def write_page(path: Path, answer: Answer) -> None:
    """Write the page as a new file."""
    try:
        write_once(path, render(answer).encode())
    except FileExistsError:
        raise InvalidParameter(
            f"{path} exists already; choose another file with {spell('out')}, or remove it first."
        ) from None
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another file.") from None


def _rows_each(answer: Answer, plan: Proposal) -> float | None:
    return None if answer.question.rows is None else answer.question.rows / plan.n_teachers


def _picture(sweep: Sweep) -> Picture:
    answered = [
        Curve(line.name, style, tuple((point.x, point.answered) for point in line.points))
        for style, line in enumerate(sweep.lines, start=1)
    ]
    students = [
        Curve(line.name, style, tuple((p.x, p.student) for p in line.points if p.student is not None))
        for style, line in enumerate(sweep.lines, start=1)
    ]
    known = [curve for curve in students if curve.points]
    name, across = sweep.quantity, ACROSS[sweep.quantity]
    return Picture(
        name,
        line_plot(
            answered,
            name=f"answered-{name}",
            title=f"Expected answers by {across}",
            across=across,
            chosen=sweep.chosen,
        ),
        line_plot(
            known,
            name=f"student-{name}",
            title=f"Expected accuracy of the student by {across}",
            across=across,
            chosen=sweep.chosen,
            percent=True,
        )
        if known
        else None,
    )


@cache
def _template() -> Template:
    return make_environment().get_template("plan.html")
