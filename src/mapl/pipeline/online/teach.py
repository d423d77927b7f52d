"""Teachers that are kept: trained on the shards of a private table, for questions that come later.

Nothing is released and nothing is spent here; `mapl.pipeline.online.run` is what answers.
"""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mapl.data.tables.classes import Classes
from mapl.data.tables.kinds import describe_kinds
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.noise import SystemCoins
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared
from mapl.pipeline.online.answerers import prepare_answerers
from mapl.pipeline.online.panel_file import write_panel
from mapl.pipeline.online.storage import KeptForm, form_of
from mapl.pipeline.online.table_file import table_bytes
from mapl.pipeline.request import Request
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.options import OPTIONS, options_of_teaching
from mapl.pipeline.runs.owner.check_file import hint_of_names, write_owner_check
from mapl.pipeline.runs.owner.look import OwnerLook
from mapl.pipeline.runs.published import PLAN, SCHEMA, SETTINGS
from mapl.pipeline.runs.run import read_case, same_run
from mapl.pipeline.runs.tables import Tables
from mapl.pipeline.votes.labelling import assign_shards
from mapl.pipeline.votes.teachers_plan import Planned
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Plan, plain
from mapl.release.files.write_once import write_once
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.statement.promise import Promise
from mapl.teachers import Learner, fit_teachers
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.panel.keeping import Keeping

KIND, SEED = "online", "seed"
SERVICE_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class TaughtRun:
    """Teachers that wait for questions; everything here is public."""

    plan: Plan
    learner: str
    form: str
    why: str
    columns: str
    """How many columns of each kind the teachers learned from."""
    promise: Promise


@dataclass(frozen=True, slots=True)
class ReadyPanel:
    """A plan with its mechanism, who teaches, and in which form its models will be kept."""

    planned: Planned
    learner: EstimatorLearner
    form: KeptForm


def teach(
    tables: Tables,
    ask: Callable[[Classes], Request],
    learners: Learners,
    folder: RunFolder,
    *,
    seed: int | None = None,
    watch: Watch | None = None,
) -> TaughtRun:
    """Train a teacher on every shard and keep them all in the private half of a run. Nothing is spent.

    A process that was killed is begun again by the same call; there is nothing to lose but time.

    Parameters
    ----------
    ask
        Makes the request once the classes are known; its number of queries is how many questions are planned for.
    seed
        For tests only: the run will answer with coins of this seed, and is NOT PRIVATE.
    """
    watch = Watch() if watch is None else watch
    folder.refuse_if_used()
    _refuse_without_public_rows(tables)
    look = OwnerLook()
    case = read_case(tables, folder.read_key(), SystemCoins(), look)
    watch.warn(hint_of_names(case))
    prepared = prepare_panel(case, ask(case.declared.classes), learners, seed, watch)
    plan, ready = prepared.plan, prepared.ready
    table = case.private()
    sharded = assign_shards(table, case.key, plan.n_teachers, ready.planned.request.adjacency)
    same = same_run(prepared, case, table)
    del table
    with folder.begun(same, case.key):
        with watch.progress("Training teachers", plan.n_teachers) as on_progress:
            teachers = fit_teachers(
                Keeping(ready.learner, ready.form.keep),
                sharded,
                n_classes=len(case.declared.classes),
                n_jobs=learners.n_jobs,
                time_limit=learners.time_limit,
                on_progress=on_progress,
                scratch=folder.scratch,
                engine=learners.engine,
            )
        write_panel(
            folder.teachers,
            ready.form.name,
            ready.form.content([_read(model) for model in teachers.models]),
            ready.learner,
            n_teachers=plan.n_teachers,
            stand_in=ready.form.stand_in,
        )
        decided_by = None if ready.planned.choice is None else table_bytes(plan, ready.planned.choice.mechanism)
        if decided_by is not None:
            write_once(folder.table, decided_by, mode=0o600, same_is_fine=True)
        # Begun here and nowhere else, so that a copy of the folder is known for one before anybody asks.
        with SqliteLedger(folder.ledger) as ledger:
            ledger.open(plan.digest, Limits.of_plan(plan))
        _publish(folder, plan, case.declared.schema, dict(prepared.settings))
        write_owner_check(folder, tables.private, case.declared, look)
        folder.finish()
    columns, promise = describe_kinds(case.declared.schema), ready.planned.promise
    return TaughtRun(plan, ready.learner.name, ready.form.name, plan.why, columns, promise)


def prepare_panel(
    case: Case, request: Request, learners: Learners, seed: int | None, watch: Watch
) -> Prepared[ReadyPanel]:
    """Fix what may be answered, and try out on public rows how teachers learn and how their models are kept."""
    ready = prepare_answerers(case, request, learners, watch, admit=keepable)
    plan, learner = ready.planned, keepable(ready.teaching.learner)
    form = form_of(learner, case.public.rows, len(case.declared.classes), learners.time_limit)
    options = options_of_teaching(request, learners, case.declared)
    settings = {**settings_of(plan, learner.name, case.declared.label, seed), OPTIONS: options}
    return Prepared(plan.plan, settings, ready.teaching.teacher, None, ReadyPanel(plan, learner, form))


def keepable(learner: Learner) -> EstimatorLearner:
    """Return a learner whose models can be kept, or refuse it."""
    if not isinstance(learner, EstimatorLearner):
        raise InvalidParameter(
            f"The learner {learner.name} is a program or a function, and what these learn cannot be kept in a file "
            "that is safe to open; take a learner of mapl learners, or an estimator of scikit-learn or LightGBM."
        )
    return learner


def settings_of(plan: Planned, learner: str, label: str, seed: int | None) -> dict[str, Any]:
    """Return the public settings of a run, from which its mechanism can be calibrated again."""
    request = plan.request
    return {
        "kind": KIND,
        "learner": learner,
        "label": label,
        "unit": request.unit,
        "mechanism": request.mechanism,
        "settings": dict(request.settings),
        "may_abstain": request.may_abstain,
        "agreement": None if request.agreement is None else [list(group) for group in request.agreement.groups],
        SEED: seed,  # told here; what decides is the private half
    }


def _refuse_without_public_rows(tables: Tables) -> None:
    if tables.public is None:
        raise InvalidParameter(
            "Teachers that are kept need some public rows: these tell what the columns are, and the learner is "
            "tried out on them."
        )


def _read(model: bytes | None) -> Any:
    """Read what a worker of this very run sent back; what cannot be read is a teacher that failed."""
    if model is not None:
        with suppress(Exception):
            return pickle.loads(model)
    return None


def _publish(folder: RunFolder, plan: Plan, schema: Schema, settings: dict[str, Any]) -> None:
    files = {
        PLAN: plan.to_json(),
        SCHEMA: schema.to_json(),
        SETTINGS: json.dumps(plain(settings), indent=2, ensure_ascii=False),
    }
    for name, text in files.items():
        write_once(folder.public / name, text.encode() + b"\n", same_is_fine=True)
    if not Path(folder.service_key).exists():
        write_once(folder.service_key, secrets.token_bytes(SERVICE_KEY_BYTES), mode=0o600)
