"""Students that version 0.1 wrote, before rooms were moved, are read and predict as they did."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mapl.students import load
from mapl.students.file.former_names import FORMER

HERE = Path(__file__).parent / "former"


def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(20, 80, 60).astype(float),
            "region": rng.choice(["north", "south"], 60),
            "bmi": rng.normal(27, 4, 60),
        }
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ridge", [1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1]),
        ("voting", [1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1]),
        ("soft", [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]),
    ],
)
def test_an_old_student_predicts_what_it_did(name: str, said: list[int]) -> None:
    assert load(HERE / f"{name}.skops").predict_codes(rows())[:12].tolist() == said


def test_every_type_is_where_the_list_says_and_no_longer_where_it_was() -> None:
    for former, present in FORMER.items():
        import_module(present)
        with pytest.raises(ModuleNotFoundError):
            import_module(former)
