"""``mapl plan``: what a budget can buy, before a private row is read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer
from rich.table import Table

from mapl.cli.console import out, progress_of, warn
from mapl.cli.earlier_option import earlier_runs
from mapl.cli.public_sample import measured_on, public_votes, refuse_private_half, refuse_several
from mapl.errors import InvalidData, InvalidParameter
from mapl.planning import Agreement
from mapl.planning.answer import RECORD, Answer, answered, not_above
from mapl.planning.earlier_runs import EarlierRuns
from mapl.planning.learning_curve import LearningCurve
from mapl.planning.proposal import Proposal
from mapl.planning.question import MOST_CLASSES, Question, Wish
from mapl.release.promise import promise_of
from mapl.release.statement import at_most, to_json

LARGE_DELTA = 1e-3
MOST_SHOWN = 8
BY_RULE = "~"
"""Marks the student's accuracy of a plan that could not be rehearsed beside others that were."""


class Compared(StrEnum):
    """Which tables are compared."""

    add_remove = "add-remove"
    replace_one = "replace-one"
    labels = "labels"


def plan(
    delta: float = typer.Option(help="Failure probability, well below one over the number of people."),
    epsilon: float | None = typer.Option(None, help="Privacy budget; left out, it is solved for."),
    rows: int | None = typer.Option(None, help="About how many people the private table has; may be solved for."),
    queries: int | None = typer.Option(None, help="How many public rows are to be labelled; may be solved for."),
    n_classes: int | None = typer.Option(None, help="Number of classes.", show_default="2, or those of the sample"),
    learning_curve: Path | None = typer.Option(
        None, help='The learner\'s error by rows: JSON {"100": 0.2}, or CSV rows,error.'
    ),
    error_at: str | None = typer.Option(None, help="The same in short, such as 100:0.20,1000:0.16."),
    public_sample: Path | None = typer.Option(
        None, help="PUBLIC labelled rows, on which small teachers are trained to measure it."
    ),
    label: str | None = typer.Option(None, help="The column of the labels of --public-sample."),
    learner: str | None = typer.Option(
        None, help="The learner to measure: a preset or module:name.", show_default="ridge"
    ),
    agreement: str | None = typer.Option(
        None, help="Instead of a curve: the winner's share of the votes, such as 0.95:0.6,0.7:0.4."
    ),
    votes: Path | None = typer.Option(
        None, help="Instead of a curve: vote counts on PUBLIC questions, as `mapl aggregate` reads them."
    ),
    must_answer: bool = typer.Option(False, help="Only plans that answer every question that is asked."),
    teachers: int | None = typer.Option(None, help="Fix the number of teachers."),
    max_abstentions: int | None = typer.Option(None, help="Fix the limit on abstentions."),
    want_answered: float | None = typer.Option(
        None, help="Wish: this share (or number) of the questions, losing a point of accuracy to noise at most."
    ),
    want_accuracy: float | None = typer.Option(None, help="Wish: this accuracy of the student."),
    adjacency: Compared | None = typer.Option(
        None, help="Which tables are compared.", show_default="add-remove, or that of the earlier runs"
    ),
    unit: str | None = typer.Option(None, help="The column that says whose a row is, such as patient_id."),
    going_on: list[Path] = typer.Option(
        [], "--continue", help="Folder of an earlier run on the same people; its promise counts. Repeatable."
    ),
    to: Path | None = typer.Option(None, "--out", help="HTML page to write, with pictures."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Say what can be had for a budget, and which number of teachers and mechanism to take. Reads nothing private.

    Leave out one of --epsilon, --rows and --queries and give a wish (--want-answered or --want-accuracy) to solve
    for it; with all of them given, a wish solves for the number of teachers, or with --teachers for the limit on
    abstentions. Exit code 2: bad input, a wish that cannot be met, or nothing left of the budget.
    """
    if to is not None:
        refuse_taken(to)
    if LARGE_DELTA <= delta < 1:
        warn(f"delta {delta:g} lets about one unit in {1 / delta:.0f} go unprotected; 1e-5 is usual.")
    earlier = earlier_runs(going_on)
    compared = _adjacency(adjacency, earlier)
    if earlier is not None:
        earlier.refuse_other(adjacency=compared, unit=unit)
        epsilon, delta = _rest(epsilon, delta, earlier)
    refuse_several(public_sample=public_sample, votes=votes, agreement=agreement, curve=learning_curve or error_at)
    sample = measured_on(public_sample, label=label, learner=learner, n_classes=n_classes, quiet=as_json)
    measured, counted = None if sample is None else sample.measured, public_votes(votes)
    known = measured or counted
    classes = n_classes if n_classes is not None else 2 if known is None else known.n_classes
    question = Question(
        delta=delta,
        epsilon=epsilon,
        rows=rows,
        queries=queries,
        n_classes=classes,
        teachers=teachers,
        max_abstentions=max_abstentions,
        curve=_curve(learning_curve, error_at, classes),
        measured=measured,
        agreement=None if agreement is None else Agreement.parse(agreement),
        public_votes=counted,
        must_answer=must_answer,
        adjacency=compared,
        unit=unit or (RECORD if earlier is None else earlier.unit),
    )
    wish = _wish(want_answered, want_accuracy, question)
    promise = promise_of(question.adjacency, None if question.unit == RECORD else question.unit)  # type: ignore[arg-type]
    found = answered(question, wish, adjacency=promise.adjacency, unit=promise.unit, earlier=earlier)
    if sample is not None:
        from mapl.pipeline.rehearsed_plans import rehearsed_plans

        found = rehearsed_plans(found, sample, progress=progress_of(quiet=as_json))
    if to is not None:
        from mapl.report.plan_page import write_page

        write_page(to, found)
    if as_json:
        typer.echo(to_json({**found.to_dict(), "out": None if to is None else str(to)}))
        return
    show(found)
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


def _adjacency(given: Compared | None, earlier: EarlierRuns | None) -> str:
    if given is not None:
        return given.value
    return Compared.add_remove.value if earlier is None else earlier.adjacency


def _rest(epsilon: float | None, delta: float, earlier: EarlierRuns) -> tuple[float | None, float]:
    """Take what earlier runs have promised off the budget; where epsilon is solved for, off delta alone."""
    rest = earlier.rest(epsilon=earlier.epsilon + 1.0 if epsilon is None else epsilon, delta=delta)
    return None if epsilon is None else rest.epsilon, rest.delta


def _curve(path: Path | None, text: str | None, n_classes: int) -> LearningCurve | None:
    if path is not None and text is not None:
        raise InvalidParameter("Give --learning-curve or --error-at, not both.")
    if not 2 <= n_classes <= MOST_CLASSES:
        raise InvalidParameter(f"--n-classes is {n_classes}; plans are made for 2 to {MOST_CLASSES} classes.")
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


def show(found: Answer) -> None:
    """Print an answer for people."""
    question, solution = found.question, found.solution
    assert question.epsilon is not None
    if found.earlier is not None:
        out.print(f"Earlier runs: {found.earlier.described()}. {_going_on(found, found.earlier)}", soft_wrap=True)
    if solution is not None:
        out.print(f"{solved_in_words(found)}", soft_wrap=True)
    out.print(_table(found))
    out.print(
        f"Budget: epsilon {at_most(question.epsilon)} ({found.terms}). Figures are expectations; nothing private "
        "was read.",
        soft_wrap=True,
    )
    if not all(one.calibrated for one in found.proposals):
        out.print("* settings to within about a percent; a run settles them.", soft_wrap=True)
    told = _about_students(found)
    if told is not None:
        out.print(told, soft_wrap=True)
    out.print("Assumed of the first: " + " ".join(found.best.assumes), soft_wrap=True)
    if found.cells is not None:
        out.print(
            f"The other way, cells: {found.cells.n_cells} of them at epsilon {found.cells.epsilon:.6g}, pure "
            f"(delta 0; adjacency: {found.adjacency}; unit: {found.unit}), {found.cells.why}. "
            f"{' '.join(found.cells.assumes)}",
            soft_wrap=True,
        )
    out.print(f"To carry the first out: {found.command(found.best)}", soft_wrap=True)
    caution = found.caution(found.best)
    if caution is not None:
        out.print(caution, soft_wrap=True)


def _about_students(found: Answer) -> str | None:
    """Say where the students' accuracies come from: a rehearsal, or a rule that may be too hopeful."""
    shown = found.proposals[:MOST_SHOWN]
    kinds = {one.student_forecast for one in shown} - {None}
    if not kinds:
        return None
    hope = "It is a hope where labels are few or noisy: in our benchmark it was up to 16 points too high."
    if kinds == {"rule"}:
        why = (
            ""
            if found.question.measured is None
            else " The public sample has too few rows to rehearse them: it takes twice as many as are asked."
        )
        return f"Students: by rule, from the learning curve.{why} {hope}"
    if kinds == {"rehearsed"}:
        words = "Students: rehearsed, by playing these plans through on the public sample."
    else:
        words = f"Students: rehearsed on the public sample, but for those with {BY_RULE}, which are by rule. {hope}"
    solution, best = found.solution, found.best
    wished = None if solution is None else solution.wish.accuracy
    if wished is not None and best.rehearsed and (best.student_accuracy or 0.0) < wished:
        words += (
            f" The wish was solved for by the rule; rehearsed, the first plan reaches {best.student_accuracy:.1%}, "
            f"not the {wished:.1%} wished for: wish for as much more."
        )
    return words


def _going_on(found: Answer, earlier: EarlierRuns) -> str:
    """Say what is left for the new run, or where its epsilon was solved for, what all of them need."""
    question, solution = found.question, found.solution
    assert question.epsilon is not None
    if solution is None or solution.unknown != "epsilon":
        return f"For one more run epsilon {not_above(question.epsilon, 6)} is left ({found.terms})."
    total = earlier.together_with(question.budget)
    return (
        f"With the new run a total of epsilon {at_most(total.epsilon, 6)} has to be allowed (delta "
        f"{at_most(total.delta, 6)}; adjacency: {found.adjacency}; unit: {found.unit})."
    )


def solved_in_words(found: Answer) -> str:
    """Say the quantity that was solved for."""
    solution = found.solution
    assert solution is not None
    name = {
        "epsilon": f"epsilon {solution.value:g} ({found.terms})",
        "rows": f"{solution.value:,.0f} rows",
        "queries": f"{solution.value:,.0f} questions",
        "teachers": f"{solution.value:,.0f} teachers",
        "max_abstentions": f"a limit of {solution.value:,.0f} abstentions",
    }[solution.unknown]
    bound = "at most" if solution.is_most else "at least"
    return f"For {solution.wish} it takes {bound} {name}, to within a few percent."


def _table(found: Answer) -> Table:
    question = found.question
    shown = Table(
        title=f"Plans for {question.queries:,} question{'' if question.queries == 1 else 's'} of "
        f"{question.n_classes} classes",
        title_justify="left",
    )
    shown.add_column("mechanism", no_wrap=True)
    for heading in ("teachers", "asked", "abstains\nat most", "answered", "labels\nright", "student\nright"):
        shown.add_column(heading, justify="right")
    for one in found.proposals[:MOST_SHOWN]:
        shown.add_row(
            one.mechanism + ("" if one.calibrated else " *"),
            f"{one.n_teachers:,}",
            f"{one.asked:,}",
            "–" if one.max_abstentions is None else f"{one.max_abstentions:,}",
            f"{one.answered:,.0f}",
            f"{one.label_accuracy:.1%}",
            _student(one, mixed=any(other.rehearsed for other in found.proposals)),
        )
    return shown


def _student(plan: Proposal, *, mixed: bool) -> str:
    if plan.student_accuracy is None:
        return "–"
    return f"{plan.student_accuracy:.1%}" + (f" {BY_RULE}" if mixed and not plan.rehearsed else "")
