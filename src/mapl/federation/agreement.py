"""What sites agree on before any of them reads a private row: a public plan, known by its digest."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mapl.data.cells.partition import PartitionKind
from mapl.data.tables.classes import Classes
from mapl.data.tables.label_values import LabelValues
from mapl.data.tables.schema import Schema
from mapl.data.units.one_per_unit import KEYED
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.request import Request
from mapl.planning.budgets.large_delta import refuse_large
from mapl.planning.plan import canonical
from mapl.teachers.learners.presets import preset
from mapl.types import Adjacency, Budget, positive_integer

FORMAT = 1
CELLS, MOMENTS, VOTES = "cells", "moments", "votes"
WAYS = (CELLS, MOMENTS, VOTES)
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class SitesPlan:
    """Who takes part, what each site releases, and what is promised to a person over all sites together.

    Parameters
    ----------
    budget
        What is promised to a person; a site spends one part of it in ``sites_per_person``.
    sites_per_person
        At how many sites a person may have records, at most.
    n_rows
        About how many people all sites have together, as far as the public knows.
    n_teachers, n_queries, learner
        Of votes: how many teachers every site has, how many public rows they are asked about, and by which preset
        they learn. A name is all that travels: no plan makes a site run code of somebody else.
    public, plan, drawn
        The SHA-256 of the file of public rows, of the plan of every site, and of the cells, the map or the
        questions that were drawn. A machine that draws otherwise is found out before it spends.
    label_values
        What labels mean at every site that are no names of classes.
    """

    method: str
    sites: tuple[str, ...]
    sites_per_person: int
    budget: Budget
    label: str
    classes: tuple[str, ...]
    schema: Schema
    public: str
    adjacency: Adjacency = "add-remove"
    unit: str | None = None
    per_unit: str = KEYED
    n_rows: int | None = None
    n_cells: int | None = None
    partition: PartitionKind = "points"
    n_teachers: int | None = None
    n_queries: int | None = None
    learner: str | None = None
    plan: str = ""
    drawn: str = ""
    label_values: LabelValues = ()

    def __post_init__(self) -> None:
        if self.method not in WAYS:
            raise InvalidParameter(
                f"The method is {self.method!r}; sites count in cells, add up moments or have teachers that vote."
            )
        bad = [name for name in self.sites if not NAME.fullmatch(name)]
        if bad:
            raise InvalidParameter(
                f"A site is called {bad[0]!r}; names have small letters, digits, - and _, at most 40 of them."
            )
        if len(set(self.sites)) < max(2, len(self.sites)):
            raise InvalidParameter(
                f"There are {len(set(self.sites))} different sites; name at least two, each once, with "
                f"{spell('sites')}. One site alone learns with mapl learn."
            )
        refuse_large(self.budget.delta)
        self._check_teachers()
        positive_integer(sites_per_person=self.sites_per_person)
        if self.sites_per_person > len(self.sites):
            raise InvalidParameter(
                f"A person may be at {self.sites_per_person} sites, and there are {len(self.sites)}; correct "
                f"{spell('sites_per_person')}."
            )

    @property
    def site_budget(self) -> Budget:
        """What one site spends, rounded down: as many of it as a person may be at sites stay within the budget."""
        k = self.sites_per_person
        if k == 1:
            return self.budget
        parts = (math.nextafter(whole / k, 0) for whole in (self.budget.epsilon, self.budget.delta))
        return Budget(*parts)

    @property
    def request(self) -> Request:
        """What is asked of the private table of every site."""
        return Request(
            self.site_budget,
            Classes(self.classes),
            n_rows=self.n_rows,
            method="teachers" if self.method == VOTES else self.method,
            n_teachers=self.n_teachers,
            n_queries=self.n_queries,
            adjacency=self.adjacency,
            unit=self.unit,
            per_unit=self.per_unit,
            n_cells=self.n_cells,
            partition=self.partition,
        )

    @property
    def digest(self) -> str:
        """What every message names: answers to another agreement are never added up with these."""
        return hashlib.sha256(canonical(self._content()).encode()).hexdigest()

    def check_site(self, name: str) -> None:
        """Refuse a name that is none of the sites'."""
        if name not in self.sites:
            raise InvalidParameter(
                f"There is no site {name!r} in this plan; its sites are {', '.join(self.sites)}."
            )

    def to_json(self) -> str:
        """Return it as JSON text, with its digest."""
        return json.dumps({**self._content(), "digest": self.digest}, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote, and refuse anything else."""
        try:
            given = json.loads(text)
            known = given.pop("digest")
            if given.pop("mapl_federation") != FORMAT:
                raise ValueError
            found = cls(**_values(given))
            if found.digest != known:
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError) as failure:
            if isinstance(failure, InvalidParameter):
                raise
            raise InvalidData("The plan of the sites was changed or is damaged; fetch it anew.") from None
        return found

    def _check_teachers(self) -> None:
        """Refuse what only teachers have where there are none, and learners that are no presets."""
        given = {"teachers": self.n_teachers, "queries": self.n_queries, "learner": self.learner}
        named = next((name for name, value in given.items() if value is not None), None)
        if named is not None and self.method != VOTES:
            raise InvalidParameter(
                f"{spell(named)} is about teachers, and {self.method} have none; leave it away, or take "
                f"{spell('method', VOTES)}."
            )
        if self.learner is not None:
            preset(self.learner)

    def _content(self) -> dict[str, Any]:
        return {
            "mapl_federation": FORMAT,
            "method": self.method,
            "sites": list(self.sites),
            "sites_per_person": self.sites_per_person,
            "budget": {"epsilon": float(self.budget.epsilon), "delta": float(self.budget.delta)},
            "label": self.label,
            "classes": list(self.classes),
            "schema": json.loads(self.schema.to_json()),
            "public": self.public,
            "adjacency": self.adjacency,
            "unit": self.unit,
            "per_unit": self.per_unit,
            "n_rows": self.n_rows,
            "n_cells": self.n_cells,
            "partition": self.partition,
            "n_teachers": self.n_teachers,
            "n_queries": self.n_queries,
            "learner": self.learner,
            "plan": self.plan,
            "drawn": self.drawn,
            **({"label_values": [list(pair) for pair in self.label_values]} if self.label_values else {}),
        }


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an agreement as its parameters have them."""
    return {
        **given,
        "sites": tuple(given["sites"]),
        "classes": tuple(given["classes"]),
        "budget": Budget(given["budget"]["epsilon"], given["budget"]["delta"]),
        "schema": Schema.from_json(json.dumps(given["schema"])),
        "label_values": tuple((str(value), str(name)) for value, name in given.get("label_values", ())),
    }
