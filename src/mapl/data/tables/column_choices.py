"""What is said about single columns beside a draft: which to leave out, and which are categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mapl.errors import InvalidParameter
from mapl.misspelled_names import did_you_mean
from mapl.parameters import spell

MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """Columns to drop, and columns to take as categories whatever they look like."""

    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both = [name for name in self.drop if name in self.categories]
        if both:
            raise InvalidParameter(
                f"{spell('drop')} and {spell('categories')} both name {both[0]!r}; a column that is left out is no "
                "category. Name it once."
            )

    def __bool__(self) -> bool:
        return bool(self.drop or self.categories)

    def refuse_unknown(self, known: Sequence[str], asides: Sequence[str] = ()) -> None:
        """Refuse names that are not among the public columns, and say which may have been meant.

        What is dropped need not be there: a private table may have columns that public rows lack.

        Parameters
        ----------
        asides
            The label and the unit, which are not learned from anyway.
        """
        for option, wanted in ((spell("drop"), self.drop), (spell("categories"), self.categories)):
            for name in wanted:
                if name in asides:
                    raise InvalidParameter(
                        f"{option} names {name!r}, which is the label or the unit; these are not learned from. "
                        "Leave it away."
                    )
                if name in known or (name in self.drop and not did_you_mean(name, known)):
                    continue
                private = ' If only the private table has it, list it as "dropped" in the schema.'
                raise InvalidParameter(
                    f"{option} names {name!r}, which is no column of the public rows or the schema."
                    f"{_hint(name, known)}{private if name in self.drop else ''}"
                )

    def refuse_matrix(self) -> None:
        """Refuse any choice about the columns of a matrix, which have no names."""
        if self:
            raise InvalidParameter(
                "The rows are a matrix, whose columns have no names to drop or to declare as categories; give a "
                "DataFrame or a pyarrow Table, or a matrix without these columns."
            )


NO_CHOICES = ColumnChoices()


def _hint(name: str, known: Sequence[str]) -> str:
    more = ", ..." if len(known) > MOST_NAMED else ""
    return did_you_mean(name, known) or f" Name some of {', '.join(map(repr, known[:MOST_NAMED]))}{more}."
