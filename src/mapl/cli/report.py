"""``mapl report``: a finished run as one page that a privacy officer can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mapl.cli.console import out
from mapl.release.statement import to_json

if TYPE_CHECKING:
    from mapl.pipeline.folder import RunFolder
    from mapl.pipeline.published import Publication
    from mapl.report import Evaluation


def report(
    run: Path = typer.Argument(metavar="RUN", help="The folder of a finished run."),
    test: Path | None = typer.Option(None, help="Public labelled rows, to tell the student's accuracy."),
    to: Path | None = typer.Option(None, "--out", help="The page.  [default: RUN/public/report.html]"),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object with what the page says in short."),
) -> None:
    """Write the report of a run anew, for example with another test set. Reads RUN/public only; free."""
    from mapl.pipeline.folder import RunFolder
    from mapl.pipeline.published import Publication

    folder = RunFolder(run)
    page = folder.report if to is None else to
    evaluation = write_report_of(folder, test=test, to=page)
    if as_json:
        statement = Publication.read(folder).statement
        accuracy = None if evaluation is None else evaluation.accuracy
        typer.echo(to_json({**statement, "accuracy": accuracy, "report": str(page)}))
    else:
        out.print(f"The report is in {page}.", soft_wrap=True)


def write_report_of(
    folder: RunFolder, *, test: Path | None = None, to: Path | None = None, reference: float | None = None
) -> Evaluation | None:
    """Write the report of the run in a folder; return the student's accuracy on the test rows, if there are any.

    Parameters
    ----------
    reference
        The accuracy of a model without privacy. Only for made-up or public data: it is not covered by the budget.
    """
    from mapl.pipeline.published import Publication
    from mapl.report import Report, write_report

    published = Publication.read(folder)
    evaluation = None if test is None else evaluate(folder, test, published, reference)
    settings = dict(published.settings)
    groups = tuple(settings.pop("groups", ()))
    page = Report.of(
        published.statement,
        plan=published.plan,
        labels=published.labels,
        classes=published.classes,
        groups=groups,
        evaluation=evaluation,
        settings=settings,
        ledger=published.ledger,
    )
    target = folder.report if to is None else to
    target.unlink(missing_ok=True)  # a report is made anew from public files whenever it is asked for
    write_report(target, page)
    return evaluation


def evaluate(folder: RunFolder, test: Path, published: Publication, reference: float | None) -> Evaluation:
    """Compare the student's predictions with the labels of public test rows."""
    from mapl.cli.predict import read_rows
    from mapl.report import Evaluation
    from mapl.students import load

    student = load(folder.student)
    rows, truth = read_rows(test, student, str(published.settings["label"]), need_labels=True)
    assert truth is not None
    return Evaluation.of(truth, student.predict_codes(rows), classes=published.classes.names, reference=reference)
