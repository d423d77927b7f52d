"""What the columns of a table are: declared by hand or drafted from public rows, never read off private ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mapl.data.tables.column import Column
from mapl.data.tables.rows import Rows, is_matrix, names
from mapl.errors import InvalidData, InvalidParameter
from mapl.misspelled_names import did_you_mean
from mapl.parameters import spell, takes

__all__ = ["Column", "Schema"]

VERSION = 1


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns that both public and private rows have, the label's name and classes, and the privacy unit.

    Tables may have columns that were ``dropped``; nobody looks at them. ``further`` names the labels beside the
    first, where rows have several.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    classes: tuple[str, ...] = ()
    unit: str | None = None
    dropped: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise InvalidParameter("The schema has no columns; declare at least one that learners may use.")
        if len(set(self.names)) < len(self.names):
            raise InvalidParameter("The schema has two columns of one name; give every column its own.")
        for role, name in self._roles:
            if name in self.names:
                raise InvalidParameter(
                    f"{name!r} is declared as the {role} and as a column to learn from; remove it from the "
                    f"schema's columns, or draft the schema again with {spell(role, name)}."
                )
        both = [name for name in self.dropped if name in (*self.names, *self.asides)]
        if both or not all(isinstance(name, str) for name in self.dropped):
            raise InvalidParameter(
                f"The schema drops {both[0] if both else self.dropped!r}; list names of columns that are neither "
                "declared, nor the label or the unit."
            )
        if self.unit is not None and self.unit in self.labels:
            raise InvalidParameter(f"{self.unit!r} is declared as the label and as the unit; they must differ.")
        if len(set(self.labels)) < len(self.labels):
            raise InvalidParameter(f"Of the labels {_some(self.labels)} one is named twice; name each label once.")
        if self.classes and (len(self.classes) < 2 or len(set(self.classes)) < len(self.classes)):
            raise InvalidParameter("The schema's classes must be at least two different names, or none.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that learners may use."""
        return tuple(column.name for column in self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of all labels; most tables have one."""
        return self.further if self.label is None else (self.label, *self.further)

    @property
    def _roles(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (role, name)
            for role, name in (*(("label", name) for name in self.labels), ("unit", self.unit))
            if name is not None
        )

    @property
    def asides(self) -> tuple[str, ...]:
        """The columns that a table may have besides: its labels and its unit."""
        return tuple(name for _, name in self._roles)

    @property
    def written(self) -> tuple[str, ...]:
        """The columns of which CSV files say what is written, so that 007 is not taken for 7."""
        return tuple(column.name for column in self.columns if column.kind in ("category", "text"))

    @property
    def for_matrices(self) -> bool:
        """Whether the columns are those of a matrix: numbers without names, or one image."""
        return self.names == tuple(f"x{j}" for j in range(len(self.columns))) or (
            len(self.columns) == 1 and self.columns[0].kind == "image"
        )

    def coarsened(self, n_bins: int) -> Schema:
        """Return the schema with at most so many public bins for each number."""
        return replace(self, columns=tuple(column.coarsened(n_bins) for column in self.columns))

    def checked_against(self, rows: Rows, what: str) -> None:
        """Refuse rows whose columns differ from the schema's; the label and the unit may be there or not."""
        if not is_matrix(rows):
            self.check_names(names(rows) or (), what)
            return
        expected = sum(column.width for column in self.columns)
        if not self.for_matrices:
            raise InvalidData(
                f"The {what} are a matrix and the schema names its columns; give them as a DataFrame or a pyarrow "
                "Table with these names, or give the public rows as a matrix too."
            )
        if rows.shape[1] != expected:
            raise InvalidData(
                f"The {what} have {rows.shape[1]} columns and the schema declares {expected}; public and private "
                "rows must have the same columns."
            )

    def check_names(self, found: Sequence[str], what: str, *, with_asides: bool = False) -> None:
        """Refuse column names that are not the schema's.

        Names are quoted only where they are a header beyond doubt: the first line of a file without a header is
        a row, and may be private.

        Parameters
        ----------
        with_asides
            Whether the label and the unit must be there too, as in private rows.
        """
        there = set(found)  # a table may have thousands of columns
        missing = [name for name in self.names if name not in there]
        surplus = self._surplus(found)
        if len(missing) * 2 > len(self.names):
            raise InvalidData(
                f"The {what} have few or none of the schema's columns ({_some(self.names)}); name the columns in "
                "the first line as the schema does, or draft a schema from public rows with these columns."
            )
        if missing:
            raise InvalidData(
                f"The {what} lack {_some(missing)}, which the schema declares; public and private rows must have "
                "the same columns. Add what is missing, or draft the schema again from public rows without it."
            )
        if with_asides:
            self.check_asides(found, what)
        if surplus:
            them = "it" if len(surplus) == 1 else "them"
            leave_out = f"leave {them} out with {spell('drop')}, " if takes("drop") else ""
            raise InvalidData(
                f"The {what} have {_some(surplus)}, which the schema does not declare; public and private rows "
                f'must have the same columns. Remove {them}, {leave_out}or list {them} as "dropped" in the schema; '
                f"what is the label or says whose a row is, give with {spell('label')} or {spell('unit')}."
            )

    def _surplus(self, found: Sequence[str]) -> list[str]:
        """Return the names that the schema does not know."""
        known = {*self.names, *self.asides, *self.dropped}
        return [name for name in found if name not in known]

    def check_asides(self, found: Sequence[str], what: str) -> None:
        """Refuse rows without the label or the unit that the schema declares, and say what may have been meant."""
        for role, name in self._roles:
            if name in found:
                continue
            hint = ""
            if set(self.names) <= set(found):  # a header beyond doubt
                surplus = self._surplus(found)
                hint = did_you_mean(name, [*surplus, *self.names])
                if role == "label" and "," in name:
                    hint = f" To learn several labels, name each with a {spell('label')} of its own."
                elif surplus and not hint:
                    hint = f" The schema does not declare {_some(surplus)}, which may be it."
            raise InvalidData(
                f"The {what} have no column {name!r}, which is declared as the {role}.{hint} Name the right column "
                f"with {spell(role)}, or add it to the table."
            )

    def to_json(self) -> str:
        """Write the schema as JSON that people can read and change."""
        head = {
            "mapl_schema": VERSION,
            "label": self.label,
            "classes": list(self.classes),
            "unit": self.unit,
            **({"dropped": list(self.dropped)} if self.dropped else {}),
            **({"further_labels": list(self.further)} if self.further else {}),
        }
        start = json.dumps(head, indent=2, ensure_ascii=False)[:-2]
        lines = [
            json.dumps(column.to_dict(), ensure_ascii=False, allow_nan=False) for column in self.columns
        ]  # one line per column
        return start + ',\n  "columns": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}"

    @classmethod
    def from_json(cls, text: str, source: str = "The schema") -> Schema:
        """Read a schema from JSON.

        Parameters
        ----------
        source
            Where the text comes from, for messages.
        """
        try:
            plain = json.loads(text)
            if plain["mapl_schema"] != VERSION:
                raise InvalidData(
                    f"{source} is of version {plain['mapl_schema']!r}; this mapl reads version {VERSION}. Draft it "
                    "again with mapl schema."
                )
            columns = tuple(Column.from_dict(dict(column)) for column in plain["columns"])
            classes, dropped = tuple(map(str, plain.get("classes") or ())), tuple(plain.get("dropped") or ())
            further = tuple(plain.get("further_labels") or ())
            return cls(columns, plain.get("label"), classes, plain.get("unit"), dropped, further)
        except (InvalidData, InvalidParameter):
            raise
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InvalidData(
                f"{source} is not a schema as mapl writes it; draft one from public rows with mapl schema and "
                "change that."
            ) from None

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a schema file."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as failure:
            raise InvalidData(f"{path} cannot be read ({failure.strerror}); check the path.") from None
        except UnicodeDecodeError:
            raise InvalidData(f"{path} is not text in UTF-8; give a schema as mapl writes it.") from None
        return cls.from_json(text, str(path))


def _some(listed: Sequence[str], most: int = 8) -> str:
    """Quote some names, and say how many more there are."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ("columns " if len(listed) > 1 else "column ") + ", ".join(map(repr, listed[:most])) + more
