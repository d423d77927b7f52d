"""``mapl schema``: draft from public rows what the columns are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table

from mapl.cli.console import out, tell, warn
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.columns import Categories, Dropped, choices_of
from mapl.cli.options.standard_input import InputFormat, StandardInput
from mapl.data import Classes, Column, Schema, classes_of, draft_schema, names, read_table
from mapl.data.drafts.draft_notices import notices_of
from mapl.data.tables.kinds import describe_kinds
from mapl.data.units.id_columns import NO_UNIT, id_warning
from mapl.errors import InvalidParameter
from mapl.misspelled_names import suggest_names


def schema(
    public: Path = typer.Argument(help="A file of public rows: .csv, .jsonl, .parquet, .arrow or .feather."),
    form: InputFormat = None,
    label: list[str] = option(panels.TABLES, "Column of the labels; PUBLIC need not have it. Repeatable.", []),
    classes: str | None = option(panels.TABLES, "Classes of the labels, such as no,yes.", None),
    unit: str | None = option(
        panels.TABLES, "Column that says whose a row is, or none; PUBLIC need not have it.", None
    ),
    drop: Dropped = [],  # noqa: B006 – typer reads it, and nobody else
    categories: Categories = [],  # noqa: B006 – typer reads it, and nobody else
    to: Path = option(panels.RUNNING, "File to write.", Path("schema.json"), "--out"),
    as_json: bool = option(panels.RUNNING, "Print the schema as JSON instead of a table.", False, "--json"),
) -> None:
    """Draft a schema from PUBLIC rows: the kind of every column, and its public statistics.

    Never give private rows here. Read the draft, change what is wrong, and hand it to mapl learn.
    """
    choices = choices_of(drop, categories)
    rows = read_table(StandardInput(form, public).file_of(public), what="public rows", as_text=choices.categories)
    refuse_existing(to)
    declared = Classes.parse(classes).names if classes is not None else ()
    first, further = (label[0] if label else None), label[1:]
    if not declared and first is not None and first != unit and first in (names(rows) or ()):
        declared = classes_of(rows, first)
    drafted = draft_schema(
        rows,
        label=first,
        further=further,
        classes=declared,
        unit=None if unit == NO_UNIT else unit,
        drop=choices.drop,
        categories=choices.categories,
    )
    write(drafted, to)
    for words in (
        suspect_misspelling(drafted, names(rows) or ()),
        id_warning(rows, drafted),
        *notices_of(rows, drafted),
    ):
        if words is not None:
            warn(words)
    if as_json:
        typer.echo(drafted.to_json())
        return
    out.print(table(drafted))
    out.print(f"Columns: {describe_kinds(drafted)}.", soft_wrap=True)
    out.print(
        f"Written to {to}. Check the kinds; where they are wrong, give --categories or --drop, or change the file.",
        soft_wrap=True,
    )
    if not declared:
        tell("mapl: no classes are declared yet; add them to the file, or give --classes no,yes to mapl learn.")


def suspect_misspelling(drafted: Schema, columns: Sequence[str]) -> str | None:
    """Say that a unit or label, which public rows need not have, is spelled nearly like one of their columns."""
    for name in filter(None, (drafted.unit, *drafted.labels)):
        near = [] if name in columns else suggest_names(name, columns, alike=0.8)
        if near:
            return (
                f"the public rows have no column {name!r}, which they need not have, but a column {near[0]!r}, "
                "which would be learned from; if that one was meant, remove the schema file and give its name; if "
                "not, all is well."
            )
    return None


def refuse_existing(path: Path) -> None:
    """Refuse to write over a schema that somebody may have changed by hand."""
    if path.exists():
        raise InvalidParameter(f"{path} exists already; choose another file with --out, or remove it first.")


def write(drafted: Schema, path: Path) -> None:
    """Write a schema to a new file."""
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(drafted.to_json() + "\n")
    except FileExistsError:
        refuse_existing(path)
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another --out.") from None


def table(drafted: Schema) -> Table:
    """Lay a schema out for people."""
    shown = Table("column", "kind", "public facts", title="Schema", title_justify="left")
    for declared in drafted.columns:
        shown.add_row(declared.name, declared.kind, facts(declared))
    for name in drafted.labels:
        shown.add_row(name, "label", ", ".join(drafted.classes) or "classes not declared")
    if drafted.unit is not None:
        shown.add_row(drafted.unit, "unit", "says whose a row is; not learned from")
    for name in drafted.dropped:
        shown.add_row(name, "dropped", "not learned from")
    return shown


def facts(declared: Column) -> str:
    """Describe a column in a few words."""
    said = {
        "number": f"centre {declared.centre:.4g}, spread {declared.spread:.4g}",
        "date": f"centre {declared.centre:.0f} and spread {declared.spread:.0f} days from 1970",
        "category": f"{len(declared.categories)} values: {_first(declared.categories)}"
        + (", and one for the rest" if declared.rest else ""),
        "text": "free text",
        "image": f"{declared.width} numbers each, centre {declared.centre:.4g}, spread {declared.spread:.4g}",
    }[declared.kind]
    said += f", {declared.order.replace('-', ' ')}" if declared.order else ""
    said += f", missing where it says {_first(declared.blanks)}" if declared.blanks else ""
    return said + (", some missing" if declared.missing and not declared.blanks else "")


def _first(values: tuple[str, ...], most: int = 4) -> str:
    return ", ".join(values[:most]) + (", ..." if len(values) > most else "")
