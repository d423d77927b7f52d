"""The face of folders: tables are read from files, a run is resumed where it was killed, results become files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from mapl import __version__
from mapl.data.sources.source import Address
from mapl.data.tables.rows import Rows, without
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import PrivateTable, read_table
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.parameters import spell
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.learn import Learned, learn
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results
from mapl.pipeline.place import KeptStudent, Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.runs.continued import take_rest
from mapl.pipeline.runs.fingerprint import fingerprint
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.inputs import (
    declare,
    declare_alone,
    read_test_rows,
    split_label_private,
    take_public_rows,
)
from mapl.pipeline.runs.options import OPTIONS, options_of_learning
from mapl.pipeline.runs.owner.check_file import hint_of_names, write_owner_check
from mapl.pipeline.runs.owner.look import OwnerLook
from mapl.pipeline.runs.private_input import table_as_declared
from mapl.pipeline.runs.published import (
    LABEL_VALUES,
    find_students,
    publish_card,
    publish_cells,
    publish_files,
    publish_labels,
    publish_student,
    publish_students,
    refuse_unfit_groups,
)
from mapl.pipeline.runs.tables import Tables
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Plan
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.teachers.learners.description import describe_learner


def learn_in_folder(
    tables: Tables,
    request: Request,
    learners: Learners,
    folder: RunFolder,
    *,
    seed: int | None = None,
    watch: Watch | None = None,
    earlier: Sequence[RunFolder] = (),
) -> Learned:
    """Carry out a run, or go on with it after a crash; the files of the folder are the result.

    Parameters
    ----------
    request
        What is asked for; its classes are those that are declared, once that is known.
    seed
        For tests only: coins and shards of a seed, and a result that is NOT PRIVATE.
    earlier
        The runs that this one goes on from, where the request says that it does; it notes itself there.
    """
    folder.refuse_if_used()
    coins = SystemCoins() if seed is None else SeededCoins(seed)
    look = OwnerLook()
    case = read_case(tables, folder.read_key(seed), coins, look)
    refuse_unfit_groups(tables.groups, case.declared.schema, several=bool(tables.further))
    if tables.test is not None:
        given = case.declared
        for name in given.labels:
            read_test_rows(tables.test, given.schema, given.classes, label=name, number_range=given.number_range)
    watch = Watch() if watch is None else watch
    watch.warn(None if tables.test is not None else hint_of_names(case))  # test rows show names, or were refused
    request = replace(request, classes=case.declared.classes)
    options = options_of_learning(request, learners, case.declared, tables.groups)
    place = FolderPlace(folder, case.key, tables.groups, tuple(earlier), options, tables.further and tables.labels)
    learned = learn(case, request, learners, place, watch)
    write_owner_check(folder, tables.private, case.declared, look)
    return learned


def read_case(tables: Tables, key: ShardKey, coins: Coins, look: OwnerLook | None = None) -> Case:
    """Read the public rows and what is declared; the private table waits in its file until it is asked for.

    Parameters
    ----------
    look
        What goes along then, for the table's owner.
    """
    if tables.label_private:
        return _read_label_private(tables, key, coins)
    if tables.public is None:
        return _read_alone(tables, key, coins, look)
    table = read_table(tables.public, what="public rows", as_text=tables.written)
    given = _declared(table, tables)
    return Case(given, take_public_rows(table, given), tables.door(given, look), key, coins)


def _read_alone(tables: Tables, key: ShardKey, coins: Coins, look: OwnerLook | None) -> Case:
    """Take what is declared about columns for all that is public; rows are made up of it."""
    assert tables.schema is not None
    if tables.choices:
        raise InvalidParameter(
            f"{spell('drop')} and {spell('categories')} change what is drafted from public rows, and there are "
            'none; change the schema instead, which may list columns to leave out: "dropped": ["NAME"].'
        )
    given = declare_alone(
        tables.schema,
        label=tables.label,
        classes=tables.classes,
        unit=tables.unit,
        label_values=tables.label_values,
        number_range=tables.number_range,
    )
    given = replace(given, no_unit=tables.no_unit)
    return Case(given, PublicRows.of_schema(given.schema), tables.door(given, look), key, coins)


def _read_label_private(tables: Tables, key: ShardKey, coins: Coins) -> Case:
    """Draft everything from the features, which are public; the labels wait in their column until they are read."""
    table = read_table(_one_file(tables.private), what="private rows", as_text=(*tables.labels, *tables.written))
    features = without(table, [name for name in tables.labels if name in table.column_names])
    given = _declared(features, tables)
    whole = table_as_declared(table, given)
    teaching, questions = split_label_private(whole, key)
    return Case(given, PublicRows(questions, None), lambda: teaching, key, coins)


def _one_file(private: Address) -> Path:
    """Refuse what is no single file: all features are public here, and are drafted from as a whole."""
    path = Path(private)
    if "://" in str(private) or path.is_dir():
        raise InvalidParameter(
            f"{spell('label_private')} takes a table in one file, .csv, .parquet or .arrow; write it into one."
        )
    return path


def _declared(public: Rows, tables: Tables) -> Declared:
    return declare(
        public,
        label=tables.label,
        classes=tables.classes,
        unit=tables.unit,
        schema=tables.schema,
        no_unit=tables.no_unit,
        choices=tables.choices,
        label_values=tables.label_values,
        number_range=tables.number_range,
        further=tables.further,
    )


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A place on disk: the same command finds its unfinished run again and goes on."""

    folder: RunFolder
    key: ShardKey
    groups: tuple[str, ...] = ()
    earlier: tuple[RunFolder, ...] = ()
    """The runs that this one goes on from, as they were named."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """By which options the run was asked for, as far as these may be published."""
    labels: tuple[str, ...] = ()
    """The names of the labels, where there are several."""

    @contextmanager
    def opened(self, prepared: Prepared[Any], case: Case, table: PrivateTable) -> Iterator[Workplace]:
        with (
            self.folder.begun(same_run(prepared, case, table, groups=list(self.groups)), self.key),
            SqliteLedger(self.folder.ledger) as ledger,
        ):
            ledger.open(prepared.plan.digest, Limits.of_plan(prepared.plan))
            take_rest(prepared.plan, ledger.run_id, self.folder.path.resolve().name, self.earlier)
            yield Workplace(ledger, self.folder.ballot, self.folder.scratch)

    def publish(self, prepared: Prepared[Any], case: Case, results: Results, workplace: Workplace) -> None:
        pa.default_memory_pool().release_unused()
        given, rows = case.declared, case.public.rows
        publish_labels(
            self.folder,
            results.labelled,
            prepared.plan,
            workplace.ledger.export(),
            classes=given.classes,
            schema=given.schema,
            settings={
                **prepared.settings,
                **_values_of(given),
                "groups": list(self.groups),
                **results.settings,
                OPTIONS: dict(self.options),
            },
            questions=rows,
            groups=self.groups,
        )
        publish_files(self.folder, results.files)
        if results.counted is not None:
            publish_cells(self.folder, results.counted, given.classes, rows)

    def find_student(self, results: Results) -> KeptStudent | None:
        said = results.labelled.statement.to_json()
        if self.labels:
            return find_students(self.folder, said, results.lesson)
        return publish_card(self.folder, said) if self.folder.student.exists() else None

    def keep_student(self, student: KeptStudent, results: Results) -> KeptStudent:
        said = results.labelled.statement.to_json()
        if isinstance(student, tuple):
            return publish_students(self.folder, student, said)
        return publish_student(self.folder, student, said)


def same_run(prepared: Prepared[Any], case: Case, table: PrivateTable, **more: Any) -> dict[str, object]:
    """Return what a resumed run must have in common with the one that was killed.

    Had it read the tables otherwise, votes of teachers from two different partitions would be counted together, and
    one unit could have two of them.
    """
    public = case.public
    return {
        "version": __version__,
        "table": fingerprint(table.rows.open(), table.labels, table.unit_ids, let_go=table.rows.let_go),
        "public": fingerprint(public.rows, public.truth),
        "unit": case.declared.unit,
        **_values_of(case.declared),
        **prepared.settings,
        **more,
        **digest_fixed(prepared.plan, case.declared.schema),
        # Their names are published; their settings may name local paths and stay in the private half.
        "learner": describe_learner(prepared.teacher),
        "student": describe_learner(prepared.student),
    }


def _values_of(given: Declared) -> dict[str, object]:
    """Return what labels mean, where that was declared, for whoever reads labels of test rows later."""
    return {LABEL_VALUES: [list(pair) for pair in given.classes.values]} if given.classes.values else {}


def digest_fixed(plan: Plan, schema: Schema) -> dict[str, str]:
    """Return digests of what a run's promise and its reading of rows are fixed by."""
    return {"plan": plan.digest, "columns": hashlib.sha256(schema.to_json().encode()).hexdigest()}
