"""The whole job on files: a private table in, a folder with a model that may be published out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from mapl.data.classes import Classes
from mapl.data.id_columns import id_warning
from mapl.data.rows import n_rows, without
from mapl.data.schema import Schema
from mapl.data.shards import ShardKey
from mapl.data.table import private_table, read_table
from mapl.noise import Coins, SystemCoins
from mapl.pipeline.by_active import by_active
from mapl.pipeline.by_cells import by_cells
from mapl.pipeline.by_soft import by_soft, is_soft
from mapl.pipeline.by_teachers import by_teachers
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.inputs import PublicRows, declared, public_rows, read_private, split_label_private, test_rows
from mapl.pipeline.job import Job, Learned, Learners, Progress, Source, Tables
from mapl.pipeline.method import Method, carry_out
from mapl.pipeline.planned_cells import affordable_cells
from mapl.pipeline.published import refuse_unfit_groups
from mapl.pipeline.request import Request
from mapl.pipeline.selection import by_selection
from mapl.planning.method_rule import Facts, better_elsewhere, method_for

__all__ = ["Learned", "Learners", "Progress", "Tables", "learn"]


@contextmanager
def no_progress(what: str, total: int) -> Iterator[None]:
    """Show nothing."""
    yield None


def learn(
    tables: Tables,
    ask: Callable[[Classes], Request],
    learners: Learners,
    folder: RunFolder,
    *,
    coins: Coins | None = None,
    progress: Progress = no_progress,
    on_warning: Callable[[str], None] = lambda words: None,
) -> Learned:
    """Carry out a run, or go on with it after a crash; the files of the folder are the result.

    Parameters
    ----------
    ask
        Makes the request once the classes are known.
    on_warning
        Called with what a user should think about; it follows from public rows and settings, or from what was
        released, and from nothing else.
    """
    coins = SystemCoins() if coins is None else coins
    folder.refuse_if_used()
    key = folder.read_key()
    source = _label_private(tables, key) if tables.label_private else _with_public_rows(tables)
    given, questions = source.declared, source.questions
    refuse_unfit_groups(tables.groups, given.schema)
    job = Job(tables, learners, folder, source, key, coins, progress, on_warning)
    job.warn(id_warning(questions.rows, given.schema))
    if tables.test is not None:
        test_rows(tables.test, given.schema, given.classes, label=given.label)
    request = ask(given.classes)
    named = learners.wants_teachers
    request.refuse_mixture(request.wants_teachers or named)
    facts = facts_of(request, given.schema, n_rows(questions.rows), named)
    job.warn(better_elsewhere(facts))
    return carry_out(job, _method(job, request, facts))


def _method(job: Job, request: Request, facts: Facts) -> Method:
    if is_soft(job.learners.strategy):
        return by_soft(job, request, str(job.learners.strategy))
    if job.learners.active is not None:
        return by_active(job, request, job.learners.active)
    if request.candidates:
        return by_selection(job, request)
    way, why = method_for(facts) if request.method == "auto" else (request.method, f"{request.method} as asked")
    return by_cells(job, request, why) if way == "cells" else by_teachers(job, replace(request, why=why))


def facts_of(request: Request, schema: Schema, n_public: int, named: str | None = None) -> Facts:
    """Gather what everybody may know: public rows, declared columns and settings.

    Parameters
    ----------
    named
        What else was asked for that only teachers have, such as a learner.
    """
    return Facts(
        n_public=n_public,
        n_cells=affordable_cells(request, n_public)[0],
        kinds={column.kind for column in schema.columns},
        n_switches=sum(column.is_switch for column in schema.columns),
        wants_teachers=request.wants_teachers or named,
        wants_cells=request.wants_cells,
    )


def _with_public_rows(tables: Tables) -> Source:
    assert tables.public is not None
    table = read_table(tables.public, what="public rows")
    given = declared(table, label=tables.label, classes=tables.classes, unit=tables.unit, schema=tables.schema)
    return Source(given, public_rows(table, given), lambda: read_private(tables.private, given))


def _label_private(tables: Tables, key: ShardKey) -> Source:
    """Draft everything from the features, which are public; the labels wait in their column until they are read."""
    table = read_table(tables.private, what="private rows", as_text=(tables.label,))
    features = without(table, [tables.label]) if tables.label in table.column_names else table
    given = declared(features, label=tables.label, classes=tables.classes, unit=tables.unit, schema=tables.schema)
    whole = private_table(table, label=given.label, classes=given.classes, unit=given.unit, schema=given.schema)
    teaching, questions = split_label_private(whole, key)
    return Source(given, PublicRows(questions, None), lambda: teaching)
