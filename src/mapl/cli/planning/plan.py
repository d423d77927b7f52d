"""``mapl plan``: what a budget can buy, before a private row is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapl.cli.console import out, progress_of
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.budget import Adjacency, Delta, check_delta
from mapl.cli.options.columns import Categories, Dropped, choices_of
from mapl.cli.options.earlier import earlier_runs
from mapl.cli.options.labels import NAMES_OR_NUMBER, count_classes
from mapl.cli.options.public_sample import measure_on_sample, public_votes, refuse_private_half, refuse_several
from mapl.cli.options.running import AsJson
from mapl.cli.options.tables import Memory
from mapl.cli.options.votes import MayAbstain
from mapl.cli.planning.costs import (
    Columns,
    Costs,
    Workers,
    costs_as_dicts,
    measure_costs,
    refuse_unused,
    show_costs,
)
from mapl.cli.planning.plan_wording import show_answer
from mapl.data.units.id_columns import NO_UNIT
from mapl.errors import InvalidData, InvalidParameter
from mapl.planning import Agreement
from mapl.planning.budgets.earlier_runs import EarlierRuns
from mapl.planning.planner.answer import answer_question
from mapl.planning.planner.question import MOST_CLASSES, Question, Wish
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.release.statement.promise import promise_of
from mapl.release.statement.statement import to_json
from mapl.types import RECORD

WISHES, EXPECTED = "Wishes", "What to expect"


def plan(
    *,
    epsilon: Annotated[float | None, option(panels.BUDGET, "Privacy budget; left out, it is solved for.")] = None,
    delta: Delta,
    adjacency: Annotated[
        Adjacency | None,
        option(panels.BUDGET, "Which tables are compared.", show_default="add-remove, or that of the earlier runs"),
    ] = None,
    unit: Annotated[
        str | None, option(panels.BUDGET, "The column that says whose a row is, such as patient_id, or none.")
    ] = None,
    going_on: Annotated[
        list[Path],
        option(
            panels.BUDGET,
            "Folder of an earlier run on the same people; its promise counts. Repeatable.",
            "--continue",
        ),
    ] = [],  # noqa: B006 – typer reads it, and nobody else
    rows: Annotated[
        int | None, option(panels.TABLES, "About how many people the private table has; may be solved for.")
    ] = None,
    queries: Annotated[
        int | None, option(panels.TABLES, "How many public rows are to be labelled; may be solved for.")
    ] = None,
    classes: Annotated[
        str | None,
        option(
            panels.TABLES,
            NAMES_OR_NUMBER,
            "--classes",
            "--n-classes",
            show_default="2, or those of the sample",
        ),
    ] = None,
    want_answered: Annotated[
        float | None,
        option(WISHES, "This share (or number) of the questions, losing a point of accuracy to noise at most."),
    ] = None,
    want_accuracy: Annotated[float | None, option(WISHES, "This accuracy of the student.")] = None,
    learning_curve: Annotated[
        Path | None, option(EXPECTED, 'The learner\'s error by rows: JSON {"100": 0.2}, or CSV rows,error.')
    ] = None,
    error_at: Annotated[str | None, option(EXPECTED, "The same in short, such as 100:0.20,1000:0.16.")] = None,
    public_sample: Annotated[
        Path | None,
        option(EXPECTED, "PUBLIC labelled rows, on which runs are rehearsed and small teachers are trained."),
    ] = None,
    label: Annotated[str | None, option(EXPECTED, "The column of the labels of --public-sample.")] = None,
    drop: Dropped = [],  # noqa: B006 – typer reads it, and nobody else
    categories: Categories = [],  # noqa: B006 – typer reads it, and nobody else
    learner: Annotated[
        str | None, option(EXPECTED, "The learner to measure: a preset or module:name.", show_default="ridge")
    ] = None,
    agreement: Annotated[
        str | None,
        option(EXPECTED, "Instead of a curve: the winner's share of the votes, such as 0.95:0.6,0.7:0.4."),
    ] = None,
    votes: Annotated[
        Path | None,
        option(EXPECTED, "Instead of a curve: vote counts on PUBLIC questions, as `mapl aggregate` reads them."),
    ] = None,
    teachers: Annotated[int | None, option(panels.TEACHERS, "Fix the number of teachers.")] = None,
    may_abstain: MayAbstain = True,
    max_abstentions: Annotated[int | None, option(panels.TEACHERS, "Fix the limit on abstentions.")] = None,
    costs: Costs = False,
    columns: Columns = None,
    jobs: Workers = -1,
    memory: Memory = None,
    to: Annotated[Path | None, option(panels.RUNNING, "HTML page to write, with pictures.", "--out")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a budget can buy, by moments, cells and teachers, and how to carry it out. Reads nothing private.

    Leave out one of --epsilon, --rows and --queries and give a wish (--want-answered or --want-accuracy) to solve
    for it; with all of them given, a wish solves for the number of teachers, or with --teachers for the limit on
    abstentions. Exit code 2: bad input, a wish that cannot be met, or nothing left of the budget.
    """
    if to is not None:
        refuse_taken(to)
    check_delta(delta)
    n_classes = None if classes is None else count_classes(classes)
    earlier = earlier_runs(going_on)
    compared = _adjacency(adjacency, earlier)
    unit = RECORD if unit == NO_UNIT else unit
    if earlier is not None:
        earlier.refuse_other(adjacency=compared, unit=unit)
        epsilon, delta = _rest(epsilon, delta, earlier)
    refuse_unused(costs, columns=columns, memory=memory)
    refuse_several(public_sample=public_sample, votes=votes, agreement=agreement, curve=learning_curve or error_at)
    sample = measure_on_sample(
        public_sample,
        label=label,
        learner=None if costs and public_sample is None else learner,
        n_classes=n_classes,
        unit=None if unit == RECORD else unit,
        choices=choices_of(drop, categories),
        quiet=as_json,
    )
    measured, counted = None if sample is None else sample.measured, public_votes(votes)
    known = measured or counted
    assumed = n_classes if n_classes is not None else 2 if known is None else known.n_classes
    question = Question(
        delta=delta,
        epsilon=epsilon,
        rows=rows,
        queries=queries,
        n_classes=assumed,
        teachers=teachers,
        max_abstentions=max_abstentions,
        curve=_curve(learning_curve, error_at, assumed),
        measured=measured,
        agreement=None if agreement is None else Agreement.parse(agreement),
        public_votes=counted,
        must_answer=not may_abstain,
        adjacency=compared,
        unit=unit or (RECORD if earlier is None else earlier.unit),
    )
    wish = _wish(want_answered, want_accuracy, question)
    promise = promise_of(question.adjacency, None if question.unit == RECORD else question.unit)  # type: ignore[arg-type]
    found = answer_question(question, wish, adjacency=promise.adjacency, unit=promise.unit, earlier=earlier)
    if sample is not None:
        from mapl.pipeline.rehearsal.plans import rehearse_plans
        from mapl.pipeline.rehearsal.ways import rehearse_ways

        found = rehearse_plans(found, sample, progress=progress_of(quiet=as_json))
        found = rehearse_ways(found, sample, progress=progress_of(quiet=as_json))
    if to is not None:
        from mapl.report.pages.plan import write_page

        write_page(to, found)
    taken = None
    if costs:
        columns = len(sample.schema.columns) if columns is None and sample is not None else columns
        taken = measure_costs(found, learner=learner, columns=columns, jobs=jobs, memory=memory)
    if as_json:
        told = {"costs": costs_as_dicts(taken), "out": None if to is None else str(to)}
        typer.echo(to_json(found.to_dict() | told))
        return
    show_answer(found)
    if taken is not None:
        show_costs(taken, columns)
    if to is not None:
        out.print(f"The page with the pictures is in {to}.", soft_wrap=True)


