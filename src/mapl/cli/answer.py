"""``mapl answer``: a private table and questions in, private answers out; the model stays hidden."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from mapl.cli.console import out, progress_of, warn
from mapl.cli.learn import Neighbours
from mapl.data.classes import Classes
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins, SystemCoins
from mapl.release.statement import NOT_PRIVATE, at_most, to_json
from mapl.types import Budget

if TYPE_CHECKING:
    from mapl.cli.answer_run import Told

VACUOUS = 0.5
MANY = 20
"""Questions known beforehand from which on one release for all of them is worth a thought."""


def answer(
    private: Path = typer.Argument(metavar="PRIVATE", help="The private labelled table: .csv, .parquet or .arrow."),
    label: str = typer.Option(help="The column of the labels."),
    classes: str = typer.Option(help="The two classes, separated by a comma; never read off PRIVATE."),
    questions: Path = typer.Option(help="The questions: rows with the same columns, with or without labels."),
    epsilon: float = typer.Option(help="Privacy budget of all answers together."),
    to: Path = typer.Option(
        ..., "--out", help="Folder of the run; the same command goes on with an unfinished one."
    ),
    model: str = typer.Option(
        "stumps",
        help="The rules: thresholds, stumps, intervals, unions:3, rectangles, halfspaces, conjunctions:2, "
        "decision-lists:2.",
    ),
    method: str = typer.Option(
        "auto",
        help="padded-stumps, stable, realizable, gibbs, two-stage, auto (the least bound), or semi-private: one "
        "release for all questions, which then count as public.",
    ),
    delta: float = typer.Option(0.0, help="With a delta many answers compose better; 0 is pure privacy."),
    adjacency: Neighbours = typer.Option(
        Neighbours.replace_one, help="Which tables are compared; under replace-one the number of rows is public."
    ),
    features: str | None = typer.Option(
        None, help="Columns that rules look at, separated by commas.", show_default="all"
    ),
    rows: int | None = typer.Option(
        None,
        min=1,
        max=10**12,
        help="With add-remove: about how many rows PRIVATE has, as far as the public knows.",
    ),
    realizable: bool = typer.Option(False, help="Declare that some rule of the class is never wrong."),
    alpha: float | None = typer.Option(
        None, help="The error above the best rule that is wanted; refused, with the rows it takes, if out of reach."
    ),
    seed: int | None = typer.Option(None, min=0, help="Seeded coins, for tests only: the result is NOT PRIVATE."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Answer questions about a private table, each between two classes, with a pure epsilon.

    Writes OUT/public (labels.parquet, report.html, statement.json, plan.json, settings.json, ledger.jsonl) and
    OUT/private. A question that stands twice is paid for once. Exit code 2: bad input, and nothing was spent.
    """
    from mapl.cli.answer_run import Asked, carry_out
    from mapl.pipeline.folder import RunFolder

    declared = Classes.parse(classes)
    if len(declared) != 2:
        raise InvalidParameter(
            f"There are {len(declared)} classes; single answers are between two. Merge some, or take mapl learn."
        )
    chosen = None if features is None else tuple(name.strip() for name in features.split(","))
    asked = Asked(
        private,
        questions,
        label,
        declared,
        model,
        method,
        Budget(epsilon, delta),
        adjacency.value,
        chosen,
        rows,
        realizable,
        alpha,
    )
    coins = SystemCoins() if seed is None else SeededCoins(seed)
    told = carry_out(asked, RunFolder(to), coins, progress=progress_of(quiet=as_json))
    if as_json:
        typer.echo(to_json(_as_record(told, declared, to)))
    else:
        out.print(table(told, to))
    if told.bound is not None and told.bound >= VACUOUS:
        warn(
            f"by the bounds known, answers may err {min(told.bound, 1):.0%} more often than the best rule, so "
            "nothing is promised about their quality; --alpha 0.1 tells how many rows would do."
        )
    if told.statement.answered >= MANY and told.method != "semi-private":
        warn(
            "for many questions that are public, --method semi-private pays the whole epsilon once for all of them."
        )


def table(told: Told, folder: Path) -> Table:
    """Lay a finished run out for people."""
    said = told.statement
    title = "Private answers" if said.private else f"Private answers: {NOT_PRIVATE} ({said.noise})"
    shown = Table(title=title, title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    if told.accuracy is not None:
        shown.add_row("accuracy", f"{told.accuracy:.2%} of {len(told.labels)} questions, by their own labels")
    shown.add_row(
        "epsilon guaranteed",
        f"{at_most(said.guaranteed_epsilon)} at delta {said.delta:g}, of {said.budget_epsilon:g}",
    )
    shown.add_row("adjacency", said.adjacency)
    shown.add_row("unit", said.unit)
    shown.add_row("method", f"{said.mechanism} for {said.parameters['hypotheses']}")
    if "epsilon_each" in said.parameters:
        shown.add_row("each answer", f"epsilon {at_most(said.parameters['epsilon_each'])} at delta 0, same terms")
    if told.bound is not None:
        shown.add_row("error", f"at most {min(told.bound, 1):.2g} above the best rule, by the bound")
    shown.add_row("answered", f"{len(told.labels)} questions, {said.answered} different ones")
    shown.add_row("answers", str(folder / "public" / "labels.parquet"))
    shown.add_row("report", str(folder / "public" / "report.html"))
    return shown


def _as_record(told: Told, classes: Classes, folder: Path) -> dict[str, Any]:
    return {
        **asdict(told.statement),
        "method": told.method,
        "bound": told.bound,
        "accuracy": told.accuracy,
        "answers": [classes.names[code] for code in told.labels.tolist()],
        "out": str(folder),
        "report": str(folder / "public" / "report.html"),
    }
