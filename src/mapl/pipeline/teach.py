"""Teachers that are kept: trained on the shards of a private table, for questions that come later.

Nothing is released and nothing is spent here; `mapl.pipeline.online` is what answers.
"""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mapl.data.classes import Classes
from mapl.data.encoding import for_teachers, sees_spectral, shared_encoder
from mapl.data.id_columns import id_warning
from mapl.data.schema import Schema
from mapl.data.table import read_table
from mapl.errors import InvalidParameter
from mapl.noise import Coins, SystemCoins
from mapl.pipeline.by_teachers import DEFAULT_TEACHER
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.inputs import declared, public_rows, read_private
from mapl.pipeline.job import Job, Learners, Progress, Source, Tables
from mapl.pipeline.kept_form import form_of
from mapl.pipeline.label import shards
from mapl.pipeline.learn import no_progress
from mapl.pipeline.method import sized
from mapl.pipeline.panel_file import write_panel
from mapl.pipeline.published import PLAN, SCHEMA, SETTINGS
from mapl.pipeline.request import Planned, Request, planned
from mapl.planning.plan import Plan, plain
from mapl.release.write_once import write_once
from mapl.teachers import as_learner, fit_teachers, rehearse
from mapl.teachers.estimator import EstimatorLearner
from mapl.teachers.panel.keeping import Keeping

KIND = "online"
SERVICE_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Taught:
    """Teachers that wait for questions; everything here is public."""

    plan: Plan
    learner: str
    form: str
    why: str


def teach(
    tables: Tables,
    ask: Callable[[Classes], Request],
    learners: Learners,
    folder: RunFolder,
    *,
    coins: Coins | None = None,
    seed: int | None = None,
    progress: Progress = no_progress,
    on_warning: Callable[[str], None] = lambda words: None,
) -> Taught:
    """Train a teacher on every shard and keep them all in the private half of a run. Nothing is spent.

    A process that was killed is begun again by the same call; there is nothing to lose but time.

    Parameters
    ----------
    ask
        Makes the request once the classes are known; its number of queries is how many questions are planned for.
    seed
        For tests only: the run will answer with coins of this seed, and is NOT PRIVATE.
    """
    folder.refuse_if_used()
    source = _source(tables)
    given, questions = source.declared, source.questions
    key = folder.read_key()
    job = Job(
        tables, learners, folder, source, key, SystemCoins() if coins is None else coins, progress, on_warning
    )
    job.warn(id_warning(questions.rows, given.schema))
    request = ask(given.classes)
    n_queries = request.n_queries
    if n_queries is None or request.adjacency == "labels" or request.method != "teachers":
        raise InvalidParameter(
            "Teachers are kept for a planned number of questions, and protect whole rows: give the number of "
            'queries, the method "teachers" and the adjacency "add-remove" or "replace-one".'
        )
    learner = _learner(job)
    form = form_of(learner, questions.rows, len(given.classes), learners.time_limit)
    encoder = learner.encoder
    request = replace(request, spectral=sees_spectral(learners.teacher or DEFAULT_TEACHER, encoder))
    plan = planned(request if request.n_teachers is not None else sized(job, request), n_queries)
    job.warn(plan.warning)
    settings = settings_of(plan, learner.name, given.label, seed)
    sharded = shards(source.private(), key, plan.plan.n_teachers, request.adjacency)
    with folder.begun(job.same(plan.plan, settings, learners.teacher or DEFAULT_TEACHER), key):
        with progress("Training teachers", plan.plan.n_teachers) as on_progress:
            teachers = fit_teachers(
                Keeping(learner, form.keep),
                sharded,
                n_classes=len(given.classes),
                n_jobs=learners.n_jobs,
                time_limit=learners.time_limit,
                on_progress=on_progress,
                scratch=folder.scratch,
            )
        kept = [_read(model) for model in teachers.models]
        content = form.content(kept)
        write_panel(
            folder.teachers,
            form.name,
            content,
            learner,
            n_teachers=plan.plan.n_teachers,
            stand_in=form.stand_in,
        )
        _publish(folder, plan.plan, given.schema, settings)
        folder.finish()
    return Taught(plan.plan, learner.name, form.name, plan.plan.why)


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
        "seed": seed,
    }


def _source(tables: Tables) -> Source:
    if tables.public is None:
        raise InvalidParameter(
            "Teachers that are kept need some public rows: these tell what the columns are, and the learner is "
            "tried out on them."
        )
    table = read_table(tables.public, what="public rows")
    given = declared(table, label=tables.label, classes=tables.classes, unit=tables.unit, schema=tables.schema)
    return Source(given, public_rows(table, given), lambda: read_private(tables.private, given))


def _learner(job: Job) -> EstimatorLearner:
    """Return the learner; one whose models cannot be kept in a safe file is refused before any row is read."""
    learners, given, rows = job.learners, job.source.declared, job.source.questions.rows
    teacher = learners.teacher or DEFAULT_TEACHER
    encoder = shared_encoder(given.schema, rows, (teacher,))
    learner = as_learner(teacher, given.classes, given.schema, for_teachers(encoder))
    if not isinstance(learner, EstimatorLearner):
        raise InvalidParameter(
            f"The learner {learner.name} is a program or a function, and what these learn cannot be kept in a file "
            "that is safe to open; take a learner of mapl learners, or an estimator of scikit-learn or LightGBM."
        )
    rehearse(learner, rows, len(given.classes), n_jobs=learners.n_jobs, time_limit=learners.time_limit)
    return learner


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
