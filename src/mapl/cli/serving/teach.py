"""``mapl teach``: a private table in, teachers that wait for questions out; nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from mapl.cli.console import out, progress_of, warn
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.amounts import TIME_LIMIT, bytes_or_none, number_or_auto, seconds_or_none
from mapl.cli.options.budget import Adjacency, Compared, Delta, Epsilon, Unit, check_delta
from mapl.cli.options.columns import HOW_TO_CHANGE, Categories, Dropped, choices_of
from mapl.cli.options.labels import LabelValuesText, label_values_of, tell_owner
from mapl.cli.options.learner import learner_of
from mapl.cli.options.running import AsJson, Engine, Jobs, RunOut, Seed
from mapl.cli.options.standard_input import InputFormat, StandardInput
from mapl.cli.options.tables import ClassNames, Label, Memory, PrivateTable, RowCount, SchemaFile
from mapl.cli.options.unit import unit_of
from mapl.cli.options.votes import (
    AgreementText,
    LearnerName,
    MaxAbstentions,
    MayAbstain,
    Mechanism,
    NumberOfTeachers,
    TimeLimit,
)
from mapl.data.tables.classes import Classes
from mapl.planning import Agreement
from mapl.release.statement.statement import to_json
from mapl.types import Budget

if TYPE_CHECKING:
    from mapl.pipeline.online.teach import TaughtRun


def teach(
    *,
    private: PrivateTable,
    label: Label,
    public: Annotated[
        Path, option(panels.TABLES, "Some public rows with the same columns; they need not be asked about.")
    ],
    form: InputFormat = None,
    classes: ClassNames = None,
    label_values: LabelValuesText = None,
    schema: SchemaFile = None,
    drop: Dropped = [],  # noqa: B006 – typer reads it, and nobody else
    categories: Categories = [],  # noqa: B006 – typer reads it, and nobody else
    rows: RowCount = None,
    memory: Memory = None,
    epsilon: Epsilon,
    delta: Delta,
    queries: Annotated[int, option(panels.BUDGET, "How many different questions the budget is planned for.")],
    unit: Unit = None,
    adjacency: Compared = Adjacency.add_remove,
    learner: LearnerName = None,
    time_limit: TimeLimit = TIME_LIMIT,
    teachers: NumberOfTeachers = "auto",
    mechanism: Mechanism = "auto",
    may_abstain: MayAbstain = True,
    max_abstentions: MaxAbstentions = None,
    agreement: AgreementText = None,
    to: RunOut,
    jobs: Jobs = -1,
    engine: Engine = "local",
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Train teachers on a private table and keep them for questions to come (`mapl serve`). Nothing is spent yet.

    Writes OUT/public (plan.json, schema.json, settings.json) and OUT/private, which holds the teachers and never
    leaves your hands. Exit code 2: bad input.
    """
    from mapl.data.tables.schema import Schema
    from mapl.pipeline.learners import Learners
    from mapl.pipeline.online.teach import teach as carry_out
    from mapl.pipeline.request import Request
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.pipeline.runs.tables import Tables
    from mapl.pipeline.watch import Watch

    budget = Budget(epsilon, delta)
    given = StandardInput(form, private, public)
    private, public = given.file_of(private), given.file_of(public)
    known_columns = None if schema is None else Schema.read(schema)
    choices = choices_of(drop, categories)
    unit, no_unit = unit_of(unit, known_columns)
    declared = None if classes is None else Classes.parse(classes)
    expected = None if agreement is None else Agreement.parse(agreement)
    check_delta(delta)

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
    tables = Tables(
        private,
        label,
        public,
        unit=unit,
        classes=declared,
        schema=known_columns,
        no_unit=no_unit,
        choices=choices,
        label_values=label_values_of(label_values),
        memory=bytes_or_none(memory),
    )
    teacher = None if learner is None else learner_of(learner)
    taught = carry_out(
        tables,
        ask,
        Learners(teacher, time_limit=seconds_or_none(time_limit), n_jobs=jobs, engine=engine),
        RunFolder(to),
        seed=seed,
        watch=Watch(progress_of(quiet=as_json), warn),
    )
    if seed is not None:
        warn("answers of this run will use coins of a known seed and are NOT PRIVATE; use it for tests only.")
    if as_json:
        typer.echo(to_json(_as_record(taught, to)))
    else:
        out.print(table(taught, to))
        for line in _what_next(to):
            out.print(line, soft_wrap=True)
    tell_owner(to)


def table(taught: TaughtRun, folder: Path) -> Table:
    """Lay taught teachers out for people."""
    plan, stage = taught.plan, taught.plan.stage("labels")
    shown = Table(title="Teachers that wait for questions", title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_row("spent", "nothing so far; every answer and every abstention will count")
    shown.add_row(
        "epsilon planned", f"{plan.budget.epsilon:g} at delta {plan.budget.delta:g}, for all answers together"
    )
    shown.add_row("adjacency", taught.promise.adjacency)
    shown.add_row("unit", taught.promise.unit)
    shown.add_row("columns", f"{taught.columns}; {HOW_TO_CHANGE}")
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


def _as_record(taught: TaughtRun, folder: Path) -> dict[str, Any]:
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
        "columns": taught.columns,
        "why": taught.why,
        "plan_digest": plan.digest,
    }
