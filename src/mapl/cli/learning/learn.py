"""``mapl learn``: a private table and public rows in, a model that may be published out."""

from __future__ import annotations

import typer

from mapl.cli.console import EXHAUSTED, out, progress_of, tell, warn
from mapl.cli.learning.learn_options import (
    ActiveChoice,
    CellKind,
    ClassWeight,
    EarlierFolders,
    ErrorShare,
    Fill,
    Groups,
    How,
    LabelService,
    LearnerCommand,
    MethodName,
    Metric,
    MetricName,
    NumberOfCells,
    NumberOfQuestions,
    NumberOfVoters,
    OnlyLabels,
    Parts,
    PerUnit,
    PublicTable,
    Rounds,
    StudentName,
    StudentStrategy,
    TestTable,
    strategy_of,
)
from mapl.cli.learning.learn_wording import as_record, table
from mapl.cli.options.amounts import TIME_LIMIT, bytes_or_none, number_or_auto, seconds_or_none
from mapl.cli.options.budget import Adjacency, Compared, Delta, Epsilon, Unit, check_delta
from mapl.cli.options.columns import Categories, Dropped, choices_of
from mapl.cli.options.earlier import earlier_runs
from mapl.cli.options.labels import LabelValuesText, label_values_of, tell_owner
from mapl.cli.options.learner import learner_of
from mapl.cli.options.running import AsJson, Engine, Jobs, RunOut, Seed
from mapl.cli.options.standard_input import InputFormat, StandardInput
from mapl.cli.options.tables import ClassNames, LabelColumns, Memory, PrivateTable, Regression, RowCount, SchemaFile
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
from mapl.data.tables.number_range import NumberRange
from mapl.errors import InvalidParameter
from mapl.planning import Agreement
from mapl.release.statement.statement import to_json
from mapl.types import Budget


def learn(
    *,
    private: PrivateTable,
    label: LabelColumns,
    public: PublicTable = None,
    form: InputFormat = None,
    classes: ClassNames = None,
    label_values: LabelValuesText = None,
    regression: Regression = None,
    schema: SchemaFile = None,
    drop: Dropped = [],  # noqa: B006 – typer reads it, and nobody else
    categories: Categories = [],  # noqa: B006 – typer reads it, and nobody else
    rows: RowCount = None,
    memory: Memory = None,
    epsilon: Epsilon,
    delta: Delta,
    unit: Unit = None,
    adjacency: Compared = Adjacency.add_remove,
    label_private: OnlyLabels = False,
    going_on: EarlierFolders = [],  # noqa: B006 – typer reads it, and nobody else
    method: MethodName = "auto",
    queries: NumberOfQuestions = None,
    error_share: ErrorShare = 0.0,
    learner: LearnerName = None,
    learner_command: LearnerCommand = None,
    time_limit: TimeLimit = TIME_LIMIT,
    teachers: NumberOfTeachers = "auto",
    mechanism: Mechanism = "auto",
    may_abstain: MayAbstain = False,
    max_abstentions: MaxAbstentions = None,
    agreement: AgreementText = None,
    cells: NumberOfCells = "auto",
    partition: CellKind = Parts.points,
    rounds: Rounds = 1,
    per_unit: PerUnit = None,
    student: StudentName = "auto",
    strategy: StudentStrategy = How.auto,
    active: ActiveChoice = None,
    label_service: LabelService = None,
    fill: Fill = None,
    voters: NumberOfVoters = None,
    metric: MetricName = Metric.accuracy,
    class_weight: ClassWeight = None,
    test: TestTable = None,
    group: Groups = [],  # noqa: B006 – typer reads it, and nobody else
    to: RunOut,
    jobs: Jobs = -1,
    engine: Engine = "local",
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Learn from a private table and publish a student model with its privacy statement.

    Writes OUT/public (student.skops, labels.parquet, statement.json, report.html, card.md, ...) and OUT/private.
    Exit code 2: bad input, and nothing was spent unless the message says so. Exit code 3: the budget ran out before
    the last question; the student learned from what was released.
    """
    from mapl.cli.learning.report import write_report_of
    from mapl.data.tables.schema import Schema
    from mapl.pipeline.learners import Learners
    from mapl.pipeline.request import Request
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.pipeline.runs.run import learn_in_folder
    from mapl.pipeline.runs.tables import Tables
    from mapl.pipeline.watch import Watch
    from mapl.students.probabilities.aim import Aim, parse_class_weight
    from mapl.teachers import Command
    from mapl.types import RECORD

    budget = allowed = Budget(epsilon, delta)
    given = StandardInput(form, private, public, test)
    private, public, test = given.file_of(private), given.file_of(public), given.file_of(test)
    if label_private and adjacency is Adjacency.replace_one:
        raise InvalidParameter(
            "--label-private has an adjacency of its own, changed labels; leave --adjacency away."
        )
    label_private = label_private or adjacency is Adjacency.labels
    known_columns = None if schema is None else Schema.read(schema)
    choices = choices_of(drop, categories)
    unit, no_unit = unit_of(unit, known_columns)
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
    values = label_values_of(label_values)
    aim = Aim(metric.value, {} if class_weight is None else parse_class_weight(class_weight))
    number_range = None if regression is None else NumberRange.parse(regression)
    expected = None if agreement is None else Agreement.parse(agreement)
    check_delta(delta)

    request = Request(  # a bad setting is told before any file is read
        budget,
        Classes(("no", "yes")) if declared is None else declared,
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
        aim=aim,
        number_range=number_range,
        together=None if earlier is None else earlier.going_on(allowed),
    )
    tables = Tables(
        private,
        label[0],
        public,
        label_private,
        unit,
        declared,
        known_columns,
        tuple(group),
        test,
        no_unit,
        choices,
        values,
        bytes_or_none(memory),
        number_range,
        tuple(label[1:]),
    )
    teacher = None if learner is None else learner_of(learner)
    teacher = teacher if learner_command is None else Command(learner_command)
    chosen = None if student == "auto" else learner_of(student)
    learners = Learners(
        teacher,
        chosen,
        strategy_of(strategy, active, label_service, fill, voters),
        seconds_or_none(time_limit),
        jobs,
        engine,
    )
    folder = RunFolder(to)
    learned = learn_in_folder(
        tables,
        request,
        learners,
        folder,
        seed=seed,
        watch=Watch(progress_of(quiet=as_json), warn),
        earlier=[RunFolder(one) for one in going_on],
    )
    test = test if learned.students else None
    evaluation = write_report_of(folder, test=test, label_accuracy=learned.label_accuracy)
    folder.finish()
    statement = learned.labelled.statement
    if as_json:
        typer.echo(to_json(as_record(learned, evaluation, to)))
    else:
        out.print(table(learned, evaluation, to))
    for warning in dict.fromkeys(one for student in learned.students for one in student.warnings):
        warn(warning)
    if statement.halted:
        tell(f"mapl: {statement.mechanism} reached its limit; {statement.not_asked} rows were not asked.")
    if not learned.students:
        tell("mapl: no label was released, so there is no student; the budget is spent all the same.")
    tell_owner(to)
    if statement.halted or not learned.students:
        raise typer.Exit(EXHAUSTED)
