"""Three sites that may not pool, as folders: public rows, a private table each, and who plays them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mapl.data.tables.classes import Classes
from mapl.federation.agreement import SitesPlan
from mapl.federation.combination import Coordinator
from mapl.federation.message import SiteAnswer
from mapl.federation.plan_folder import PlanFolder, case_of_public, digest_of, read_public
from mapl.federation.rounds import Heard
from mapl.federation.site import Site
from mapl.federation.ways import complete
from mapl.pipeline.learn import Learned
from mapl.pipeline.runs.folder import RunFolder
from mapl.types import Budget

NAMES = ("north", "south", "west")
N_PEOPLE = 600


def rows(n: int, seed: int, *, who: str | None = None, labelled: bool = True) -> pa.Table:
    """Return people whose class is the sign of a sum of two columns."""
    x = np.random.default_rng(seed).normal(size=(n, 3))
    columns: dict[str, Any] = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}
    if labelled:
        columns["y"] = np.where(x[:, 0] + x[:, 1] > 0, "yes", "no")
    if who is not None:
        columns["person"] = [f"{who}-{i}" for i in range(n)]
    return pa.table(columns)


@dataclass(frozen=True)
class Federation:
    """A plan and its sites, below one folder."""

    here: Path
    plan: PlanFolder
    agreed: SitesPlan

    def site(self, name: str, table: str | None = None) -> Site:
        private = self.here / f"{name if table is None else table}.parquet"
        return Site(self.plan, name, str(private), RunFolder(self.here / f"run-{name}"))

    def answers(self, heard: Heard | None = None, names: tuple[str, ...] = NAMES) -> list[SiteAnswer]:
        return [self.site(name).answer(heard) for name in names]

    def coordinator(self, out: str = "together") -> Coordinator:
        return Coordinator(self.plan, RunFolder(self.here / out))

    def all_rounds(self, student: Any = None) -> tuple[list[SiteAnswer], Learned]:
        """Carry everything out, one round after the other."""
        answers = self.answers()
        found = self.coordinator().combine(answers, student=student)
        while isinstance(found, Heard):
            answers += self.answers(found)
            found = self.coordinator().combine(answers, student=student)
        return answers, found


def federation(here: Path, method: str = "cells", *, epsilon: float = 2.0, k: int = 1, **more: Any) -> Federation:
    """Write three private tables, public rows and a plan."""
    here.mkdir(parents=True, exist_ok=True)
    public = here / "public-rows.parquet"
    pq.write_table(rows(300, 1, labelled=False), public)
    for number, name in enumerate(NAMES):
        pq.write_table(rows(N_PEOPLE, 10 + number, who=name), here / f"{name}.parquet")
    case = case_of_public(*read_public(public, "y", Classes(("no", "yes")), "person", None, no_unit=False))
    schema, digest = case.declared.schema, digest_of(public)
    budget = Budget(epsilon, 1e-6)
    agreed = SitesPlan(method, NAMES, k, budget, "y", ("no", "yes"), schema, digest, unit="person", **more)
    plan, agreed = PlanFolder(here / "plan"), complete(agreed, case)
    plan.write(agreed, public)
    return Federation(here, plan, agreed)


def right(learned: Learned) -> float:
    """Return the share of rows that a student is right about."""
    assert learned.student is not None
    test = rows(1000, 99)
    return float((np.asarray(learned.student.predict(test.drop_columns(["y"]))) == np.array(test["y"])).mean())
