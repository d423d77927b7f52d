"""``mapl teach``: a private table in, teachers that wait for questions out; nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from mapl.cli.amounts import TIME_LIMIT, number_or_auto, seconds_or_none
from mapl.cli.console import out, progress_of, warn
from mapl.cli.learn import LARGE_DELTA, Neighbours
from mapl.cli.learner_option import learner_of
from mapl.data.classes import Classes
from mapl.planning import Agreement
from mapl.release.statement import to_json
from mapl.types import Budget

if TYPE_CHECKING:
    from mapl.pipeline.teach import Taught


def teach(
    private: Path = typer.Argument(metavar="PRIVATE", help="The private labelled table: .csv, .parquet or .arrow."),
    public: Path = typer.Option(help="Some public rows with the same columns; they need not be asked about."),
    label: str = typer.Option(help="The column of the labels."),
    epsilon: float = typer.Option(help="Privacy budget of all answers together, usually between 0.1 and 10."),
    delta: float = typer.Option(help="Failure probability, well below one over the number of people."),
    queries: int = typer.Option(help="How many different questions the budget is planned for."),
    to: Path = typer.Option(..., "--out", help="Folder of the run; the same command begins a killed one again."),
    unit: str | None = typer.Option(None, help="The column that says whose a row is, such as patient_id."),
    classes: str | None = typer.Option(
        None, help="Names of the classes, separated by commas; never read off PRIVATE."
    ),
    schema: Path | None = typer.Option(
        None, help="What the columns are (`mapl schema`).", show_default="from --public"
    ),
    learner: str | None = typer.Option(
        None, help="Teachers: a learner of `mapl learners`, or module:name to import.", show_default="ridge"
    ),
    time_limit: str = typer.Option(
        TIME_LIMIT, help="Seconds of computing that one teacher may use, or none for no limit."
    ),
    teachers: str = typer.Option("auto", help="Number of teachers, or auto: from --rows and other public facts."),
    rows: int | None = typer.Option(None, help="About how many people the table has, as far as the public knows."),
    adjacency: Neighbours = typer.Option(Neighbours.add_remove, help="Which tables are compared; see the docs."),
    mechanism: str = typer.Option("auto", help="A name of `mapl mechanisms`, or auto."),
    may_abstain: bool = typer.Option(
        True, "--may-abstain/--must-answer", help="Whether auto may take mechanisms that abstain on hard questions."
    ),
    max_abstentions: int | None = typer.Option(None, help="Halt right after this many abstentions."),
    agreement: str | None = typer.Option(
        None, help="Expected share of the winner's votes, such as 0.95:0.6,0.7:0.4."
    ),
    jobs: int = typer.Option(-1, help="Processes that train teachers; -1 for one per processor."),
    seed: int | None = typer.Option(None, min=0, help="Seeded coins, for tests only: answers are NOT PRIVATE."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Train teachers on a private table and keep them for questions to come (`mapl serve`). Nothing is spent yet.

    Writes OUT/public (plan.json, schema.json, settings.json) and OUT/private, which holds the teachers and never
    leaves your hands. Exit code 2: bad input.
    """
    from mapl.data.schema import Schema
    from mapl.pipeline.folder import RunFolder
    from mapl.pipeline.job import Learners, Tables
    from mapl.pipeline.request import Request
    from mapl.pipeline.teach import teach as carry_out

    budget = Budget(epsilon, delta)
    known_columns = None if schema is None else Schema.read(schema)
    if unit is None and known_columns is not None:
        unit = known_columns.unit
    declared = None if classes is None else Classes.parse(classes)
    expected = None if agreement is None else Agreement.parse(agreement)
    if delta >= LARGE_DELTA:
        warn(f"delta {delta:g} lets about one unit in {1 / delta:.0f} go unprotected; 1e-5 is usual.")

    def ask(known: Classes) -> Request:
        return Request(
            budget,
            known,
            n_teachers=number_or_auto(teachers, "teachers"),
            n_rows=rows,
            mechanism=mechanism,
            settings={} if max_abstentions is None else {"max_abstentions": max_abstentions},
            n_queries=queries,
            agreement=expected,
            may_abstain=may_abstain,
            adjacency=adjacency.value,
            unit=unit,
        )

    # A bad setting is told before any file is read.
    ask(Classes(("no", "yes")) if declared is None else declared)
    tables = Tables(private, label, public, unit=unit, classes=declared, schema=known_columns)
    teacher = None if learner is None else learner_of(learner)
    taught = carry_out(
        tables,
        ask,
        Learners(teacher, time_limit=seconds_or_none(time_limit), n_jobs=jobs),
        RunFolder(to),
        seed=seed,
        progress=progress_of(quiet=as_json),
        on_warning=warn,
    )
    if seed is not None:
        warn("answers of this run will use coins of a known seed and are NOT PRIVATE; use it for tests only.")
    if as_json:
        typer.echo(to_json(_as_record(taught, to)))
    else:
        out.print(table(taught, to))
        for line in _what_next(to):
            out.print(line, soft_wrap=True)


def table(taught: Taught, folder: Path) -> Table:
    """Lay taught teachers out for people."""
    plan, stage = taught.plan, taught.plan.stage("labels")
    shown = Table(title="Teachers that wait for questions", title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_row("spent", "nothing so far; every answer and every abstention will count")
    shown.add_row(
        "epsilon planned", f"{plan.budget.epsilon:g} at delta {plan.budget.delta:g}, for all answers together"
    )
    shown.add_row("adjacency", plan.adjacency)
    shown.add_row("unit", plan.unit)
    shown.add_row("why", taught.why)
    shown.add_row("mechanism", stage.mechanism)
    shown.add_row("questions", f"at most {plan.n_queries} different ones; asking one again is free")
    shown.add_row("teachers", f"{plan.n_teachers}, {taught.learner}, kept as {taught.form} models")
    shown.add_row("run", str(folder))
    return shown


def _what_next(folder: Path) -> tuple[str, ...]:
    return (
        "Next:",
        f"  mapl keys create {folder} --name NAME --scope ask,read    a key for somebody who may ask",
        f"  mapl serve {folder}    answer questions",
    )


def _as_record(taught: Taught, folder: Path) -> dict[str, Any]:
    plan, stage = taught.plan, taught.plan.stage("labels")
    return {
        "out": str(folder),
        "spent": 0,
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "adjacency": plan.adjacency,
        "unit": plan.unit,
        "mechanism": stage.mechanism,
        "parameters": dict(stage.parameters),
        "queries": plan.n_queries,
        "teachers": plan.n_teachers,
        "classes": list(plan.classes),
        "learner": taught.learner,
        "form": taught.form,
        "why": taught.why,
        "plan_digest": plan.digest,
    }
