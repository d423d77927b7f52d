"""``mapl learn``: a private table and public rows in, a model that may be published out."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from mapl.cli.amounts import TIME_LIMIT, number_or_auto, seconds_or_none
from mapl.cli.console import EXHAUSTED, out, progress_of, tell, warn
from mapl.cli.earlier_option import earlier_runs
from mapl.cli.learner_option import learner_of
from mapl.data.classes import Classes
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins, SystemCoins
from mapl.planning import Agreement
from mapl.release.statement import NOT_PRIVATE, at_most, to_json
from mapl.types import Budget

if TYPE_CHECKING:
    from mapl.pipeline.learn import Learned
    from mapl.report import Evaluation
    from mapl.students.active import Active

LARGE_DELTA = 1e-3


class Neighbours(StrEnum):
    """Which tables are compared."""

    add_remove = "add-remove"
    replace_one = "replace-one"


class Parts(StrEnum):
    """What cells are."""

    points = "points"
    centroids = "centroids"
    leaves = "leaves"


class How(StrEnum):
    """How a student learns from released labels."""

    auto = "auto"
    plain = "plain"
    imputed = "imputed"
    self_training = "self-training"
    voting = "voting"
    cleaned = "cleaned"
    active = "active"
    soft = "soft"
    soft_medians = "soft-medians"
    soft_both = "soft-both"


class Choose(StrEnum):
    """How an active student chooses the rows it asks about."""

    margin = "margin"
    committee = "committee"
    robust_cal = "robust-cal"


class Answerer(StrEnum):
    """Who answers an active student."""

    auto = "auto"
    link = "link"
    noisy_max = "noisy-max"
    ladder = "ladder"
    hybrid = "hybrid"


def learn(
    private: Path = typer.Argument(metavar="PRIVATE", help="The private labelled table: .csv, .parquet or .arrow."),
    label: str = typer.Option(help="The column of the labels."),
    epsilon: float = typer.Option(help="Privacy budget, usually between 0.1 and 10."),
    delta: float = typer.Option(help="Failure probability, well below one over the number of people."),
    to: Path = typer.Option(
        ..., "--out", help="Folder of the run; the same command goes on with an unfinished one."
    ),
    public: Path | None = typer.Option(None, help="Public rows with the same columns, without labels."),
    label_private: bool = typer.Option(False, help="The features are public: only labels are protected."),
    unit: str | None = typer.Option(None, help="The column that says whose a row is, such as patient_id."),
    classes: str | None = typer.Option(
        None, help="Names of the classes, separated by commas; never read off PRIVATE."
    ),
    schema: Path | None = typer.Option(
        None, help="What the columns are (`mapl schema`).", show_default="from --public"
    ),
    method: str = typer.Option(
        "auto",
        help="teachers, cells, auto (from public facts; a named learner means teachers), or select:teachers,cells: "
        "try both and choose privately.",
    ),
    learner: str | None = typer.Option(
        None, help="Teachers: a learner of `mapl learners`, or module:name to import.", show_default="ridge"
    ),
    learner_command: str | None = typer.Option(
        None, help='A program as learner: "Rscript fit.R {shard} {queries} {votes}".'
    ),
    time_limit: str = typer.Option(
        TIME_LIMIT, help="Seconds of computing that one teacher may use, or none for no limit."
    ),
    teachers: str = typer.Option("auto", help="Number of teachers, or auto: from --rows and other public facts."),
    rows: int | None = typer.Option(None, help="About how many people the table has, as far as the public knows."),
    adjacency: Neighbours = typer.Option(Neighbours.add_remove, help="Which tables are compared; see the docs."),
    mechanism: str = typer.Option("auto", help="A name of `mapl mechanisms`, or auto, which answers everything."),
    may_abstain: bool = typer.Option(False, help="Let auto take mechanisms that may abstain."),
    max_abstentions: int | None = typer.Option(None, help="Halt right after this many abstentions."),
    agreement: str | None = typer.Option(
        None, help="Expected share of the winner's votes, such as 0.95:0.6,0.7:0.4."
    ),
    error_share: float = typer.Option(
        0.0, help="Share of the budget for a private estimate of the teachers' error."
    ),
    cells: str = typer.Option("auto", help="Number of cells, or auto: from --rows and other public facts."),
    partition: Parts = typer.Option(Parts.points, help="What cells are: nearest public rows, centroids, leaves."),
    rounds: int = typer.Option(1, min=1, max=2, help="Count once, or again in cells that the first student draws."),
    per_unit: str | None = typer.Option(
        None,
        help="Cells: the record of a unit that counts: keyed (by lot), only (there is one), or latest:COLUMN.",
        show_default="keyed",
    ),
    queries: int | None = typer.Option(
        None, help="Ask N of the public rows only.", show_default="all of them; active: a quarter"
    ),
    student: str = typer.Option("auto", help="The student's learner: a preset, auto, or module:name."),
    strategy: How = typer.Option(
        How.auto,
        help="How the student learns; active: it chooses the rows to ask; soft: from probabilities.",
    ),
    active: Choose | None = typer.Option(None, help="Active: how rows are chosen.", show_default="margin"),
    label_service: Answerer | None = typer.Option(
        None,
        help="Active: who answers; hybrid: a ladder over all rows, then link or noisy-max.",
        show_default="auto",
    ),
    test: Path | None = typer.Option(None, help="Public labelled rows, to tell the student's accuracy."),
    group: list[str] = typer.Option([], help="Public column whose values are compared in the report; repeatable."),
    jobs: int = typer.Option(-1, help="Processes that train teachers; -1 for one per processor."),
    going_on: list[Path] = typer.Option(
        [],
        "--continue",
        help="Folder of an earlier run on the same people. --epsilon and --delta are then for all runs together, "
        "and this one spends what is left. Repeatable.",
    ),
    seed: int | None = typer.Option(None, min=0, help="Seeded coins, for tests only: the result is NOT PRIVATE."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Learn from a private table and publish a student model with its privacy statement.

    Writes OUT/public (student.skops, labels.parquet, statement.json, report.html, card.md, ...) and OUT/private.
    Exit code 2: bad input, and nothing was spent unless the message says so. Exit code 3: the budget ran out before
    the last question; the student learned from what was released.
    """
    from mapl.cli.report import write_report_of
    from mapl.data.schema import Schema
    from mapl.pipeline.folder import RunFolder
    from mapl.pipeline.learn import Learners, Tables
    from mapl.pipeline.learn import learn as carry_out
    from mapl.pipeline.request import RECORD, Request
    from mapl.teachers import Command

    budget = allowed = Budget(epsilon, delta)
    if label_private and adjacency is not Neighbours.add_remove:
        raise InvalidParameter(
            "--label-private has an adjacency of its own, changed labels; leave --adjacency away."
        )
    known_columns = None if schema is None else Schema.read(schema)
    if unit is None and known_columns is not None:
        unit = known_columns.unit
    compared = "labels" if label_private else adjacency.value
    earlier = earlier_runs(going_on, new=to)
    if earlier is not None:
        earlier.refuse_other(adjacency=compared, unit=RECORD if unit is None else unit)
        budget = earlier.rest(epsilon=epsilon, delta=delta)
    if unit is None and per_unit is not None:
        raise InvalidParameter(
            "--per-unit says which record of a unit counts, and there is no column of ids: name it with --unit, or "
            "leave --per-unit away; without ids every record is a unit and counts."
        )
    declared = None if classes is None else Classes.parse(classes)
    expected = None if agreement is None else Agreement.parse(agreement)
    if delta >= LARGE_DELTA:
        warn(f"delta {delta:g} lets about one unit in {1 / delta:.0f} go unprotected; 1e-5 is usual.")

    def ask(known: Classes) -> Request:
        return Request(
            budget,
            known,
            n_teachers=number_or_auto(teachers, "teachers"),
            method=method,
            n_cells=number_or_auto(cells, "cells"),
            partition=partition.value,
            rounds=rounds,
            per_unit="keyed" if per_unit is None else per_unit,
            n_rows=rows,
            mechanism=mechanism,
            settings={} if max_abstentions is None else {"max_abstentions": max_abstentions},
            n_queries=queries,
            agreement=expected,
            may_abstain=may_abstain,
            adjacency=compared,  # type: ignore[arg-type]
            unit=unit,
            error_share=error_share,
            together=None if earlier is None else earlier.going_on(allowed),
        )

    # A bad setting is told before any file is read.
    ask(Classes(("no", "yes")) if declared is None else declared)
    tables = Tables(private, label, public, label_private, unit, declared, known_columns, tuple(group), test)
    teacher = None if learner is None else learner_of(learner)
    teacher = teacher if learner_command is None else Command(learner_command)
    chosen = None if student == "auto" else learner_of(student)
    learners = Learners(
        teacher, chosen, _strategy(strategy, active, label_service), seconds_or_none(time_limit), jobs
    )
    folder = RunFolder(to)
    coins = SystemCoins() if seed is None else SeededCoins(seed)
    learned = carry_out(
        tables, ask, learners, folder, coins=coins, progress=progress_of(quiet=as_json), on_warning=warn
    )
    test = None if learned.student is None else test
    evaluation = write_report_of(folder, test=test, label_accuracy=learned.label_accuracy)
    folder.finish()
    statement = learned.labelled.statement
    if as_json:
        typer.echo(to_json(_as_record(learned, evaluation, to)))
    else:
        out.print(table(learned, evaluation, to))
    for warning in () if learned.student is None else learned.student.warnings:
        warn(warning)
    if statement.halted:
        tell(f"mapl: {statement.mechanism} reached its limit; {statement.not_asked} rows were not asked.")
    if learned.student is None:
        tell("mapl: no label was released, so there is no student; the budget is spent all the same.")
    if statement.halted or learned.student is None:
        raise typer.Exit(EXHAUSTED)


