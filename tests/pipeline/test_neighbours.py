"""Adding, removing or changing one unit changes one teacher, from the file to the counted votes.

Every test here runs the whole command twice, on two neighbouring tables with the same key, and compares what
reached the teachers and what they said, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from watched import Poll, one_moved_vote, rows_where

from mapl.data.synthetic import LABEL, UNIT

Polled = Callable[..., Poll]

SEEDS = (0, 1, 2)


def somebody(table: pa.Table, seed: int) -> str:
    """Choose a patient with several visits."""
    ids, visits = np.unique(table[UNIT].to_pylist(), return_counts=True)
    return str(np.random.default_rng(seed).choice(ids[visits >= 3]))


def with_cells(table: pa.Table, column: str, cells: Any) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


def flipped(table: pa.Table, chosen: Any) -> pa.Table:
    """Turn the labels of some rows around."""
    labels = [
        {"no": "yes", "yes": "no"}[label] if turn else label
        for label, turn in zip(table[LABEL].to_pylist(), chosen, strict=True)
    ]
    return with_cells(table, LABEL, labels)


def check_one_changed(one: Poll, other: Poll) -> int:
    """Check that the two runs differ in one teacher at most, and return it."""
    assert one.questions == other.questions
    (k,) = one.changed_shards(other)
    assert one.changed_teachers(other) in ([], [k])
    assert [i for i, errors in enumerate(one.own_errors) if other.own_errors[i] != errors] in ([], [k])
    assert one_moved_vote(one.counts, other.counts)
    return k


def test_a_patient_more_or_less(polled: Polled, clinic: Any) -> None:
    table = pa.parquet.read_table(clinic.private)
    whole, changed = polled(table), set()
    for seed in SEEDS:
        person = somebody(table, seed)
        without = polled(rows_where(table, [one != person for one in table[UNIT].to_pylist()]))
        changed.add(check_one_changed(whole, without))
    assert len(changed) > 1  # not always the same teacher
    assert any(votes is not None for votes in whole.votes.values())


def test_somebody_new_at_the_front_whose_rows_are_like_nobody_elses(polled: Polled, clinic: Any) -> None:
    """Extreme numbers, unknown categories and empty cells of one person leave everybody else's rows as they are.

    The column of ages turns from whole numbers into floats on the way, as pandas would have it.
    """
    table = pa.parquet.read_table(clinic.private)
    whole_ages = with_cells(table, "age", table["age"].cast(pa.int64()).to_pylist())
    newcomer = pa.table(
        {
            UNIT: ["zzz", "zzz"],
            "age": [None, 1e30],
            "bmi": [-1e9, None],
            "glucose": [0.0, 1e-30],
            "pressure": [1.0, 2.0],
            "smoking": ["cigars", None],
            "region": ["moon", "north"],
            "active": [None, "yes"],
            LABEL: ["yes", "no"],
        }
    ).cast(table.schema)
    both = pa.concat_tables([newcomer, table])
    check_one_changed(polled(whole_ages), polled(both))


def test_a_record_more_or_less(polled: Polled, clinic: Any) -> None:
    """Without ids every record stands for itself."""
    table = pa.parquet.read_table(clinic.private).drop_columns([UNIT])
    public = pa.parquet.read_table(clinic.public).drop_columns([UNIT])
    pa.parquet.write_table(public, "public.parquet")

    def command(*more: Any, private: Any) -> list[Any]:
        whole = clinic.arguments("--public", "public.parquet", *more, private=private)
        place = whole.index("--unit")
        return whole[:place] + whole[place + 2 :]

    whole = polled(table, command=command)
    for seed in SEEDS:
        keep = np.arange(table.num_rows) != np.random.default_rng(seed).integers(table.num_rows)
        check_one_changed(whole, polled(rows_where(table, keep), command=command))


def test_a_patient_less_where_errors_are_estimated(polled: Polled, clinic: Any) -> None:
    """Who is held out does not depend on others either."""
    table = pa.parquet.read_table(clinic.private)
    whole = polled(table, "--error-share", 0.2)
    assert sum(tested for _, tested in whole.own_errors) > 200
    for seed in SEEDS[:2]:
        person = somebody(table, seed)
        keep = [one != person for one in table[UNIT].to_pylist()]
        check_one_changed(whole, polled(rows_where(table, keep), "--error-share", 0.2))


def test_replaced_records(polled: Polled, clinic: Any) -> None:
    """Another history under the same id: other cells, other labels, another number of visits."""
    table = pa.parquet.read_table(clinic.private)
    whole = polled(table, "--adjacency", "replace-one")
    for seed in SEEDS[:2]:
        person = somebody(table, seed)
        chosen = np.array([one == person for one in table[UNIT].to_pylist()])
        other = flipped(with_cells(table, "bmi", np.where(chosen, 19.0, table["bmi"].to_numpy())), chosen)
        one_visit_less = ~chosen | (np.cumsum(chosen) < chosen.sum())
        check_one_changed(whole, polled(rows_where(other, one_visit_less), "--adjacency", "replace-one"))


@pytest.mark.parametrize("with_unit", [True, False])
def test_changed_labels(polled: Polled, clinic: Any, with_unit: bool) -> None:
    """Where only labels are private, none of them moves a row to another teacher or to the questions."""
    table = pa.parquet.read_table(clinic.private)
    if not with_unit:
        table = table.drop_columns([UNIT])

    def command(*more: Any, private: Any) -> list[Any]:
        unit = ("--unit", UNIT) if with_unit else ()
        return [
            *("learn", private, "--label-private", "--label", LABEL, "--classes", "no,yes", *unit, "--epsilon", 20),
            *("--delta", 1e-5, "--teachers", 30, "--student", "ridge", "--jobs", 1, *more),
        ]

    whole, unchanged = polled(table, command=command), 0
    for seed in range(4):
        if with_unit:
            person = somebody(table, seed)
            chosen = np.array([one == person for one in table[UNIT].to_pylist()])
        else:
            chosen = np.arange(table.num_rows) == np.random.default_rng(seed).integers(table.num_rows)
        other = polled(flipped(table, chosen), command=command)
        if whole.changed_shards(other):
            check_one_changed(whole, other)
        else:  # their rows are questions, and their labels are used for nothing
            assert (other.questions, other.votes) == (whole.questions, whole.votes)
            unchanged += 1
    assert unchanged < 4
