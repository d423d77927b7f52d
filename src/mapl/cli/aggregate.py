"""``mapl aggregate``: a file of votes in, a file of labels and a privacy statement out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from mapl.cli.console import EXHAUSTED, out, progress, tell
from mapl.data.classes import Classes
from mapl.mechanisms import Task, entry
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.planning import Agreement, Choice, choose
from mapl.release import ReleaseFolder, Statement, Votes, admit, read_truth, read_votes, statement_of
from mapl.release import aggregate as release
from mapl.release.labels_file import label_accuracy
from mapl.release.loop import refuse_senseless
from mapl.release.statement import NOT_PRIVATE, at_most, to_json
from mapl.types import Budget, Labels, Tallies, positive_integer

LARGE_DELTA = 1e-3


class TeachersIn(StrEnum):
    """Where a file of single votes has its teachers."""

    columns = "columns"
    rows = "rows"


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks of a file of votes."""

    budget: Budget
    mechanism: str = "auto"
    queries: int | None = None
    settings: dict[str, Any] | None = None
    agreement: Agreement | None = None
    must_answer: bool = False

    def __post_init__(self) -> None:
        refuse_senseless(self.mechanism, self.budget)
        if self.mechanism != "auto":
            entry(self.mechanism)
        if self.queries is not None:
            positive_integer(queries=self.queries)

    def settings_given(self) -> dict[str, Any]:
        """Return the settings that the user fixed, by the names that mechanisms know them by.

        Where every question is answered, noise and number of questions together fix the cost, so both are handed
        over to be priced; noise alone leaves the number of answers to what the budget affords.
        """
        given = {name: value for name, value in (self.settings or {}).items() if value is not None}
        known = () if self.mechanism == "auto" else entry(self.mechanism).settings
        priced = "max_answers" in known and "sigma_test" not in known
        if priced and "sigma" in given and self.queries is not None:
            given.setdefault("max_answers", self.queries)
        return given


@dataclass(frozen=True, slots=True)
class Plan:
    """A calibrated mechanism that may run, and the public facts it was calibrated for."""

    task: Task
    choice: Choice


@dataclass(frozen=True, slots=True)
class Result:
    """A finished release, as it is printed."""

    statement: Statement
    folder: Path
    why: str
    label_accuracy: float | None

    @property
    def answered_share(self) -> float:
        return self.statement.answered / self.statement.queries

    def to_json(self) -> str:
        return to_json(
            {
                **asdict(self.statement),
                "label_accuracy": self.label_accuracy,
                "answered_share": self.answered_share,
                "out": str(self.folder),
                "why": self.why,
            }
        )