def _strategy(how: How, choice: Choose | None, service: Answerer | None) -> str | Active:
    """Put the options of an active student together; other strategies have none."""
    from mapl.students.active import Active

    if how is How.active:
        return Active("margin" if choice is None else choice.value, "auto" if service is None else service.value)
    if choice is not None or service is not None:
        raise InvalidParameter(
            f"--active and --label-service are for --strategy active, and the strategy is {how.value}; take that "
            "strategy, or leave them away."
        )
    return how.value


def table(learned: Learned, evaluation: Evaluation | None, folder: Path) -> Table:
    """Lay a finished run out for people."""
    said, labelled = learned.labelled.statement, learned.labelled
    title = "A student that may be published" if said.private else f"{NOT_PRIVATE} ({said.noise})"
    shown = Table(title=title, title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    if evaluation is not None:
        shown.add_row("student accuracy", f"{evaluation.accuracy:.2%} on {evaluation.rows} public test rows")
    if evaluation is not None and evaluation.calibration is not None:
        quality = evaluation.calibration
        shown.add_row(
            "probabilities", f"AUC {quality.auc:.4f}, log-loss {quality.log_loss:.4f}, Brier {quality.brier:.4f}"
        )
    shown.add_row(
        "epsilon guaranteed",
        f"{at_most(said.guaranteed_epsilon)} at delta {said.delta:g}, of {said.budget_epsilon:g}",
    )
    shown.add_row("adjacency", said.adjacency)
    shown.add_row("unit", said.unit)
    if said.together is not None:
        names = ", ".join(run.run for run in said.together.earlier_runs)
        shown.add_row(
            "with earlier runs",
            f"epsilon {at_most(said.together.epsilon)} at delta {at_most(said.together.delta)} in all, of "
            f"{said.together.allowed_epsilon:g} at {said.together.allowed_delta:g}; {names} and this run, of the "
            "same adjacency and unit",
        )
    shown.add_row("why", labelled.why)
    if learned.label_accuracy is not None:
        shown.add_row("labels' accuracy", f"{learned.label_accuracy:.2%} of the released labels")
    if labelled.error_rate is not None:
        shown.add_row("teachers' error", f"{labelled.error_rate:.1%}, estimated privately")
    shown.add_row("mechanism", said.mechanism)
    shown.add_row("answered", f"{said.answered} of {said.queries} public rows, {said.abstained} abstentions")
    if learned.student is not None:
        file = folder / "public" / "student.skops"
        shown.add_row("student", f"{learned.student.learner}, {learned.student.strategy}: {file}")
    shown.add_row("report", str(folder / "public" / "report.html"))
    return shown


def _as_record(learned: Learned, evaluation: Evaluation | None, folder: Path) -> dict[str, Any]:
    return {
        **asdict(learned.labelled.statement),
        "accuracy": None if evaluation is None else evaluation.accuracy,
        **_probabilities(evaluation),
        "label_accuracy": learned.label_accuracy,
        "error_rate": learned.labelled.error_rate,
        "why": learned.labelled.why,
        "student_learner": None if learned.student is None else learned.student.learner,
        "strategy": None if learned.student is None else learned.student.strategy,
        "out": str(folder),
        "student": None if learned.student is None else str(folder / "public" / "student.skops"),
        "report": str(folder / "public" / "report.html"),
    }


def _probabilities(evaluation: Evaluation | None) -> dict[str, float]:
    """Return how good a student's probabilities are, where that was measured."""
    found = None if evaluation is None else evaluation.calibration
    return {} if found is None else {"auc": found.auc, "log_loss": found.log_loss, "brier": found.brier}
