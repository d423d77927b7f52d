"""The option ``--unit``: the column that says whose a row is, or none where every record stands for itself."""

from __future__ import annotations

from mapl.data.tables.schema import Schema
from mapl.data.units.id_columns import NO_UNIT
from mapl.errors import InvalidParameter

HELP = (
    "The column that says whose a row is, such as patient_id; or none: every record stands for itself. (Rename a "
    "column that is called none.) Asked for where public columns look like ids."
)


def unit_of(given: str | None, known: Schema | None) -> tuple[str | None, bool]:
    """Return the column of the unit, and whether it was declared that there is none."""
    declared = None if known is None else known.unit
    if given != NO_UNIT:
        return (declared if given is None else given), False
    if declared is not None:
        raise InvalidParameter(
            f"--unit {NO_UNIT} says that every record stands for itself, and the schema declares the unit "
            f"{declared!r}; leave --unit away, or take the unit out of the schema."
        )
    return None, True