def aggregate(
    votes: Path = typer.Argument(
        metavar="VOTES", help="Vote counts (questions x classes) as .npy, .csv or .parquet."
    ),
    epsilon: float = typer.Option(help="Privacy budget, usually between 0.1 and 10."),
    delta: float = typer.Option(help="Failure probability, well below one over the number of people."),
    mechanism: str = typer.Option(
        "auto", help="A name of `mapl mechanisms`, or auto, which never reads the votes."
    ),
    queries: int | None = typer.Option(None, help="Ask the first N questions only; the budget is planned for N."),
    max_abstentions: int | None = typer.Option(None, help="Halt right after this many abstentions."),
    sigma: float | None = typer.Option(None, help="Standard deviation of the noise on every count."),
    sigma_test: float | None = typer.Option(None, help="Standard deviation of the noise on a consensus test."),
    threshold: float | None = typer.Option(None, help="Votes that a consensus test asks for."),
    max_answers: int | None = typer.Option(None, help="Halt after this many answers."),
    order: float | None = typer.Option(None, help="Renyi order that a mechanism is designed for."),
    share: float | None = typer.Option(None, help="Share of the budget for a mechanism's first stage."),
    epsilon_each: float | None = typer.Option(None, help="Epsilon of every single answer of a single prediction."),
    agreement: str | None = typer.Option(
        None, help="Expected share of the winner's votes, such as 0.95:0.6,0.7:0.4 (share:weight)."
    ),
    must_answer: bool = typer.Option(False, help="Let auto take only mechanisms that answer every question."),
    truth: Path | None = typer.Option(None, help="Known labels, one per question, to print the accuracy."),
    per_teacher: bool = typer.Option(False, help="VOTES holds one vote per question and teacher, not counts."),
    teachers_in: TeachersIn = typer.Option(TeachersIn.columns, help="Where --per-teacher votes have the teachers."),
    classes: str | None = typer.Option(None, help="Names of the classes in order, separated by commas."),
    to: Path | None = typer.Option(None, "--out", help="Folder for the result.", show_default="./<votes>.mapl"),
    seed: int | None = typer.Option(None, min=0, help="Seeded coins, for tests only: the result is NOT PRIVATE."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Release labels from teachers' votes within a privacy budget.

    Writes labels.parquet and statement.json. Exit code 2: bad input, nothing was written or spent. Exit code 3:
    the budget ran out before the last question; the partial result is kept.
    """
    request = Request(
        Budget(epsilon, delta),
        mechanism,
        queries,
        {
            "max_abstentions": max_abstentions,
            "sigma": sigma,
            "sigma_test": sigma_test,
            "threshold": threshold,
            "max_answers": max_answers,
            "order": order,
            "share": share,
            "epsilon_each": epsilon_each,
        },
        None if agreement is None else Agreement.parse(agreement),
        must_answer,
    )
    declared = None if classes is None else Classes.parse(classes)
    if delta >= LARGE_DELTA:
        tell(
            f"mapl: warning: delta {delta:g} lets about one unit in {1 / delta:.0f} go unprotected; 1e-5 is usual."
        )
    folder = ReleaseFolder(to if to is not None else Path(f"{votes.stem}.mapl"))
    folder.refuse_if_used()
    read = read_votes(votes, classes=declared, per_teacher=per_teacher, teachers_in=teachers_in.value)
    known = None if truth is None else read_truth(truth, read.classes, len(read.tallies))
    coins = SystemCoins() if seed is None else SeededCoins(seed)
    result = carry_out(plan(request, read.tallies), read, known, folder, coins)
    if as_json:
        typer.echo(result.to_json())
    else:
        out.print(table(result))
    if result.statement.halted:
        tell(
            f"mapl: {result.statement.mechanism} reached its limit; {result.statement.not_asked} questions were "
            "not asked. The result so far is kept."
        )
        raise typer.Exit(EXHAUSTED)


def plan(request: Request, tallies: Tallies) -> Plan:
    """Choose a mechanism from public facts and admit it against the budget; nothing is spent or written yet."""
    n_queries = len(tallies) if request.queries is None else request.queries
    task = Task(request.budget, tallies.n_teachers, tallies.n_classes, n_queries)
    choice = choose(
        request.mechanism,
        task,
        agreement=request.agreement or Agreement.default(),
        must_answer=request.must_answer,
        settings=request.settings_given(),
    )
    warning = admit(choice.mechanism, task)
    if warning is not None:
        tell(f"mapl: warning: {warning}")
    return Plan(task, choice)


def carry_out(plan: Plan, votes: Votes, truth: Labels | None, folder: ReleaseFolder, coins: Coins) -> Result:
    """Release, and write the statement before the labels."""
    mechanism = plan.choice.mechanism
    asked = votes.tallies.first(plan.task.n_queries)
    with progress("Releasing", len(asked)) as on_progress:
        released = release(asked, mechanism, coins, on_progress=on_progress)
    statement = statement_of(mechanism, plan.task, released, coins)
    folder.write(statement, released, votes.classes)
    return Result(statement, folder.path, plan.choice.why, label_accuracy(released, truth))


def table(result: Result) -> Table:
    """Lay a result out for people."""
    said = result.statement
    title = "Released labels" if said.private else f"Released labels: {NOT_PRIVATE} ({said.noise})"
    shown = Table(title=title, title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_row("mechanism", said.mechanism)
    shown.add_row("chosen because", result.why)
    shown.add_row("parameters", ", ".join(f"{k} {_short(v)}" for k, v in said.parameters.items()))
    shown.add_row(
        "epsilon guaranteed",
        f"{at_most(said.guaranteed_epsilon)} at delta {said.delta:g}, of {said.budget_epsilon:g}",
    )
    shown.add_row(
        "epsilon spent",
        f"{at_most(said.epsilon)} at the same delta: the price of what was published, not a promise",
    )
    shown.add_row("adjacency", said.adjacency)
    shown.add_row("unit", said.unit)
    shown.add_row("answered", f"{said.answered} of {said.queries} ({result.answered_share:.1%})")
    shown.add_row("abstained", str(said.abstained))
    shown.add_row("not asked", f"{said.not_asked}{' (halted early)' if said.halted else ''}")
    if result.label_accuracy is not None:
        shown.add_row("label accuracy", f"{result.label_accuracy:.2%} of the answered, by your truth file")
    if said.required_distance_99 is not None:
        shown.add_row(
            "99% answered",
            _reach(said.required_distance_99, said.teachers),
        )
    shown.add_row("labels", str(result.folder / "labels.parquet"))
    shown.add_row("statement", str(result.folder / "statement.json"))
    return shown


def _reach(needed: int, teachers: int) -> str:
    if needed > teachers // 2:
        return (
            f"never: a winner would have to survive {needed} changed votes; one elected by all {teachers} teachers "
            f"survives {teachers // 2}"
        )
    return f"when the winner survives {needed} changed votes ({teachers // 2} if all {teachers} teachers agree)"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
