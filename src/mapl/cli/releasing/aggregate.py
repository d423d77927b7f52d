"""``mapl aggregate``: a file of votes in, a file of labels and a privacy statement out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from mapl.cli.console import EXHAUSTED, out, progress, tell
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.budget import Delta, Epsilon, check_delta
from mapl.cli.options.running import AsJson, Seed
from mapl.cli.options.votes import AgreementText, MaxAbstentions, MayAbstain, Mechanism
from mapl.data.tables.classes import Classes
from mapl.mechanisms import Task, entry
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.planning import Agreement, Choice, choose
from mapl.release import ReleaseFolder, Statement, Votes, admit, read_truth, read_votes, statement_of
from mapl.release import aggregate as release
from mapl.release.files.labels import label_accuracy
from mapl.release.loop import refuse_senseless
from mapl.release.statement.plain_words import NOT_PRIVATE, at_most
from mapl.release.statement.statement import to_json
from mapl.types import Budget, Labels, Tallies, positive_integer

SETTINGS = "Settings of mechanisms"


class TeachersIn(StrEnum):
    """Where a file of single votes has its teachers."""

    columns = "columns"
    rows = "rows"


@dataclass(frozen=True, slots=True)
class AggregateRequest:
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
class AggregatePlan:
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
    *,
    votes: Annotated[
        Path,
        typer.Argument(metavar="VOTES", help="Vote counts (questions x classes) as .npy, .csv or .parquet."),
    ],
    classes: Annotated[
        str | None, option(panels.TABLES, "Names of the classes in order, separated by commas.")
    ] = None,
    queries: Annotated[
        int | None, option(panels.TABLES, "Ask the first N questions only; the budget is planned for N.")
    ] = None,
    per_teacher: Annotated[
        bool, option(panels.TABLES, "VOTES holds one vote per question and teacher, not counts.")
    ] = False,
    teachers_in: Annotated[
        TeachersIn, option(panels.TABLES, "Where --per-teacher votes have the teachers.")
    ] = TeachersIn.columns,
    truth: Annotated[
        Path | None, option(panels.TABLES, "Known labels, one per question, to print the accuracy.")
    ] = None,
    epsilon: Epsilon,
    delta: Delta,
    mechanism: Mechanism = "auto",
    may_abstain: MayAbstain = True,
    max_abstentions: MaxAbstentions = None,
    agreement: AgreementText = None,
    sigma: Annotated[float | None, option(SETTINGS, "Standard deviation of the noise on every count.")] = None,
    sigma_test: Annotated[
        float | None, option(SETTINGS, "Standard deviation of the noise on a consensus test.")
    ] = None,
    threshold: Annotated[float | None, option(SETTINGS, "Votes that a consensus test asks for.")] = None,
    max_answers: Annotated[int | None, option(SETTINGS, "Halt after this many answers.")] = None,
    order: Annotated[float | None, option(SETTINGS, "Renyi order that a mechanism is designed for.")] = None,
    share: Annotated[float | None, option(SETTINGS, "Share of the budget for a mechanism's first stage.")] = None,
    epsilon_each: Annotated[
        float | None, option(SETTINGS, "Epsilon of every single answer of a single prediction.")
    ] = None,
    to: Annotated[
        Path | None, option(panels.RUNNING, "Folder for the result.", "--out", show_default="./<votes>.mapl")
    ] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Release labels from teachers' votes within a privacy budget.

    Writes labels.parquet and statement.json. Exit code 2: bad input, nothing was written or spent. Exit code 3:
    the budget ran out before the last question; the partial result is kept.
    """
    request = AggregateRequest(
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
        not may_abstain,
    )
    declared = None if classes is None else Classes.parse(classes)
    check_delta(delta)
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


def plan(request: AggregateRequest, tallies: Tallies) -> AggregatePlan:
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
    return AggregatePlan(task, choice)


def carry_out(
    plan: AggregatePlan, votes: Votes, truth: Labels | None, folder: ReleaseFolder, coins: Coins
) -> Result:
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
        f"{at_most(said.guaranteed_epsilon)} at delta {said.delta:g}, of {said.budget_epsilon:g} allowed",
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
