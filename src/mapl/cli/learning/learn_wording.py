"""A finished run of ``mapl learn``, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from mapl.cli.learning.measured import measured_record, measured_rows
from mapl.cli.options.columns import HOW_TO_CHANGE
from mapl.data.tables.kinds import describe_kinds
from mapl.pipeline.runs.folder import RunFolder
from mapl.release.statement.plain_words import NOT_PRIVATE, at_most
from mapl.release.statement.stated_sums import StatedSums
from mapl.release.statement.statement import Statement

if TYPE_CHECKING:
    from mapl.pipeline.learn import Learned
    from mapl.report import Evaluation, NumberEvaluation
    from mapl.students.student import Student


def table(
    learned: Learned,
    evaluation: Evaluation | NumberEvaluation | None,
    folder: Path,
    sites: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Lay a finished run out for people.

    Parameters
    ----------
    sites
        Of sites that do not pool: those that are in, and those of the plan that are not.
    """
    said, labelled = learned.labelled.statement, learned.labelled
    title = "A student that may be published" if said.private else f"{NOT_PRIVATE} ({said.noise})"
    shown = Table(title=title, title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in measured_rows(evaluation):
        shown.add_row(name, value)
    shown.add_row(
        "epsilon guaranteed",
        f"{at_most(said.guaranteed_epsilon)} at delta {said.delta:g}, of {said.budget_epsilon:g} allowed",
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
    for name, members in ({} if sites is None else sites).items():
        if members:
            shown.add_row(name, ", ".join(members))
    if learned.declared.number_range is not None:
        shown.add_row("label", f"a number, cut to {learned.declared.number_range}")
    kinds = describe_kinds(learned.declared.schema)
    shown.add_row("columns", f"{kinds}; {HOW_TO_CHANGE}" if sites is None else f"{kinds}; fixed by the plan")
    shown.add_row("why", labelled.why)
    if learned.label_accuracy is not None:
        shown.add_row("labels' accuracy", f"{learned.label_accuracy:.2%} of the released labels")
    if labelled.error_rate is not None:
        shown.add_row("teachers' error", f"{labelled.error_rate:.1%}, estimated privately")
    shown.add_row("mechanism", said.mechanism)
    shown.add_row(*_released(said, len(learned.declared.labels)))
    for name, file, student in _students(learned, folder):
        how = "" if student.strategy in student.learner else f", {student.strategy}"
        shown.add_row(name, f"{file} ({student.learner}{how})")
    shown.add_row("report", str(folder / "public" / "report.html"))
    return shown


def _students(learned: Learned, folder: Path) -> list[tuple[str, Path, Student]]:
    """Return every student with its file, and the name of its label where there are several."""
    run = RunFolder(folder)
    if not learned.declared.further:
        return [("student", run.student, one) for one in learned.students]
    each = zip(learned.declared.labels, (learned.student, *learned.further_students), strict=True)
    return [
        (f"student for {name}", run.student_of(j), one) for j, (name, one) in enumerate(each, 1) if one is not None
    ]


def _released(said: Statement, n_labels: int) -> tuple[str, str]:
    """Say what was released about the public rows; a run by moments releases sums, whose model labels them."""
    sums = StatedSums.of(asdict(said))
    if sums is not None:
        rows = "made-up rows" if sums.products else "public rows"
        return "released", f"{sums.in_words}; the linear model labels all {said.answered} {rows}"
    asked = "public rows" if n_labels == 1 else f"questions, {n_labels} for every public row"
    return "answered", f"{said.answered} of {said.queries} {asked}, {said.abstained} abstentions"


def as_record(learned: Learned, evaluation: Evaluation | NumberEvaluation | None, folder: Path) -> dict[str, Any]:
    """Return a finished run as plain values."""
    files = [str(file) for _, file, _ in _students(learned, folder)]
    several = {"labels": list(learned.declared.labels), "students": files} if learned.declared.further else {}
    first = learned.students[0] if learned.students else None
    return {
        **asdict(learned.labelled.statement),
        **measured_record(evaluation),
        "label_accuracy": learned.label_accuracy,
        "error_rate": learned.labelled.error_rate,
        "columns": describe_kinds(learned.declared.schema),
        "why": learned.labelled.why,
        "student_learner": None if first is None else first.learner,
        "strategy": None if first is None else first.strategy,
        "out": str(folder),
        "student": files[0] if files else None,
        **several,
        "report": str(folder / "public" / "report.html"),
    }
