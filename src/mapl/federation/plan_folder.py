"""The public folder of a plan: what was agreed on, and the public rows; the same bytes at every site."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from mapl.data.tables.classes import Classes
from mapl.data.tables.column_choices import NO_CHOICES, ColumnChoices
from mapl.data.tables.label_values import LabelValues
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import PrivateTable, read_table
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidData, InvalidParameter
from mapl.federation.agreement import SitesPlan
from mapl.noise import Coins, SystemCoins
from mapl.parameters import spell
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.runs.inputs import declare, take_public_rows
from mapl.pipeline.runs.private_input import read_private
from mapl.release.files.write_once import write_once

AGREED, PUBLIC = "federation.json", "public"


@dataclass(frozen=True, slots=True)
class PlanFolder:
    """A plan that was fetched, or is being written."""

    path: Path

    def write(self, agreed: SitesPlan, public: Path) -> None:
        """Write the plan; where the same one is there already, nothing happens."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_once(self.path / f"{PUBLIC}{public.suffix}", public.read_bytes(), same_is_fine=True)
            write_once(self.path / AGREED, agreed.to_json().encode() + b"\n", same_is_fine=True)
        except FileExistsError:
            raise InvalidParameter(
                f"{self.path} holds another plan, or is a file; choose another folder with {spell('out')}."
            ) from None

    def read(self) -> SitesPlan:
        """Read what was agreed on, and make sure that the public rows are those that it was agreed about."""
        try:
            agreed = SitesPlan.from_json((self.path / AGREED).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise InvalidParameter(
                f"{self.path} holds no plan: {AGREED} is missing. Give the folder that mapl federate wrote."
            ) from None
        if digest_of(self.public) != agreed.public:
            raise InvalidData(f"{self.public} is not the file that the plan was made with; fetch the plan anew.")
        return agreed

    @property
    def public(self) -> Path:
        """The file of public rows."""
        found = sorted(self.path.glob(f"{PUBLIC}.*"))
        if len(found) != 1:
            raise InvalidData(f"{self.path} has {len(found)} files of public rows; fetch the plan anew.")
        return found[0]

    def case(
        self, agreed: SitesPlan, private: str, *, key: ShardKey, coins: Coins, memory: int | None = None
    ) -> Case:
        """Read the public rows as they were declared; the private table waits until it is asked for."""
        given, public = self._declared(agreed)
        return Case(given, public, lambda: read_private(private, given, memory=memory), key, coins)

    def case_of_nobody(self, agreed: SitesPlan) -> Case:
        """Return a case without a private table, for whoever combines."""
        return case_of_public(*self._declared(agreed))

    def _declared(self, agreed: SitesPlan) -> tuple[Declared, PublicRows]:
        return read_public(
            self.public,
            agreed.label,
            Classes(agreed.classes),
            agreed.unit,
            agreed.schema,
            no_unit=agreed.unit is None,
            label_values=agreed.label_values,
        )


def read_public(
    path: Path,
    label: str,
    classes: Classes | None,
    unit: str | None,
    schema: Schema | None,
    *,
    no_unit: bool,
    choices: ColumnChoices = NO_CHOICES,
    label_values: LabelValues = (),
) -> tuple[Declared, PublicRows]:
    """Read public rows, and put together what is declared about all tables."""
    table = read_table(path, what="public rows", as_text=() if schema is None else schema.written)
    given = declare(
        table,
        label=label,
        classes=classes,
        unit=unit,
        schema=schema,
        no_unit=no_unit,
        choices=choices,
        label_values=label_values,
    )
    return given, take_public_rows(table, given)


def case_of_public(given: Declared, public: PublicRows) -> Case:
    """Return a case that has public rows only."""
    return Case(given, public, _nobody, ShardKey.of_seed(0), SystemCoins())


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _nobody() -> PrivateTable:
    raise InvalidParameter("Whoever combines has no private table.")
