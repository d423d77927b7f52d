"""``mapl report``: a finished run as one page that a privacy officer can read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mapl.cli.console import out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.learning.measured import measured_record, measured_rows
from mapl.errors import InvalidData, InvalidParameter
from mapl.release.statement.statement import to_json

ANSWERS = "answer"
"""What the settings of a run of mapl answer say."""

if TYPE_CHECKING:
    from pyarrow import Table

    from mapl.data.tables.number_range import NumberRange
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.pipeline.runs.published import Publication
    from mapl.report import Evaluation, NumberEvaluation


def report(
    run: Path = typer.Argument(metavar="RUN", help="The folder of a finished run."),
    test: Path | None = option(panels.TABLES, "Public labelled rows, to tell the student's accuracy.", None),
    to: Path | None = option(panels.REPORT, "The page.", None, "--out", show_default="RUN/public/report.html"),
    as_json: bool = option(
        panels.RUNNING, "Print one JSON object with what the page says in short.", False, "--json"
    ),
) -> None:
    """Write the report of a run anew, for example with another test set. Reads RUN/public only; free.

    The public half does not hold the labels that public rows came with, so only mapl learn can tell how many of the
    released labels are right.
    """
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.pipeline.runs.published import Publication

    folder = RunFolder(run)
    page = folder.report if to is None else to
    published = Publication.read(folder)
    if published.settings.get("verb") == ANSWERS:
        report_answers(folder, published, test=test, to=page, as_json=as_json)
        return
    evaluation = write_report_of(folder, test=test, to=to)
    if as_json:
        measured = measured_record(evaluation)
        typer.echo(to_json({**published.statement, **measured, "label_accuracy": None, "report": str(page)}))
        return
    for name, value in measured_rows(evaluation):
        out.print(f"{name[:1].upper()}{name[1:]}: {value}.", soft_wrap=True)
    if evaluation is None:
        out.print("The student's accuracy is unknown without public labelled rows (--test).", soft_wrap=True)
    if published.number_range is None:
        unknown = (
            "The accuracy of the released labels is unknown here; mapl learn tells it where public rows have labels"
        )
        out.print(f"{unknown}.", soft_wrap=True)
    out.print(f"The report is in {page}.", soft_wrap=True)


def report_answers(
    folder: RunFolder, published: Publication, *, test: Path | None, to: Path, as_json: bool
) -> None:
    """Write the page of single answers, which have no student."""
    if test is not None:
        raise InvalidParameter("This run answered single questions and has no student to test; leave --test away.")
    write_answers_report_of(folder, to=to)
    accuracy = published.settings.get("accuracy")
    if as_json:
        typer.echo(to_json({**published.statement, "accuracy": accuracy, "report": str(to)}))
        return
    known = "unknown, since the questions had no labels" if accuracy is None else f"{accuracy:.2%}"
    out.print(f"Accuracy of the answers: {known}.", soft_wrap=True)
    out.print(f"The report is in {to}.", soft_wrap=True)


def write_answers_report_of(folder: RunFolder, *, to: Path | None = None) -> None:
    """Write the report of a run of mapl answer, from its public half alone."""
    from mapl.pipeline.runs.published import Publication
    from mapl.report.pages.answers import AnswersReport, write_answers_page

    published = Publication.read(folder)
    page = AnswersReport.of(
        published.statement,
        plan=published.plan,
        labels=published.labels,
        classes=published.classes,
        settings=published.settings,
        ledger=published.ledger,
    )
    write_answers_page(folder.report if to is None else to, page)


def write_report_of(
    folder: RunFolder,
    *,
    test: Path | None = None,
    to: Path | None = None,
    label_accuracy: float | None = None,
    reference: float | None = None,
) -> Evaluation | NumberEvaluation | None:
    """Write the report of the run in a folder; return the student's accuracy on the test rows, if there are any.

    Parameters
    ----------
    label_accuracy
        The share of released labels that are right, where that is known.
    reference
        The accuracy of a model without privacy. Only for made-up or public data: it is not covered by the budget.
    """
    from mapl.pipeline.methods.multi_label import LABELS
    from mapl.pipeline.runs.published import OF_LABEL, Publication
    from mapl.report import Report, write_report

    published = Publication.read(folder)
    evaluation: Evaluation | NumberEvaluation | None = None
    if test is not None and published.number_range is not None:
        evaluation = evaluate_numbers(folder, test, published, published.number_range)
    elif test is not None:
        evaluation = replace(evaluate(folder, test, published), label_accuracy=label_accuracy, reference=reference)
    settings = dict(published.settings)
    groups = (*((OF_LABEL,) if LABELS in settings else ()), *settings.pop("groups", ()))
    page = Report.of(
        published.statement,
        plan=published.plan,
        labels=published.labels,
        classes=published.classes,
        groups=groups,
        evaluation=evaluation,
        settings=settings,
        ledger=published.ledger,
        cells=_cells(folder, published),
        weights=_weights(folder, published),
        columns=_columns(folder),
        beside_kernel=_stands_beside_kernel(folder),
    )
    if to is None:
        folder.report.unlink(missing_ok=True)  # it is made anew from public files whenever it is asked for
    write_report(folder.report if to is None else to, page)
    return evaluation


def _columns(folder: RunFolder) -> str:
    """Describe the columns of a run, which are published beside its plan."""
    from mapl.data.tables.kinds import describe_kinds
    from mapl.data.tables.schema import Schema
    from mapl.pipeline.runs.published import SCHEMA

    path = folder.public / SCHEMA
    return describe_kinds(Schema.read(path)) if path.exists() else ""


def _stands_beside_kernel(folder: RunFolder) -> bool:
    """Say whether the student's file tells of a kernel beside the linear model of moments."""
    from mapl.students.file.student_file import name_learner
    from mapl.students.moments.student import BLENDED

    return folder.student.exists() and name_learner(folder.student) == BLENDED


