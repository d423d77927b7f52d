"""The calibration of costs: real parts of a run on made-up rows, and no other row or file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from mapl.pipeline.counts import counting_afar
from mapl.pipeline.rehearsal import calibration
from mapl.pipeline.rehearsal.calibration import MadeUp, calibrate
from mapl.pipeline.runs import private_input
from mapl.pipeline.sums import summing_afar
from mapl.planning.costs import reckoning
from mapl.planning.costs.reckoning import reckon
from mapl.planning.costs.work import Sizes
from mapl.teachers.together import polling
from mapl.types import Budget

SIZES = Sizes(rows=4_000, columns=4, n_classes=3, questions=100, teachers=80)
EVERY = ("moments", "cells", "teachers")


def test_every_way_gets_rates_and_only_made_up_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    real = calibration.read_private

    def watched(address: Path, *arguments: Any, **named: Any) -> Any:
        read.append(address)
        assert named["look"] is not None  # as in a run
        return real(address, *arguments, **named)

    monkeypatch.setattr(calibration, "read_private", watched)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = calibrate(SIZES, Budget(1.0, 1e-6), methods=EVERY, n_cells=100)
    assert set(found.works) == set(EVERY)
    assert all(path.is_relative_to(tmp_path) for path in read)
    assert len(set(read)) == 3
    assert list(tmp_path.iterdir()) == []
    assert found.works["moments"].per_row > 0
    assert found.works["cells"].per_row > 0
    teachers = found.works["teachers"]
    assert teachers.per_teacher + teachers.per_vote > 0
    assert not teachers.afar  # ridge is trained together, at home
    assert found.works["cells"].afar
    assert found.started > 0
    assert len(reckon(found, SIZES, workers=2, memory=1 << 30)) == 9


def test_what_was_not_asked_for_is_not_measured() -> None:
    assert set(calibrate(SIZES, Budget(1.0, 0.0), methods=["cells"]).works) == {"cells"}


@pytest.mark.parametrize(("columns", "n_classes"), [(1, 2), (7, 5)])
def test_made_up_rows_have_the_declared_shape(columns: int, n_classes: int) -> None:
    made = MadeUp.of(Sizes(1_000, columns, n_classes, 100), 400)
    assert made.rows(0, 400).shape == (400, columns)
    assert set(made.labels.tolist()) == set(range(n_classes))
    assert len(made.given.classes) == n_classes


def test_the_model_of_memory_knows_how_much_is_in_hand() -> None:
    assert reckoning.SHARE_KEPT == private_input.SHARE_KEPT
    assert reckoning.ROWS_OF_A_TASK == counting_afar.ROWS_AT_ONCE == summing_afar.ROWS_AT_ONCE
    assert reckoning.TEACHERS_AT_ONCE == polling.TEACHERS_AT_ONCE
