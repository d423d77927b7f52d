"""``mapl schema``: draft from public rows what the columns are."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.table import Table

from mapl.cli.console import out, tell, warn
from mapl.data import Classes, Column, Schema, classes_of, draft, names, read_table
from mapl.data.id_columns import id_warning
from mapl.errors import InvalidParameter


def schema(
    public: Path = typer.Argument(help="A file of public rows: .csv, .parquet, .arrow or .feather."),
    label: str | None = typer.Option(None, help="Column of the labels; PUBLIC need not have it."),
    classes: str | None = typer.Option(None, help="Classes of the labels, such as no,yes."),
    unit: str | None = typer.Option(None, help="Column that says whose a row is; PUBLIC need not have it."),
    to: Path = typer.Option(Path("schema.json"), "--out", help="File to write."),
    as_json: bool = typer.Option(False, "--json", help="Print the schema as JSON instead of a table."),
) -> None:
    """Draft a schema from PUBLIC rows: the kind of every column, and its public statistics.

    Never give private rows here. Read the draft, change what is wrong, and hand it to mapl learn.
    """
    refuse_existing(to)
    rows = read_table(public, what="public rows")
    declared = Classes.parse(classes).names if classes is not None else ()
    if not declared and label is not None and label in (names(rows) or ()):
        declared = classes_of(rows, label)
    drafted = draft(rows, label=label, classes=declared, unit=unit)
    write(drafted, to)
    if (words := id_warning(rows, drafted)) is not None:
        warn(words)
    if as_json:
        typer.echo(drafted.to_json())
        return
    out.print(table(drafted))
    out.print(f"Written to {to}. Check the kinds, and change the file where they are wrong.", soft_wrap=True)
    if not declared:
        tell("mapl: no classes are declared yet; add them to the file, or give --classes no,yes to mapl learn.")


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
    if drafted.label is not None:
        shown.add_row(drafted.label, "label", ", ".join(drafted.classes) or "classes not declared")
    if drafted.unit is not None:
        shown.add_row(drafted.unit, "unit", "says whose a row is; not learned from")
    return shown


def facts(declared: Column) -> str:
    """Describe a column in a few words."""
    said = {
        "number": f"centre {declared.centre:.4g}, spread {declared.spread:.4g}",
        "date": f"centre {declared.centre:.0f} and spread {declared.spread:.0f} days from 1970",
        "category": f"{len(declared.categories)} values: {_first(declared.categories)}",
        "text": "free text",
        "image": f"{declared.width} numbers each, centre {declared.centre:.4g}, spread {declared.spread:.4g}",
    }[declared.kind]
    return said + (", some missing" if declared.missing else "")


def _first(values: tuple[str, ...], most: int = 4) -> str:
    return ", ".join(values[:most]) + (", ..." if len(values) > most else "")