def _cells(folder: RunFolder, published: Publication) -> Table | None:
    """Read the noisy counts of a run that counted in cells."""
    from mapl.pipeline.runs.published import CELLS

    return None if published.statement.get("cells") is None else _table(folder, CELLS)


def _weights(folder: RunFolder, published: Publication) -> Table | None:
    """Read what the student of a run by moments goes by."""
    from mapl.pipeline.methods.moments import WEIGHTS
    from mapl.release.moment_sums import MomentSums

    return _table(folder, WEIGHTS) if published.statement.get("mechanism") == MomentSums.name else None


def _table(folder: RunFolder, name: str) -> Table:
    """Read a table of the public half."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return pa.parquet.read_table(folder.public / name)
    except FileNotFoundError:
        raise InvalidParameter(
            f"{folder.path} holds no finished run: {name} is missing. Give the folder that mapl learn wrote with "
            "--out; an unfinished run goes on with the same command."
        ) from None
    except pa.ArrowInvalid:
        raise InvalidData(f"{name} in {folder.public} is damaged; restore the public half of the run.") from None


def evaluate(folder: RunFolder, test: Path, published: Publication) -> Evaluation:
    """Compare the student's predictions with the labels of public test rows."""
    from mapl.cli.learning.report_labels import evaluate_labels
    from mapl.pipeline.methods.multi_label import LABELS
    from mapl.pipeline.runs.inputs import read_test_rows
    from mapl.report import Evaluation
    from mapl.report.calibration import Calibration
    from mapl.students import load

    if LABELS in published.settings:
        return evaluate_labels(folder, test, published)
    if not published.statement["answered"]:
        raise InvalidParameter("This run released no label and so has no student to test; leave --test away.")
    student = load(folder.student)
    given = read_test_rows(test, student.schema, published.classes, label=str(published.settings["label"]))
    assert given.truth is not None
    found = Evaluation.of(given.truth, student.predict_codes(given.rows), classes=published.classes.names)
    return replace(found, calibration=Calibration.of(given.truth, student.predict_proba(given.rows)))


def evaluate_numbers(
    folder: RunFolder, test: Path, published: Publication, number_range: NumberRange
) -> NumberEvaluation:
    """Compare the student's numbers with those of public test rows."""
    from mapl.pipeline.runs.inputs import read_test_rows
    from mapl.pipeline.runs.published import NUMBER
    from mapl.report import NumberEvaluation
    from mapl.students import load

    student, label = load(folder.student), str(published.settings["label"])
    given = read_test_rows(test, student.schema, student.classes, label=label, number_range=number_range)
    assert given.truth is not None
    predicted, released = student.predict_numbers(given.rows), published.labels[NUMBER].to_numpy()
    return NumberEvaluation.of(given.truth, predicted, number_range=number_range, released=released)
