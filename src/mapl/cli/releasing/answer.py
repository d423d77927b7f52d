"""``mapl answer``: a private table and questions in, private answers out; the model stays hidden."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from mapl.cli.console import out, progress_of, warn
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.budget import Epsilon, Neighbours, check_delta
from mapl.cli.options.labels import LabelValuesText, label_values_of, tell_owner
from mapl.cli.options.running import AsJson, RunOut, Seed
from mapl.cli.options.tables import Label, PrivateTable
from mapl.data.tables.classes import Classes
from mapl.data.tables.label_values import declare_values
from mapl.data.units.id_columns import NO_UNIT
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins, SystemCoins
from mapl.release.statement.plain_words import NOT_PRIVATE, at_most
from mapl.release.statement.statement import to_json
from mapl.types import Budget

if TYPE_CHECKING:
    from mapl.cli.releasing.answer_run import ToldAnswers

MANY = 20
"""Questions known beforehand from which on one release for all of them is worth a thought."""


def answer(
    *,
    private: PrivateTable,
    label: Label,
    classes: Annotated[
        str, option(panels.TABLES, "The two classes, separated by a comma; never read off PRIVATE.")
    ],
    label_values: LabelValuesText = None,
    questions: Annotated[
        Path, option(panels.TABLES, "The questions: rows with the same columns, with or without labels.")
    ],
    features: Annotated[
        str | None, option(panels.TABLES, "Columns that rules look at, separated by commas.", show_default="all")
    ] = None,
    rows: Annotated[
        int | None,
        option(
            panels.TABLES,
            "With add-remove: about how many rows PRIVATE has, as far as the public knows.",
            min=1,
            max=10**12,
        ),
    ] = None,
    epsilon: Epsilon,
    delta: Annotated[
        float, option(panels.BUDGET, "With a delta many answers compose better; 0 is pure privacy.")
    ] = 0.0,
    adjacency: Annotated[
        Neighbours,
        option(panels.BUDGET, "Which tables are compared; under replace-one the number of rows is public."),
    ] = Neighbours.replace_one,
    unit: Annotated[
        str | None,
        option(
            panels.BUDGET,
            "Only none: every record stands for itself. Asked for where columns of the questions look like ids.",
        ),
    ] = None,
    method: Annotated[
        str,
        option(
            panels.METHOD,
            "padded-stumps, stable, realizable, gibbs, two-stage, auto (the least bound), or semi-private: "
            "one release for all questions, which then count as public.",
        ),
    ] = "auto",
    model: Annotated[
        str,
        option(
            panels.METHOD,
            "The rules: thresholds, stumps, intervals, unions:3, rectangles, halfspaces, conjunctions:2, "
            "decision-lists:2.",
        ),
    ] = "stumps",
    realizable: Annotated[
        bool, option(panels.METHOD, "Declare that some rule of the class is never wrong.")
    ] = False,
    alpha: Annotated[
        float | None,
        option(
            panels.METHOD,
            "The error above the best rule that is wanted; refused, with the rows it takes, if out of reach.",
        ),
    ] = None,
    to: RunOut,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Answer questions about a private table, each between two classes, with a pure epsilon.

    Writes OUT/public (labels.parquet, report.html, statement.json, plan.json, settings.json, ledger.jsonl) and
    OUT/private. A question that stands twice is paid for once. Exit code 2: bad input, and nothing was spent.
    """
    from mapl.cli.releasing.answer_run import AnswerQuestions, carry_out
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.prediction.prices.auto import VACUOUS

    check_delta(delta)
    declared = declare_values(Classes.parse(classes), label_values_of(label_values))
    if len(declared) != 2:
        raise InvalidParameter(
            f"There are {len(declared)} classes; single answers are between two. Merge some, or take mapl learn."
        )
    if unit not in (None, NO_UNIT):
        raise InvalidParameter(
            f"--unit is {unit!r}, and single answers protect single records. Take mapl learn, which protects all "
            f"records of a unit together; or leave one record of each in PRIVATE, and say --unit {NO_UNIT}."
        )
    chosen = None if features is None else tuple(name.strip() for name in features.split(","))
    asked = AnswerQuestions(
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
        no_unit=unit == NO_UNIT,
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
    tell_owner(to)


def table(told: ToldAnswers, folder: Path) -> Table:
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
        f"{at_most(said.guaranteed_epsilon)} at delta {said.delta:g}, of {said.budget_epsilon:g} allowed",
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


def _as_record(told: ToldAnswers, classes: Classes, folder: Path) -> dict[str, Any]:
    return {
        **asdict(told.statement),
        "method": told.method,
        "bound": told.bound,
        "accuracy": told.accuracy,
        "answers": [classes.names[code] for code in told.labels.tolist()],
        "out": str(folder),
        "report": str(folder / "public" / "report.html"),
    }
