"""A finished set-up as its public half tells it, rehearsed on rows that nobody is in."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from mapl.data.tables.classes import Classes
from mapl.data.tables.made_up_rows import made_up_rows
from mapl.data.tables.rows import Rows, as_arrow, take
from mapl.data.tables.schema import Schema
from mapl.data.units.row_digests import digests
from mapl.errors import InvalidData, InvalidParameter, MaplError, PlanMismatch
from mapl.mechanisms import REGISTRY, AnyMechanism, Task, entry, make
from mapl.parameters import spell
from mapl.pipeline.counts.cells_plan import FIRST, SECOND
from mapl.pipeline.online.teach import KIND as ONLINE
from mapl.pipeline.runs.inputs import read_labelled_rows
from mapl.pipeline.runs.published import LEDGER, PLAN, SCHEMA, SETTINGS
from mapl.planning.plan import Plan, add_over_parts
from mapl.release.ledger.chain import START
from mapl.release.statement.cell_promise import cells_promise
from mapl.release.statement.promise import Promise, promise_of
from mapl.types import RECORD, Adjacency, Budget

SetUpWay = Literal["teachers", "cells", "server"]

LABELS = "labels"
ROUNDING = 1e-6
MOST_QUESTIONS = 2_000
"""Rows that a rehearsal asks about; fewer than were planned only weaken the attack."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """The plan, columns and settings of a run. All public: the private half is never opened."""

    plan: Plan
    schema: Schema
    settings: Mapping[str, Any]
    labels_by: Mapping[str, Any] | None
    """Mechanism and parameters that the ledger says released the labels, where the plan left them open."""

    @classmethod
    def read(cls, run: Path) -> Self:
        """Read the public half of a run of `mapl learn` or `mapl teach`: given its folder, or that half alone."""
        public = run / "public" if (run / "public").is_dir() else run
        try:
            plan = Plan.from_json((public / PLAN).read_text(encoding="utf-8"))
            settings = json.loads((public / SETTINGS).read_text(encoding="utf-8"))
            started = _started(public / LEDGER)
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidParameter(
                f"{run} holds no public half of a run: give the folder that mapl learn or mapl teach wrote with "
                f"{spell('out')}, or a copy of its public half with {PLAN}, {SCHEMA} and {SETTINGS}."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as failure:
            if isinstance(failure, InvalidParameter | InvalidData):
                raise
            raise InvalidData(f"A file in {public} is damaged; restore the public half of the run.") from None
        _refuse_answers(plan, settings)
        found = cls(plan, Schema.read(public / SCHEMA), settings, started)
        found._refuse_other_ways()
        return found

    def _refuse_other_ways(self) -> None:
        stages = {stage.name for stage in self.plan.stages}
        simple = LABELS in stages and stages <= {LABELS, "error"}
        counted = self.way == "cells" and FIRST in stages and stages <= {FIRST, SECOND}
        if not (simple or counted) or self.settings.get("strategy") == "active":
            raise InvalidParameter(
                "Runs by teachers, by cells and of kept teachers are rehearsed; this one has the stages "
                f"{', '.join(sorted(stages))}. Audit what released them by name: mapl audit --mechanism NAME."
            )

    @property
    def way(self) -> SetUpWay:
        if self.settings.get("kind") == ONLINE:
            return "server"
        return "cells" if self.settings.get("method") == "cells" else "teachers"

    @property
    def classes(self) -> Classes:
        return Classes(self.plan.classes)

    @property
    def adjacency(self) -> Adjacency:
        return self.plan.adjacency  # type: ignore[return-value]  # the promise checks it

    @property
    def unit(self) -> str | None:
        return None if self.plan.unit == RECORD else self.plan.unit

    @property
    def claim(self) -> Budget:
        """What all stages together may cost."""
        stages = self.plan.stages
        return Budget(
            add_over_parts((stage.units, stage.budget.epsilon) for stage in stages),
            add_over_parts((stage.units, stage.budget.delta) for stage in stages),
        )

    @property
    def promise(self) -> Promise:
        if self.way == "cells":
            return cells_promise(self.adjacency, self.unit, str(self.settings.get("per_unit", "keyed")))
        return promise_of(self.adjacency, self.unit)

    @property
    def n_questions(self) -> int:
        return min(self.plan.n_queries, MOST_QUESTIONS)

    @property
    def task(self) -> Task:
        """The public facts that the labels were calibrated for."""
        plan = self.plan
        return Task(plan.stage(LABELS).budget, plan.n_teachers, len(plan.classes), plan.n_queries)

    def mechanism(self) -> AnyMechanism:
        """Calibrate once more what releases the labels; it must come out as the run has it."""
        stage = self.plan.stage(LABELS)
        by = self.labels_by or {"mechanism": stage.mechanism, "parameters": dict(stage.parameters)}
        name, parameters = str(by["mechanism"]), dict(by["parameters"])
        if name not in REGISTRY:
            raise InvalidParameter(f"The labels were released by {name}, which is audited by name only.")
        known = {setting: parameters[setting] for setting in entry(name).settings if setting in parameters}
        limits = {setting: value for setting, value in known.items() if isinstance(value, int)}
        # A search that is given its own result may refuse it by a rounding; it finds it from the limits alone.
        for given in (known, limits, {}):
            with suppress(MaplError):
                made = make(name, self.task, **given)
                if _same(made.parameters, parameters):
                    return made
        built = self._built(name, parameters)
        if built is not None:
            return built
        raise PlanMismatch(
            f"The run says {name} with other parameters than calibrating it again gives: the plan was edited, or "
            "another version of mapl made it. Audit it with the mapl that made it."
        )

    def _built(self, name: str, parameters: Mapping[str, Any]) -> AnyMechanism | None:
        """Put a mechanism together of its parameters, where planning chose them all, if it keeps its budget."""
        task, kind = self.task, entry(name).mechanism
        made: AnyMechanism
        facts = {"n_classes": task.n_classes, "n_teachers": task.n_teachers}
        needed = [one.name for one in fields(kind) if one.init] if is_dataclass(kind) else ["more than is told"]
        if not set(needed) <= {*parameters, *facts}:
            return None
        made = entry(name).mechanism(**{one: parameters.get(one, facts.get(one)) for one in needed})
        kept = made.epsilon(None, task.budget.delta) <= task.budget.epsilon
        return made if kept and _same(made.parameters, parameters) else None

    def rows(self, n: int, rng: np.random.Generator, file: Path | None = None) -> Rows:
        """Return n different rows: those of a public file first, and made-up ones."""
        parts = []
        if file is not None:
            given = read_labelled_rows(file, self.schema, self.classes, label=None, what="rows to rehearse on")
            parts.append(as_arrow(given.rows))
        parts.append(as_arrow(made_up_rows(self.schema, 2 * n, rng)))
        table = pa.concat_tables(parts, promote_options="permissive")
        spelled = [one for block in digests(table, None) for one in block]
        different = np.array(list({one: place for place, one in reversed(list(enumerate(spelled)))}.values()))
        if len(different) < n:
            raise InvalidParameter(
                f"The schema allows too few different rows: {len(different)} of {n} that a rehearsal needs. Give "
                f"more rows with {spell('public')}."
            )
        return take(table, np.sort(different)[:n])


def _refuse_answers(plan: Plan, settings: Mapping[str, Any]) -> None:
    """Refuse runs without teachers and without cells, which have no schema of columns either."""
    if settings.get("verb") == "answer":
        raise InvalidParameter(
            "This run answered single questions (mapl answer), and runs by teachers, by cells and of kept teachers "
            f"are rehearsed. Audit what answered by name: mapl audit --mechanism {plan.stages[0].mechanism}."
        )


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether parameters are the same, up to the rounding of a search."""
    if set(one) != set(other):
        return False
    return all(
        math.isclose(value, other[name], rel_tol=ROUNDING) if isinstance(value, float) else value == other[name]
        for name, value in one.items()
    )


def _started(ledger: Path) -> dict[str, Any] | None:
    if not ledger.exists():
        return None
    entries = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    told = [one["payload"] for one in entries if one["kind"] == START and one["stage"] == LABELS]
    return dict(told[0]) if told else None
