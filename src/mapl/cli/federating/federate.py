"""``mapl federate``: public rows and declarations in, the plan that all sites agree on out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mapl.cli.console import out, warn
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.learning.learn_options import CellKind, NumberOfCells, Parts, PerUnit
from mapl.cli.options.amounts import number_or_auto
from mapl.cli.options.budget import Delta, Epsilon, Neighbours, Unit, check_delta
from mapl.cli.options.columns import Categories, Dropped, choices_of
from mapl.cli.options.labels import LabelValuesText, label_values_of
from mapl.cli.options.running import AsJson
from mapl.cli.options.tables import ClassNames, Label, RowCount, SchemaFile
from mapl.cli.options.unit import unit_of
from mapl.data.tables.classes import Classes
from mapl.release.statement.statement import to_json
from mapl.types import Budget


class SiteMethod(StrEnum):
    """What sites release."""

    cells = "cells"
    moments = "moments"
    votes = "votes"


def federate(
    *,
    public: Annotated[Path, option(panels.TABLES, "Public rows with the sites' columns, without labels.")],
    label: Label,
    classes: ClassNames = None,
    label_values: LabelValuesText = None,
    schema: SchemaFile = None,
    drop: Dropped = [],  # noqa: B006 – typer reads it, and nobody else
    categories: Categories = [],  # noqa: B006
    rows: RowCount = None,
    sites: Annotated[str, option(panels.TABLES, "Names of all sites, separated by commas.")],
    epsilon: Epsilon,
    delta: Delta,
    unit: Unit = None,
    adjacency: Annotated[Neighbours, option(panels.BUDGET, "Which tables are compared.")] = Neighbours.add_remove,
    sites_per_person: Annotated[
        int | None,
        option(
            panels.BUDGET,
            "At how many sites a person may be, at most; --epsilon is shared among as many.",
            min=1,
            show_default="all of them",
        ),
    ] = None,
    method: Annotated[
        SiteMethod,
        option(
            panels.METHOD,
            "cells: one round, pure epsilon; moments: a few rounds; votes of teachers: one round; the last "
            "two need a delta.",
        ),
    ] = SiteMethod.cells,
    cells: NumberOfCells = "auto",
    partition: CellKind = Parts.points,
    per_unit: PerUnit = None,
    teachers: Annotated[
        str, option(panels.TEACHERS, "Teachers of every site, or auto: from --rows and other public facts.")
    ] = "auto",
    learner: Annotated[
        str | None, option(panels.TEACHERS, "How teachers learn: a preset (mapl learners).", show_default="ridge")
    ] = None,
    queries: Annotated[
        int | None,
        option(
            panels.TEACHERS,
            "How many public rows teachers vote on; more of them mean more noise.",
            min=1,
            show_default="from the budget and the number of teachers",
        ),
    ] = None,
    to: Annotated[Path, option(panels.RUNNING, "Folder for the plan, to be sent to all sites.", "--out")],
    as_json: AsJson = False,
) -> None:
    """Make the PUBLIC plan that all sites agree on, before any of them reads a private row.

    Writes OUT/federation.json and a copy of the public rows. Nothing is spent.
    """
    from mapl.data.tables.schema import Schema
    from mapl.federation.agreement import SitesPlan
    from mapl.federation.plan_folder import PlanFolder, case_of_public, digest_of, read_public
    from mapl.federation.ways import complete
    from mapl.pipeline.learn import ask_about_ids
    from mapl.pipeline.runs.owner.check_file import hint_of_names
    from mapl.pipeline.watch import Watch

    check_delta(delta)
    known = None if schema is None else Schema.read(schema)
    unit, no_unit = unit_of(unit, known)
    declared = None if classes is None else Classes.parse(classes)
    values, choices = label_values_of(label_values), choices_of(drop, categories)
    case = case_of_public(
        *read_public(public, label, declared, unit, known, no_unit=no_unit, choices=choices, label_values=values)
    )
    watch = Watch(on_warning=warn)
    ask_about_ids(case, watch)
    watch.warn(hint_of_names(case))
    names = tuple(name.strip() for name in sites.split(","))
    agreed = SitesPlan(
        method.value,
        names,
        len(names) if sites_per_person is None else sites_per_person,
        Budget(epsilon, delta),
        label,
        case.declared.classes.names,
        case.declared.schema,
        digest_of(public),
        adjacency.value,
        unit,
        "keyed" if per_unit is None else per_unit,
        rows,
        number_or_auto(cells, "cells"),
        partition.value,
        number_or_auto(teachers, "teachers"),
        queries,
        learner,
        label_values=values,
    )
    agreed = complete(agreed, case)
    PlanFolder(to).write(agreed, public)
    each = agreed.site_budget
    spent, promised = (each.delta, delta) if method is not SiteMethod.cells else (0.0, 0.0)
    if as_json:
        told = {
            "digest": agreed.digest,
            "sites": list(names),
            "sites_per_person": agreed.sites_per_person,
            "adjacency": adjacency.value,
            "unit": agreed.request.unit_name,
            "promised": {"epsilon": epsilon, "delta": promised},
            "each_site": {"epsilon": each.epsilon, "delta": spent},
            "out": str(to),
        }
        typer.echo(to_json(told))
        return
    out.print(
        f"The plan is in {to}; send this folder to all sites. Digest: {agreed.digest}\nEvery site spends epsilon "
        f"{each.epsilon:g} at delta {spent:g}; a person at up to {agreed.sites_per_person} of {len(names)} sites "
        f"is promised epsilon {epsilon:g} at delta {promised:g} (adjacency: {adjacency.value}; unit: "
        f"{agreed.request.unit_name}).\nAt each site: mapl site {to} PRIVATE --name NAME --out RUN",
        soft_wrap=True,
    )
