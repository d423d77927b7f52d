"""From a private table to released counts: one unit more or less is one count more or less, and is paid for once.

At epsilon 400 noise is other than zero less than once in 10^15 counts: what is released is what was counted, and
the whole path can be looked at from outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapl.data import Classes, PrivateTable, Schema, ShardKey, conform, draft_schema
from mapl.data.synthetic import LABEL, UNIT
from mapl.data.tables.private_rows import PrivateRows
from mapl.errors import InvalidParameter, LedgerError, PlanMismatch
from mapl.noise import Coins, SystemCoins
from mapl.pipeline.counts import counting
from mapl.pipeline.counts.cells_plan import PlannedCells, plan_cells
from mapl.pipeline.counts.counting import Counted, count, count_in_blocks
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.release import Entry, MemoryLedger
from mapl.release.cell_counts import MOST_ENTRIES, CellCounts
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.students.on_counts import CountStudent
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round
from mapl.types import ABSTAIN, Adjacency, Budget

Record = tuple[str, float | None, str, int]
"""Whose it is, a number, a place, a class."""

KEY = ShardKey(bytes(range(32)))
CLASSES = Classes(("a", "b", "c"))
PLAINLY = 400.0
ADJACENCIES: tuple[Adjacency, ...] = ("add-remove", "replace-one", "labels")


def rows_of(records: Sequence[Record]) -> pa.Table:
    return pa.table(
        {
            "x": pa.array([one[1] for one in records], pa.float64()),
            "place": pa.array([one[2] for one in records], pa.string()),
        }
    )


@cache
def public() -> tuple[pa.Table, Schema]:
    rows = rows_of([("", x, "north" if x > 0 else "south", 0) for x in np.linspace(-1.5, 1.5, 40).tolist()])
    schema = draft_schema(rows)
    return conform(rows, schema, "public rows"), schema


def private(records: Sequence[Record], *, ids: bool = True) -> PrivateTable:
    rows = conform(rows_of(records), public()[1], "private rows")
    labels = np.array([one[3] for one in records], np.int32)
    units = pa.array([one[0] for one in records], pa.string()) if ids else None
    return PrivateTable(PrivateRows(rows), labels, units)


def asking(epsilon: float = PLAINLY, **settings: Any) -> Request:
    settings = {"unit": "person", "n_cells": 8, "method": "cells", **settings}
    return Request(Budget(epsilon, 1e-6), CLASSES, **settings)


@cache
def planned(**settings: Any) -> PlannedCells:
    rows, schema = public()
    return plan_cells(asking(**settings), rows, schema, None, why="cells as asked")


@cache
def learner() -> CountStudent:
    return CountStudent(asking().classes, public()[1], "ridge")


class Deaf(CountStudent):
    """Learns the same whatever was counted."""

    __slots__ = ()

    def train(self, rows: Any, rounds: tuple[Round, ...]) -> Student:
        return fixed_student()


@cache
def deaf() -> CountStudent:
    return Deaf(asking().classes, public()[1], "ridge")


@cache
def fixed_student() -> Student:
    """A student that some first round might have led to; neighbours are compared given what was released before."""
    counts = np.random.default_rng(1).integers(0, 9, (40, 3))
    return learner().train(public()[0], (Round(np.arange(40), counts, 1.0),))


def counted(table: PrivateTable, plan: PlannedCells, **named: Any) -> Counted:
    named = {"coins": SystemCoins(), "student": learner(), **named}
    return count(table, public()[0], plan, KEY, Workplace(MemoryLedger()), **named)


def released(table: PrivateTable, plan: PlannedCells) -> tuple[Round, ...]:
    """Return every round, the second one as if the first had led to the same student whoever is in the table."""
    return counted(table, plan, student=deaf()).rounds


def changes(one: PrivateTable, other: PrivateTable, plan: PlannedCells) -> Iterator[NDArray[np.int64]]:
    """Yield by how much the counts of two tables differ, round by round."""
    for before, after in zip(released(one, plan), released(other, plan), strict=True):
        if before.cells.tolist() == after.cells.tolist():  # else a first round without any label kept its cells
            yield after.counts - before.counts


contents = st.tuples(
    st.none() | st.floats(-3, 3) | st.sampled_from([0.0, 1e30, -1e30]),
    st.sampled_from(["north", "south", "moon", ""]),
    st.integers(0, 2),
)
somebody = st.sampled_from(["ann", "bob", "cem", "7", "07"])
newcomers = st.sampled_from(["0", "bea", "zoe"])  # before, among and after the others
tables = st.lists(st.tuples(somebody, contents).map(lambda one: (one[0], *one[1])), max_size=12)
histories = st.lists(contents, min_size=1, max_size=4)
plans = st.fixed_dictionaries(
    {
        "per_unit": st.sampled_from(["keyed", "latest:x"]),
        "partition": st.sampled_from(["points", "centroids", "leaves"]),
        "rounds": st.sampled_from([1, 1, 2]),
    }
)


def mixed_in(records: list[Record], theirs: list[Record], data: Any) -> list[Record]:
    """Put some records among others, which keep their order."""
    both = list(records)
    for one in theirs:
        both.insert(data.draw(st.integers(0, len(both))), one)
    return both


@settings(max_examples=80, deadline=None)
@given(records=tables, history=histories, plan=plans, data=st.data())
def test_a_unit_more_is_one_count_more(records: Any, history: Any, plan: Any, data: Any) -> None:
    """Whatever it is, wherever its records stand, and however many there are; in every round."""
    newcomer = data.draw(newcomers)
    both = mixed_in(records, [(newcomer, *one) for one in history], data)
    rounds = released(private(records), planned(**plan))
    assert [one.counts.sum() for one in rounds] == plan["rounds"] * [len({record[0] for record in records})]
    for change in changes(private(records), private(both), planned(**plan)):
        assert (change.sum(), np.abs(change).sum()) == (1, 1)


@settings(max_examples=40, deadline=None)
@given(records=tables, newcomer=contents, data=st.data())
def test_without_ids_a_record_more_is_one_count_more(records: Any, newcomer: Any, data: Any) -> None:
    """Also one that is equal to another."""
    plan = planned(unit=None)
    newcomer = data.draw(st.sampled_from([newcomer, *(one[1:] for one in records)]))
    both = mixed_in(records, [("", *newcomer)], data)
    assert released(private(records, ids=False), plan)[0].counts.sum() == len(records)
    (change,) = changes(private(records, ids=False), private(both, ids=False), plan)
    assert (change.sum(), np.abs(change).sum()) == (1, 1)


@settings(max_examples=40, deadline=None)
@given(records=tables, before=histories, after=histories, plan=plans, data=st.data())
def test_a_unit_that_changes_leaves_one_count_and_enters_another(
    records: Any, before: Any, after: Any, plan: Any, data: Any
) -> None:
    plan = planned(adjacency="replace-one", **plan)
    assert plan.mechanism("counts", 9).sensitivity == 2
    person = data.draw(newcomers)
    one, other = (
        private(mixed_in(records, [(person, *record) for record in history], data)) for history in (before, after)
    )
    for change in changes(one, other, plan):
        assert change.sum() == 0
        assert np.abs(change).sum() in (0, 2)


@settings(max_examples=40, deadline=None)
@given(records=tables.filter(len), labels=st.lists(st.integers(0, 2), min_size=12, max_size=12), plan=plans)
def test_a_changed_label_stays_in_its_cell(records: Any, labels: Any, plan: Any) -> None:
    """Which record of a unit counts is settled without its labels."""
    plan = planned(adjacency="labels", **plan)
    assert plan.mechanism("counts", 9).sensitivity == 2
    person = records[0][0]
    turned = [(*one[:3], label) if one[0] == person else one for one, label in zip(records, labels, strict=False)]
    for change in changes(private(records), private(turned), plan):
        assert not change.sum(axis=1).any()
        assert np.abs(change).sum() in (0, 2)


def test_counting_every_record_of_a_unit_would_be_caught() -> None:
    """The control: a person with three records in three cells, counted as if records were units."""
    history = [("zoe", -2.0, "south", 0), ("zoe", 0.1, "north", 1), ("zoe", 2.0, "north", 2)]
    others: list[Record] = [("ann", 0.0, "north", 1)]
    (change,) = changes(private(others, ids=False), private([*others, *history], ids=False), planned(unit=None))
    assert np.abs(change).sum() == 3


def test_the_record_that_counts_is_the_declared_one() -> None:
    visits: list[Record] = [("ann", -2.0, "south", 0), ("ann", 2.0, "north", 2), ("bob", 0.0, "north", 1)]
    (one,) = released(private(visits), planned(per_unit="latest:x"))
    assert one.counts.sum(axis=0).tolist() == [0, 1, 1]
    twice = [visits[0], visits[0], visits[2]]
    (one,) = released(private(twice), planned(per_unit="only"))
    assert one.counts.sum(axis=0).tolist() == [1, 1, 0]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_somebody_with_two_records_where_one_was_declared_is_no_reason_to_refuse(adjacency: str) -> None:
    """That there is a run at all would otherwise tell about everybody in the table."""
    visits: list[Record] = [("ann", -2.0, "south", 0), ("ann", -2.0, "south", 1), ("bob", 0.0, "north", 1)]
    (by_lot,) = released(private(visits), planned(adjacency=adjacency))
    (declared,) = released(private(visits), planned(per_unit="only", adjacency=adjacency))
    assert declared.counts.tolist() == by_lot.counts.tolist()
    assert declared.counts.sum() == 2


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_that_is_no_class_is_refused_before_the_ledger_knows(label: int) -> None:
    ledger = MemoryLedger()
    with pytest.raises(Exception, match="class numbers from 0 to 2"):
        count(
            *(private([("ann", 0.0, "north", label)]), public()[0], planned(), KEY, Workplace(ledger)),
            coins=SystemCoins(),
        )
    assert [one.kind for one in ledger.entries()] == ["plan"]


class TestPlan:
    def test_what_is_planned(self) -> None:
        plan = planned(epsilon=1.0).plan
        (stage,) = plan.stages
        assert (plan.n_teachers, plan.n_queries, plan.unit) == (0, 40, "person")
        assert (stage.budget.epsilon, stage.budget.delta) == (1.0, 0.0)
        size = {"cells": 9, "classes": 3, "entries": 27}
        noise = {"epsilon": 1.0, "sensitivity": 1}
        assert dict(stage.parameters) == {**size, **noise, "partition": "points", "per unit": "keyed"}
        assert "per unit" not in planned(epsilon=1.0, unit=None).plan.stages[0].parameters

    def test_every_choice_has_a_digest_of_its_own(self) -> None:
        choices: list[dict[str, Any]] = [
            {},
            *({"per_unit": rule} for rule in ("only", "latest:x")),
            {"partition": "leaves"},
            {"rounds": 2},
            {"n_cells": 7},
            {"adjacency": "replace-one"},
            {"epsilon": 2.0},
            {"unit": None},
        ]
        assert len({planned(**one).plan.digest for one in choices}) == len(choices)

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.3, 7.7])
    def test_two_rounds_share_the_budget_and_no_more(self, epsilon: float) -> None:
        plan = planned(epsilon=epsilon, rounds=2).plan
        first, second = (stage.budget.epsilon for stage in plan.stages)
        assert first == pytest.approx(0.4 * epsilon)
        assert Fraction(first) + Fraction(second) <= Fraction(epsilon)
        assert first + second == pytest.approx(epsilon)

    def test_public_rows_that_are_alike_are_refused(self) -> None:
        rows = conform(rows_of([("", 1.0, "north", 0)] * 20), public()[1], "public rows")
        with pytest.raises(InvalidParameter, match="There would be one cell"):
            plan_cells(asking(), rows, public()[1], None, why="")
        with pytest.raises(InvalidParameter, match="one cell was asked for"):
            planned(n_cells=1)

    def test_more_counts_than_memory_holds_are_refused_before_a_private_row_is_read(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mapl.release.cell_counts.MOST_ENTRIES", 26)
        assert MOST_ENTRIES > 27
        with pytest.raises(InvalidParameter, match="27 counts; at most 26"):
            plan_cells(asking(), *public(), None, why="")

    def test_which_record_of_a_unit_counts_needs_units(self) -> None:
        for rule in ("only", "latest:x"):
            with pytest.raises(InvalidParameter, match="there is no column of ids: give it with unit"):
                asking(unit=None, per_unit=rule)
        with pytest.raises(InvalidParameter, match="'first'; choose keyed"):
            asking(per_unit="first")

    def test_the_latest_by_a_column_that_has_no_order_is_refused(self) -> None:
        with pytest.raises(InvalidParameter, match=r"'place'.*choose among x"):
            planned(per_unit="latest:place")


VISITS: list[Record] = [
    (person, x, "north" if x > 0 else "south", int(x > 0.5) + int(x > -0.5))
    for person, x in zip(map(str, range(60)), np.random.default_rng(3).uniform(-1.5, 1.5, 60).tolist(), strict=True)
]


class TestStatement:
    @pytest.mark.parametrize(("rounds", "epsilon"), [(1, 1.0), (2, 1.0), (2, 0.3)])
    def test_what_is_promised_and_spent(self, rounds: int, epsilon: float) -> None:
        plan = planned(epsilon=epsilon, rounds=rounds)
        ledger = MemoryLedger()
        made = count(
            *(private(VISITS), public()[0], plan, KEY, Workplace(ledger)),
            coins=SystemCoins(),
            student=learner(),
        )
        said = made.labelled.statement
        assert epsilon * (1 - 1e-12) <= said.epsilon == said.guaranteed_epsilon <= epsilon * (1 + 1e-12)
        assert (said.delta, said.budget_epsilon, said.teachers, said.mechanism) == (
            0.0,
            epsilon,
            0,
            CellCounts.name,
        )
        assert said.cells == len(made.rounds[-1].counts)
        assert [one.name for one in said.stages] == ["counts", "counts again"][:rounds]
        assert (said.plan_digest, said.ledger_head) == (plan.plan.digest, ledger.head)
        assert (said.halted, said.private, said.queries) == (False, True, 40)
        assert said.answered == np.count_nonzero(made.labelled.labels != ABSTAIN)
        assert said.answered + said.abstained == 40
        assert "all records of one person are added" in said.adjacency
        assert "counted, class by class, in cells" in said.in_plain_words

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"unit": None}, "Every record was counted once, in one cell"),
            ({}, "Of every person one record was counted, drawn by a keyed hash"),
            ({"per_unit": "only"}, "has one record, as you declared"),
            ({"per_unit": "latest:x"}, "Of every person the record with the largest x was counted"),
            ({"adjacency": "replace-one"}, "who is in the table, may be known to anybody"),
            ({"adjacency": "labels"}, "Every feature of every row may be known to anybody"),
        ],
    )
    def test_assumptions(self, settings: dict[str, Any], words: str) -> None:
        plan = planned(**settings)
        said = counted(private(VISITS, ids=plan.request.unit is not None), plan).labelled.statement
        every = (*said.checked, *said.assumptions)
        assert sum(words in one for one in every) == 1
        assert not any("teacher" in one for one in every)

    def test_records_far_from_everything_public_are_warned_of_by_noisy_counts(self) -> None:
        plan = planned(epsilon=2.0)
        assert counted(private(VISITS), plan).warning is None
        astray = [*VISITS, *((f"far {i}", 1e6, "moon", 0) for i in range(40))]
        warning = counted(private(astray), plan).warning
        assert warning is not None
        assert "of the private records (by noisy counts) lie far from all public rows" in warning
        assert counted(private(astray), planned(epsilon=2.0, partition="leaves")).warning is None

    def test_counts_that_say_nothing_leave_no_label_and_the_second_round_keeps_the_cells(self) -> None:
        """There is no student then to draw other cells; the second round is paid for and counts all the same."""
        nobody: list[Record] = []
        made = counted(private(nobody), planned(rounds=2))
        assert not any(one.counts.any() for one in made.rounds)
        assert made.rounds[0].cells.tolist() == made.rounds[1].cells.tolist()
        assert (made.labelled.labels == ABSTAIN).all()
        assert made.labelled.statement.answered == 0

    def test_progress_is_shown_in_rounds_whatever_the_number_of_records(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mapl.data.cells.space.ENTRIES_AT_ONCE", 1)
        for records in ([], VISITS[:1], VISITS):
            steps: list[int] = []
            counted(private(records), planned(rounds=2), on_progress=steps.append)
            assert steps == [1, 2]


class Forbidden(Coins):
    """Coins that nobody may flip."""

    private = True

    def words(self, n: int) -> NDArray[np.uint64]:
        raise AssertionError("a recorded table was drawn again")


class Killed(BaseException):
    """The end of a process, as far as a test can have it."""


class Mortal(SqliteLedger):
    """A ledger whose process dies at its n-th entry, right before it is on disk or right after."""

    lives: int = 10**9
    after: bool = False

    def append(self, entry: Entry, **named: Any) -> None:
        self.lives -= 1
        if self.lives == 0 and not self.after:
            raise Killed
        super().append(entry, **named)
        if self.lives == 0:
            raise Killed


class TestKilled:
    @pytest.mark.parametrize("after", [False, True])
    @pytest.mark.parametrize("lives", [1, 2, 3, 4])
    def test_killed_at_any_entry_a_run_spends_once(self, tmp_path: Path, lives: int, after: bool) -> None:
        plan = planned(epsilon=0.5, rounds=2)
        do = partial_count(plan)
        with Mortal(tmp_path / "ledger.sqlite") as ledger:
            ledger.lives, ledger.after = lives, after
            with pytest.raises(Killed):
                do(ledger)
            recorded = {name: ledger.progress(name).labels.tolist() for name in ("counts", "counts again")}
        with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
            made = do(ledger)
            ledger.verify()
            kinds = [(one.stage, one.kind) for one in ledger.entries()[1:]]
            again = do(ledger, coins=Forbidden())
        stages = ("counts", "counts again")
        assert kinds == [(stage, kind) for stage in stages for kind in ("start", "halted")]
        for one, stage in zip(made.rounds, stages, strict=True):
            assert recorded[stage] in ([], one.counts.ravel().tolist())  # what was on record is what is published
        assert [one.counts.tolist() for one in again.rounds] == [one.counts.tolist() for one in made.rounds]
        assert again.labelled.statement == made.labelled.statement

    def test_other_cells_or_settings_are_refused(self, tmp_path: Path) -> None:
        """Counts of a second map must not be read as those of another one."""
        plan = planned(epsilon=0.5, rounds=2)
        with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
            partial_count(plan)(ledger)
            with pytest.raises(LedgerError):
                partial_count(planned(epsilon=0.5, rounds=2, per_unit="latest:x"))(ledger)
            with pytest.raises(PlanMismatch, match="differ"):
                partial_count(plan)(ledger, student=deaf())


def partial_count(plan: PlannedCells) -> Callable[..., Counted]:
    def do(ledger: SqliteLedger, **named: Any) -> Counted:
        named = {"coins": SystemCoins(), "student": learner(), **named}
        return count(private(VISITS), public()[0], plan, KEY, Workplace(ledger), **named)

    return do


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_counts_of_blocks_are_those_of_the_table(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    cells, table = planned().cells, private(VISITS, ids=False)
    monkeypatch.setattr(counting, "ROWS_AT_ONCE", at_once)
    whole = cells.counts(table.rows.open(), table.labels, len(CLASSES))
    assert whole.sum() == len(VISITS)
    assert (count_in_blocks(cells, table, len(CLASSES)) == whole).all()
    assert not count_in_blocks(cells, private([], ids=False), len(CLASSES)).any()


@pytest.mark.parametrize("more", [(), ("--adjacency", "replace-one", "--per-unit", "latest:age")])
def test_from_file_to_file(
    mapl: Callable[..., Any], clinic: Any, monkeypatch: pytest.MonkeyPatch, more: tuple[Any, ...]
) -> None:
    """The same from two neighbouring files to two published tables of counts, with somebody odd at the front."""
    monkeypatch.setattr(ShardKey, "fresh", classmethod(lambda cls: KEY))
    table = pa.parquet.read_table(clinic.private)
    odd = {"age": [None, 1e30], "bmi": [-1e9, None], "glucose": [0.0, 1e-30], "pressure": [1.0, 2.0]}
    named = {
        "smoking": ["cigars", None],
        "region": ["moon", "north"],
        "active": [None, "yes"],
        LABEL: ["yes", "no"],
    }
    newcomer = pa.table({UNIT: ["zzz", "zzz"], **odd, **named}).cast(table.schema)
    if more:  # the ids stay, what they say changes
        person = table[UNIT][0].as_py()
        others = table.filter(pa.compute.field(UNIT) != person)
        newcomer = newcomer.set_column(0, UNIT, pa.array([person, person]))
        neighbour, changed = pa.concat_tables([newcomer, others]), (0, 2)
    else:
        neighbour, changed = pa.concat_tables([newcomer, table]), (1,)
    counts = []
    for name, private_rows in (("one", table), ("other", neighbour)):
        pa.parquet.write_table(private_rows, f"{name}.parquet")
        command = clinic.arguments(
            *("--method", "cells", "--epsilon", 900, "--out", name, *more),
            private=Path(f"{name}.parquet"),
            teachers="auto",
        )
        ran = mapl(*command)
        assert ran.code == 0, ran.stderr
        cells = pa.parquet.read_table(f"{name}/public/cells.parquet")
        counts.append(np.column_stack([cells["count no"], cells["count yes"]]))
    assert counts[0].sum() == len(pa.compute.unique(table[UNIT]))
    assert np.abs(counts[1] - counts[0]).sum() in changed
    plans = [json.loads(Path(f"{name}/public/plan.json").read_text()) for name in ("one", "other")]
    assert plans[0] == plans[1]