def refuse_taken(path: Path) -> None:
    """Refuse, before any work, a page that could not be written."""
    if path.exists():
        raise InvalidParameter(f"{path} exists already; choose another file with --out, or remove it first.")
    if not path.absolute().parent.is_dir():
        raise InvalidParameter(f"{path} is in a folder that does not exist; make it, or choose another --out.")


def _wish(share: float | None, accuracy: float | None, question: Question) -> Wish | None:
    """Take the wish, refusing one that nothing is left open for, and something left open without one."""
    wish = None if share is None and accuracy is None else Wish(share, accuracy)
    missing = question.unknown()
    if wish is None and missing is not None:
        raise InvalidParameter(
            f"{missing} is not given. Give it, or say what it is to reach, with --want-answered 0.9 or "
            "--want-accuracy 0.83, and it is solved for."
        )
    return wish


def _adjacency(given: Adjacency | None, earlier: EarlierRuns | None) -> str:
    if given is not None:
        return given.value
    return Adjacency.add_remove.value if earlier is None else earlier.adjacency


def _rest(epsilon: float | None, delta: float, earlier: EarlierRuns) -> tuple[float | None, float]:
    """Take what earlier runs have promised off the budget; where epsilon is solved for, off delta alone."""
    rest = earlier.rest(epsilon=earlier.epsilon + 1.0 if epsilon is None else epsilon, delta=delta)
    return None if epsilon is None else rest.epsilon, rest.delta


def _curve(path: Path | None, text: str | None, n_classes: int) -> LearningCurve | None:
    if path is not None and text is not None:
        raise InvalidParameter("Give --learning-curve or --error-at, not both.")
    if not 2 <= n_classes <= MOST_CLASSES:
        raise InvalidParameter(
            f"There are {n_classes} classes (--classes); plans are made for 2 to {MOST_CLASSES} classes."
        )
    if text is not None:
        return LearningCurve.parse(text, n_classes=n_classes)
    if path is None:
        return None
    refuse_private_half(path)
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as failure:
        raise InvalidParameter(
            f"{path} cannot be read ({failure.strerror}); give a file with --learning-curve."
        ) from None
    except UnicodeDecodeError:
        raise InvalidData(f"{path} is no text; write JSON or CSV.") from None
    try:
        return LearningCurve.read(content, n_classes=n_classes)
    except RecursionError:
        raise InvalidData(f"{path} is nested too deeply for a learning curve; write JSON or CSV.") from None
