"""Which columns the rules of `mapl answer` look at, and what is said where the two tables differ in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.case import Declared

MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class AskedColumns(Schema):
    """The columns to look at, as the questions have them; if they were `chosen`, others may stand beside them."""

    chosen: bool = False

    def check_names(self, found: Sequence[str], what: str, *, with_asides: bool = False) -> None:
        """Refuse tables that lack a column to look at, or have more than was asked about.

        Names of the private table are quoted only where they are a header beyond doubt, and not a row.
        """
        missing = [name for name in self.names if name not in found]
        if missing:
            header = " Name the columns in its first line." if len(missing) * 2 > len(self.names) else ""
            raise InvalidData(
                f"The {what} lack {_listed(missing)} of the questions, and rules look at every column of the "
                f"questions.{header} Add what is missing, leave it out of the questions, or name the columns to "
                "look at with --features."
            )
        if with_asides:
            self.check_asides(found, what)
        surplus = [name for name in found if name not in (*self.names, *self.asides)]
        if surplus and not self.chosen:
            raise InvalidData(
                f"The {what} have {_listed(surplus)}, which the questions lack; rules could not look at it. Add it "
                "to the questions, remove it, or name the columns to look at with --features."
            )


def refuse_only_labels(found: Sequence[str], label: str) -> None:
    if set(found) <= {label}:
        raise InvalidData("The questions have no column besides the label; give at least one column of numbers.")


def columns_of(said: Declared, named: Sequence[str] | None) -> Declared:
    """Return what is declared for the columns to look at alone, or refuse names and columns that do not fit."""
    kinds = {one.name: one.kind for one in said.schema.columns}
    for name in named or ():
        if name == said.label:
            raise InvalidParameter(f"--features names {name!r}, which is the label; name what is known beforehand.")
        if name not in kinds:
            raise InvalidParameter(f"The questions have no column {name!r}; name some of {_listed(list(kinds))}.")
    if named is not None and len(set(named)) < len(named):
        raise InvalidParameter("--features names a column twice; name each once.")
    wanted = tuple(kinds) if named is None else tuple(named)
    unfit = [name for name in wanted if kinds[name] != "number"]
    if unfit:
        raise InvalidData(
            f"Column {unfit[0]!r} of the questions is a {kinds[unfit[0]]}, and rules look at numbers; name the "
            "columns to look at with --features, or encode it first; the label is named with --label."
        )
    by_name = {one.name: one for one in said.schema.columns}
    columns = tuple(by_name[name] for name in wanted)
    return replace(said, schema=AskedColumns(columns, said.label, said.classes.names, chosen=named is not None))


def _listed(some: Sequence[str]) -> str:
    more = f" and {len(some) - MOST_NAMED} more" if len(some) > MOST_NAMED else ""
    return ("columns " if len(some) > 1 else "column ") + ", ".join(map(repr, some[:MOST_NAMED])) + more
