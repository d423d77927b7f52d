"""Columns that look like ids, judged on names and PUBLIC rows: they say whose a row is, and teach nothing."""

from __future__ import annotations

from collections.abc import Iterator

from mapl.data.tables.rows import Rows, column, is_matrix, names
from mapl.data.tables.schema import Schema
from mapl.data.units.id_marks import IdTally, holds_people, name_of_features, name_of_ids, name_of_people
from mapl.errors import InvalidParameter
from mapl.parameters import spell, takes

NO_UNIT = "none"
"""Given in place of a column, it declares that every record stands for itself; no column can be called so."""


def id_warning(public: Rows, schema: Schema) -> str | None:
    """Warn of columns that look like ids where no unit is declared; never give private rows here."""
    return ask_about(list_suspects(public, schema), no_unit=True)


def ask_about(listed: str | None, *, no_unit: bool) -> str | None:
    """Ask whose the rows are where public columns look like ids and nobody said.

    Parameters
    ----------
    listed
        The columns, as `list_suspects` names them.
    no_unit
        Whether it was declared that every record stands for itself. The columns are then only warned of.

    Raises
    ------
    InvalidParameter
        If nothing was declared.
    """
    if listed is None:
        return None
    away = f"leave it out with {spell('drop')}" if takes("drop") else "remove it from the tables"
    if not takes("unit"):
        return _ask_for_single_records(listed, away, no_unit=no_unit)
    if no_unit:
        return (
            f"{listed} may hold ids, and no unit is declared: ids would be learned from like any other column, and "
            "several rows of one person protected separately, each as if it were a person. If a column says whose "
            f"a row is, name it with {spell('unit')}; if it only numbers rows, {away}."
        )
    raise InvalidParameter(
        f"{listed} may hold ids, and no unit is declared. Nothing was spent. If a column says whose a row is, name "
        f"it with {spell('unit', 'COLUMN')}: all rows of one person are then protected together, and it is not "
        f"learned from. If every record stands for itself, say so with {spell('unit', 'none')}, and it is learned "
        f"from like any other column; if it only numbers rows, {away}."
    )


def _ask_for_single_records(listed: str, away: str, *, no_unit: bool) -> str:
    """The same where single records are protected, whoever they are of, and no column can be a unit."""
    if no_unit:
        return (
            f"{listed} may hold ids, which would be learned from like any other column, and several rows of one "
            "person are protected separately. Leave one row of each person in the tables; if it only numbers rows, "
            f"{away}."
        )
    raise InvalidParameter(
        f"{listed} may hold ids, and single answers protect single records. Nothing was spent. Where a person has "
        "several, leave one of each in the tables, or take mapl learn, which protects all of them together. If "
        f"every record stands for itself, say so with {spell('unit', 'none')}; if it only numbers rows, {away}."
    )


def list_suspects(public: Rows, schema: Schema) -> str | None:
    """Name the columns that look like ids, None where there are none or a unit is declared.

    Parameters
    ----------
    public
        PUBLIC rows as they were given: in their declared form, rare values of a category are one.
    """
    if schema.unit is not None or is_matrix(public):
        return None
    found = [f"{name!r} ({why})" for name, why in _suspects(public, schema)]
    if not found:
        return None
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"{'Columns' if len(found) > 1 else 'Column'} {', '.join(found[:8])}{more}"


def _suspects(public: Rows, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the names of columns that look like ids, and why they do."""
    there = names(public) or ()
    for declared in schema.columns:
        if declared.kind in ("image", "date") or declared.name not in there:
            continue
        if name_of_ids(declared.name):
            yield declared.name, "by its name"
            continue
        tally = IdTally.of(declared, column(public, declared.name))
        if tally is None:
            continue
        if tally.nearly_all_differ:
            yield declared.name, "nearly all of its public values differ"
        elif name_of_people(declared.name) and holds_people(tally):
            yield declared.name, "by its name and its many public values"
        elif tally.repeats_like_visits and not name_of_features(declared.name):
            yield declared.name, "its many public values repeat a few times each, as those of people do"
