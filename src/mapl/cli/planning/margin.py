"""``mapl margin``: how clearly small teachers vote on public rows, and what follows from it."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from mapl.cli.console import out, progress_of, tell
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.budget import check_delta
from mapl.cli.options.learner import learner_of
from mapl.data import read_table
from mapl.data.tables.classes import Classes
from mapl.errors import InvalidParameter
from mapl.planning.rules.margin import FAILURE, margin_plans, refuse_senseless
from mapl.release.statement.statement import to_json
from mapl.types import Budget

if TYPE_CHECKING:
    from mapl.pipeline.rehearsal.margin import MeasuredMargin
    from mapl.report.pages.margin import MarginQuestion


def margin(
    public: Path = typer.Argument(metavar="PUBLIC", help="PUBLIC labelled rows: .csv, .parquet or .arrow."),
    label: str = option(panels.TABLES, "The column of the labels, of two or more classes."),
    classes: str | None = option(
        panels.TABLES, "Names of the classes, separated by commas.", None, show_default="those of PUBLIC"
    ),
    learner: str = option(panels.TEACHERS, "A learner of `mapl learners`, or module:name to import.", "ridge"),
    sizes: str = option(panels.TEACHERS, "Rows per teacher, separated by commas.", "50,100,200,500"),
    teachers: int = option(panels.TEACHERS, "How many teachers to train for each size.", 200),
    epsilon: float | None = option(
        panels.BUDGET, "With --delta and --queries: print the T and K that follow.", None
    ),
    delta: float | None = option(panels.BUDGET, "Failure probability of the privacy budget.", None),
    queries: int | None = option(panels.BUDGET, "How many questions a run is to answer.", None),
    failure: float = option(
        panels.BUDGET, "Probability with which a run with these T and K may fall short.", FAILURE
    ),
    to: Path | None = option(panels.RUNNING, "HTML page to write, with the plot.", None, "--out"),
    jobs: int = option(panels.RUNNING, "Processes that train teachers; -1 for one per processor.", -1),
    seed: int = option(panels.RUNNING, "Which rows teach whom.", 0, min=0),
    as_json: bool = option(panels.RUNNING, "Print one JSON object instead of tables.", False, "--json"),
) -> None:
    """Measure on PUBLIC rows how clearly teachers of several sizes vote. The result is NOT PRIVATE.

    Prints the approximate high-margin curve and, for two classes, the Tsybakov parameter: does sparse voting pay?
    Never give private rows here: everything is computed from them without noise. Exit code 2: bad input.
    """
    from mapl.pipeline.rehearsal.margin import MarginWish, measure
    from mapl.report.pages.margin import NOTICE, MarginQuestion, as_values, refuse_taken, write_page

    wish = MarginWish.parse(sizes, teachers)
    declared = None if classes is None else Classes.parse(classes)
    wanted = _budget(epsilon, delta, queries, failure)
    if to is not None:
        refuse_taken(to)
    tell(f"mapl: {NOTICE}")
    rows = read_table(public, what="public rows")
    with progress_of(quiet=as_json)("Training teachers", len(wish.sizes) * wish.n_teachers) as on_progress:
        measured = measure(
            rows,
            wish,
            label=label,
            classes=declared,
            learner=learner_of(learner),
            seed=seed,
            n_jobs=jobs,
            on_progress=on_progress,
        )
    asked = None
    if wanted is not None:
        budget, n_queries = wanted
        plans = tuple(
            margin_plans(one.curve, one.size, n_queries, budget, failure=failure) for one in measured.sizes
        )
        asked = MarginQuestion(budget, n_queries, failure, tuple(chain.from_iterable(plans)))
    if to is not None:
        write_page(to, measured, asked)
    if as_json:
        typer.echo(to_json({**as_values(measured, asked), "out": None if to is None else str(to)}))
        return
    show(measured, asked)
    if to is not None:
        out.print(f"The page with the plot is in {to}.", soft_wrap=True)


def show(measured: MeasuredMargin, asked: MarginQuestion | None) -> None:
    """Print what was measured, for people."""
    from mapl.report.pages.margin import SHOWN, tau_in_words

    shown = Table(
        "rows per teacher",
        "one teacher errs",
        "the vote errs",
        *(f"margin ≤ {one:g}" for one in SHOWN),
        title=f"NOT PRIVATE: margins of {measured.n_teachers} {measured.learner} teachers on "
        f"{measured.n_questions} public rows",
        title_justify="left",
    )
    for one in measured.sizes:
        shown.add_row(
            f"{one.size}{'' if one.apart else ' *'}",
            f"{one.teacher_error:.1%}",
            f"{one.vote_error:.1%}",
            *(f"{one.curve.nu(at):.1%}" for at in SHOWN),
        )
    out.print(shown)
    if not all(one.apart for one in measured.sizes):
        out.print(
            "* These teachers share rows, so they look a little more alike than on rows of their own.",
            soft_wrap=True,
        )
    out.print(f"Tsybakov noise condition: {tau_in_words(measured)}.", soft_wrap=True)
    if asked is not None:
        _show_plans(asked)


def _show_plans(asked: MarginQuestion) -> None:
    shown = Table(
        "rows per teacher",
        "margin",
        "share below",
        "T",
        "K, ladder",
        "private rows",
        "K, paper",
        title=f"Enough for {asked.n_queries} questions, except with probability {asked.failure:g}",
        title_justify="left",
    )
    for plan in asked.plans:
        shown.add_row(
            str(plan.size),
            f"{plan.margin:g}",
            f"≤ {plan.nu:.1%}",
            str(plan.abstentions),
            "–" if plan.teachers is None else str(plan.teachers),
            "–" if plan.rows is None else str(plan.rows),
            str(plan.paper_teachers),
        )
    out.print(shown)
    out.print(
        f"Budget: {asked.promise}. A worst case that is proved, not a forecast; mapl plan gives one.",
        soft_wrap=True,
    )


def _budget(
    epsilon: float | None, delta: float | None, queries: int | None, failure: float
) -> tuple[Budget, int] | None:
    """Take the three that belong together, all or none."""
    if epsilon is None and delta is None and queries is None:
        return None
    if epsilon is None or delta is None or queries is None:
        raise InvalidParameter("T and K follow from --epsilon, --delta and --queries together; give all or none.")
    check_delta(delta)
    budget = Budget(epsilon, delta)
    refuse_senseless(budget, queries, failure)
    return budget, queries
