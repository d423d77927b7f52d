"""What goes along while a run reads a table finds what a look at the table by itself finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.pipeline.case import Declared
from mapl.pipeline.runs.inputs import declare
from mapl.pipeline.runs.owner.check_file import owner_check
from mapl.pipeline.runs.owner.look import OwnerLook
from mapl.pipeline.runs.private_input import read_private

CLASSES = Classes(("no", "yes"))
PUBLIC = pa.table({"age": [float(i % 9) for i in range(40)], "town": ["Ulm", "Bonn"] * 20})
FILES = (
    "id,age,town,sick\nA,1,Ulm,yes\n,2,Ulm,no\nB,,Bonn,perhaps\nB,old,Bonn,\ntorn\n",
    "id,age,town,sick\nA,NaN,Rome,no\nC,4,,yes\n,5,Ulm,\nD,6,Ulm,\n",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, text in enumerate(FILES):
        (tmp_path / f"{number}.csv").write_text(text)
    return tmp_path


def declared(unit: str | None) -> Declared:
    table = PUBLIC if unit is not None else PUBLIC.append_column("id", pa.array(["A", "B"] * 20))
    return declare(table, label="sick", classes=CLASSES, unit=unit, schema=None)


@pytest.mark.parametrize("memory", [0, 1 << 30])
@pytest.mark.parametrize("unit", ["id", None])
def test_along_a_run_as_alone(folder: Path, unit: str | None, memory: int) -> None:
    given, look = declared(unit), OwnerLook()
    assert not look.was_there
    for _ in range(2):  # whoever reads a table again counts it once
        table = read_private(folder, given, memory=memory, look=look)
    found = look.found()
    assert found == owner_check(folder, given)
    assert found.n_used == len(table.labels)
    assert (found.n_rows, found.n_torn) == (8, 1)
    assert (found.columns["age"].empty, found.columns["age"].illegible) == (2, 1)
    told = found.n_used, found.n_units, found.n_of_nobody, found.n_without_label, found.n_of_other_class
    assert told == ((3, 2, 2, 2, 1) if unit else (4, 4, 0, 3, 1))
    assert found.by_class == ({"no": 1, "yes": 2} if unit else {"no": 2, "yes": 2})


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("age,town,sick\n1,Ulm,-3\n2,Ulm,0\n3,Ulm,0.5\n4,Ulm,many\n5,Ulm,9\n")
    given = declare(PUBLIC, label="sick", classes=CLASSES, unit=None, schema=None)
    given, look = replace(given, number_range=NumberRange(0.0, 1.0)), OwnerLook()
    read_private(tmp_path / "one.csv", given, look=look)
    assert list(look.found().by_class.values()) == [1, 2, 1]
    assert look.found() == owner_check(tmp_path / "one.csv", given)
