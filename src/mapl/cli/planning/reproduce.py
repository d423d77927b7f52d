"""``mapl reproduce``: the papers' claims carried out, with numbers and verdicts; nothing private is read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Column, Table

from mapl.cli.console import out, progress_of
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.errors import InvalidParameter
from mapl.release.statement.statement import to_json

if TYPE_CHECKING:
    from mapl.reproduce.carry_out import Reproduced


class Which(StrEnum):
    """What can be reproduced."""

    btt18 = "btt18"
    lzcw21 = "lzcw21"
    df20 = "df20"
    pate = "pate"
    all = "all"


def reproduce(
    paper: Which = typer.Argument(help="The paper, or all of them."),
    quick: bool = option(panels.RUNNING, "Small sizes: all papers together in a few minutes.", False, "--quick"),
    to: Path = option(
        panels.RUNNING, "Folder for the pages; each paper gets an .html and a .json.", Path("reproduced"), "--out"
    ),
    votes: Path | None = option(
        panels.TABLES,
        "Folder of the votes of published PATE teachers: DATA_250_teachers.npy and DATA_labels.npy for DATA "
        "mnist and adult.",
        None,
    ),
    data: Path | None = option(panels.TABLES, "Folder with adult.parquet, which counts as public here.", None),
    claim: str | None = option(
        panels.RUNNING, "Carry out this claim alone and print its figures; no page is written.", None
    ),
    as_json: bool = option(panels.RUNNING, "Print one JSON object instead of tables.", False, "--json"),
) -> None:
    """Carry out every checkable claim of a paper: the claim, the command, the numbers, a picture and a verdict.

    No private row is read: worlds are made up, coins are seeded, and the same command writes the same bytes. Claims
    about real data are skipped, with the reason, where the data are not given. Exit code 2: bad input.
    """
    from mapl.reproduce.carry_out import as_values, reproduce_claim
    from mapl.reproduce.carry_out import reproduce as carry_out
    from mapl.reproduce.effort import ReproductionEffort
    from mapl.reproduce.page import refuse_taken, write_pages
    from mapl.reproduce.papers import PAPERS, claims_of

    for folder in (votes, data):
        if folder is not None and not folder.is_dir():
            raise InvalidParameter(f"{folder} is no folder; give the folder in which the files lie.")
    effort = ReproductionEffort(quick, votes, data)
    if claim is not None:
        if paper is Which.all:
            raise InvalidParameter("A claim belongs to one paper; name that instead of all.")
        one = reproduce_claim(paper.value, claim, effort)
        if as_json:
            typer.echo(to_json({"out": None, "papers": [as_values(paper.value, effort, [one])]}))
        else:
            show_figures(one)
        return
    asked = list(PAPERS) if paper is Which.all else [paper.value]
    refuse_taken(to, asked)
    values = []
    for name in asked:
        number = sum(map(len, claims_of(name).values()))
        with progress_of(quiet=as_json)(f"Claims of {name}", number) as on_progress:
            found = carry_out(name, effort, on_progress)
        write_pages(to, name, effort, found)
        values.append(as_values(name, effort, found))
        if not as_json:
            show(name, found)
            out.print(f"The page is {to / name}.html, with {name}.json beside it.", soft_wrap=True)
    if as_json:
        typer.echo(to_json({"out": str(to), "papers": values}))


def show(paper: str, found: list[Reproduced]) -> None:
    """Print the verdicts, for people."""
    table = Table("where", Column("claim", no_wrap=True), Column("verdict", no_wrap=True), title=paper)
    for one in found:
        table.add_row(one.claim.place, one.claim.name, one.ruling.value)
    out.print(table)
    for reason in dict.fromkeys(one.absent for one in found if one.absent):
        out.print(f"Skipped: {reason}", soft_wrap=True)


def show_figures(one: Reproduced) -> None:
    """Print a claim with its figures and verdict, for people."""
    from mapl.reproduce.page import write_figure

    out.print(f"{one.claim.place}: {one.claim.says}", soft_wrap=True)
    if one.absent:
        out.print(f"Skipped: {one.absent}", soft_wrap=True)
        return
    table = Table("figure", Column("value", justify="right", no_wrap=True))
    for name, value in one.measurement.figures.items():
        table.add_row(name, write_figure(value))
    out.print(table)
    out.print(f"Verdict: {one.ruling.value} ({one.claim.criterion}).", soft_wrap=True)
