"""``mapl check``: how a private table is read, for its owner's eyes only."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from mapl.cli.console import out, warn
from mapl.cli.dialect.panels import TABLES, option
from mapl.cli.options.budget import Unit
from mapl.cli.options.columns import Categories, Dropped, choices_of
from mapl.cli.options.labels import LabelValuesText, label_values_of
from mapl.cli.options.running import AsJson
from mapl.cli.options.standard_input import InputFormat, StandardInput
from mapl.cli.options.tables import ClassNames, LabelColumns, PrivateTable, Regression, SchemaFile
from mapl.cli.options.unit import unit_of
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.schema import Schema
from mapl.data.units.id_columns import ask_about
from mapl.errors import InvalidParameter

if TYPE_CHECKING:
    from mapl.pipeline.runs.owner.look import OwnerCheck


def check(
    *,
    private: PrivateTable,
    label: LabelColumns,
    public: Annotated[
        Path | None, option(TABLES, "Public rows, from which the columns are drafted otherwise.")
    ] = None,
    form: InputFormat = None,
    classes: ClassNames = None,
    label_values: LabelValuesText = None,
    regression: Regression = None,
    schema: SchemaFile = None,
    unit: Unit = None,
    drop: Dropped = [],  # noqa: B006 – typer reads it, and nobody else
    categories: Categories = [],  # noqa: B006 – typer reads it, and nobody else
    as_json: AsJson = False,
) -> None:
    """See how mapl learn would read a PRIVATE table: nothing is released, and nothing is spent.

    A run refuses no private cell, and leaves out records without a declared class without a word, since anything
    else would tell of them. So look here first. What this prints is private.
    """
    from mapl.data.reading.table_file import read_table
    from mapl.pipeline.runs.inputs import declare, declare_alone
    from mapl.pipeline.runs.owner.check_file import PRIVATE, owner_check

    if schema is None and public is None:
        raise InvalidParameter("Say what the columns are: --schema FILE, or --public FILE to draft it from.")
    piped = StandardInput(form, private, public)
    private, public = piped.file_of(private), piped.file_of(public)
    stated = None if schema is None else Schema.read(schema)
    unit, no_unit = unit_of(unit, stated)
    named, values = None if classes is None else Classes.parse(classes), label_values_of(label_values)
    number_range = None if regression is None else NumberRange.parse(regression)
    choices = choices_of(drop, categories)
    if public is None and len(label) > 1:
        raise InvalidParameter("Several labels need --public, the rows that teachers vote on.")
    if public is None and choices:
        raise InvalidParameter("--drop and --categories need --public, the rows that columns are drafted from.")
    if public is not None:
        rows = read_table(
            public, what="public rows", as_text=(*(stated.written if stated else ()), *choices.categories)
        )
        given = declare(
            rows,
            label=label[0],
            further=tuple(label[1:]),
            classes=named,
            unit=unit,
            schema=stated,
            no_unit=no_unit,
            choices=choices,
            label_values=values,
            number_range=number_range,
        )
    else:
        assert stated is not None
        given = declare_alone(
            stated, label=label[0], classes=named, unit=unit, label_values=values, number_range=number_range
        )
    asked = ask_about(given.suspects, no_unit=True)
    if asked is not None:
        warn(asked)
    found = owner_check(private, given)
    if as_json:
        typer.echo(json.dumps({"private": PRIVATE, **asdict(found)}, indent=2, ensure_ascii=False))
        return
    out.print(PRIVATE, soft_wrap=True)
    out.print(_rows_table(found, unit=given.unit, numbers=number_range is not None))
    out.print(_columns_table(found, given.schema))


def _rows_table(found: OwnerCheck, *, unit: str | None, numbers: bool) -> Table:
    shown = Table("rows", "how many", title="How the table is read", title_justify="left")
    said: dict[str, Any] = {
        "in the file": found.n_rows,
        "lines with too many or too few cells (left out)": found.n_torn,
        f"without {unit} (left out)" if unit else "without a unit": found.n_of_nobody,
        "without a label (left out)": found.n_without_label,
        f"whose label is no {'number' if numbers else 'declared class'} (left out)": found.n_of_other_class,
        **{f"with a label {name}" if numbers else f"of class {name}": n for name, n in found.by_class.items()},
        "that count": found.n_used,
        "units that count": found.n_units,
    }
    for what, n in said.items():
        shown.add_row(what, f"{n:,}")
    return shown


def _columns_table(found: OwnerCheck, schema: Schema) -> Table:
    shown = Table("column", "kind", "empty", "not of this kind (missing)")
    for declared in schema.columns:
        gaps = found.columns[declared.name]
        shown.add_row(declared.name, declared.kind, f"{gaps.empty:,}", f"{gaps.illegible:,}")
    return shown
