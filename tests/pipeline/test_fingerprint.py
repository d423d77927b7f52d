"""Fingerprints of tables in memory: what was read counts, not how it is stored, and no file is read again."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.synthetic import LABEL, UNIT
from mapl.data.tables.classes import Classes
from mapl.pipeline.learners import Learners
from mapl.pipeline.request import Request
from mapl.pipeline.runs.fingerprint import ROWS_AT_ONCE, fingerprint
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.private_input import read_private
from mapl.pipeline.runs.run import learn_in_folder
from mapl.pipeline.runs.tables import Tables
from mapl.types import Budget

COLUMNS: dict[str, list[Any]] = {
    "number": [1.5, None, -2.0, 4.0],
    "text": ["a", "bc", None, ""],
    "flag": [True, None, False, True],
    "day": [date(2026, 1, 1), None, date(2026, 1, 2), date(2026, 1, 3)],
    "time": [datetime(2026, 1, 1, tzinfo=UTC), None, datetime(2026, 1, 2, tzinfo=UTC), None],
    "sum": [Decimal("1.5"), None, Decimal("2.5"), Decimal("3.5")],
    "image": [[1, 2], [3, 4], None, [5, 6]],
    "bytes": [b"\xff", None, b"", b"\0"],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_cell_counts(name: str) -> None:
    cells = COLUMNS[name]
    whole = pa.table({name: cells})
    seen = {fingerprint(whole)}
    for i in range(len(cells)):
        for other in (None, cells[0], cells[-1]):
            if cells[i] != other:
                changed = pa.table({name: pa.array([*cells[:i], other, *cells[i + 1 :]], whole.schema.types[0])})
                assert fingerprint(changed) not in seen
    assert fingerprint(whole.take([1, 0, 2, 3])) not in seen
    assert fingerprint(whole.rename_columns(["other"])) not in seen


@pytest.mark.parametrize("name", COLUMNS)
def test_chunks_and_slices_count_nothing(name: str) -> None:
    whole = pa.table({name: COLUMNS[name]})
    apart = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2), whole.slice(3)])
    within = pa.concat_tables([whole, whole, whole]).combine_chunks().slice(4, 4)
    assert fingerprint(whole) == fingerprint(apart) == fingerprint(within)


def test_texts_do_not_run_into_one_another() -> None:
    assert fingerprint(pa.array(["ab", "c"])) != fingerprint(pa.array(["a", "bc"]))
    assert fingerprint(np.arange(4), None) != fingerprint(None, np.arange(4))
    assert fingerprint(np.zeros((2, 3))) != fingerprint(np.zeros((3, 2)))


def test_what_lies_under_an_empty_cell_counts_nothing() -> None:
    mask = np.array([False, True])
    one, other = (pa.array(np.array([1.0, under]), mask=mask) for under in (2.0, 3.0))
    assert one.equals(other)
    assert fingerprint(one) == fingerprint(other)


def test_a_long_table_counts_to_its_end() -> None:
    values = np.zeros(ROWS_AT_ONCE + 2)
    one = fingerprint(values)
    values[-1] = 1
    assert fingerprint(values) != one


def test_the_private_file_is_not_read_after_the_table(
    clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is gone when its table has been read, and the run does not notice."""
    private = tmp_path / "private.parquet"
    private.write_bytes(Path(clinic.private).read_bytes())

    def once(path: Path, given: Any, **more: Any) -> Any:
        table = read_private(path, given, **more)
        path.unlink()
        return table

    monkeypatch.setattr("mapl.pipeline.runs.tables.read_private", once)
    tables = Tables(private, LABEL, clinic.public, unit=UNIT, classes=Classes(("no", "yes")))
    asked: dict[str, Any] = {"n_teachers": 5, "n_queries": 5, "unit": UNIT}
    folder = RunFolder(tmp_path / "run")
    learned = learn_in_folder(
        tables,
        Request(Budget(20.0, 1e-5), Classes(("no", "yes")), **asked),
        Learners(student="ridge", n_jobs=1),
        folder,
    )
    assert learned.labelled.released.answered == 5
    assert len(folder.request()["table"]) == 64
