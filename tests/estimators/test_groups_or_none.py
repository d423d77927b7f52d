"""Where public columns look like ids, whose a row is has to be said: by groups, or that there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowd import crowd

from mapl import InvalidParameter, PrivacyWarning, PrivateClassifier, PrivateOracle
from mapl.release.ledger.memory import MemoryLedger

SEVERAL_FITS = pytest.mark.filterwarnings("ignore:This is fit")
"""What several fits add up to is told elsewhere (`test_earlier_fits`)."""

CHEAP: dict[str, Any] = {"epsilon": 20.0, "classes": ("no", "yes"), "n_teachers": 20, "n_jobs": 1}


def tables(name: str, ids: Any = None) -> tuple[pd.DataFrame, Any, pd.DataFrame]:
    people = crowd()
    rows, public = (pd.DataFrame(cells, columns=["a", "b"]) for cells in (people.X, people.public))
    for table in (rows, public):
        table[name] = np.arange(len(table)) % 7 if ids is None else ids(len(table))
    return rows, people.y, public


@pytest.mark.parametrize("face", [PrivateClassifier, PrivateOracle])
@pytest.mark.parametrize(
    ("name", "ids", "why"),
    [("patient_id", None, "by its name"), ("row", np.arange, "nearly all of its public values differ")],
)
def test_it_is_asked_before_anything_is_spent(face: Any, name: str, ids: Any, why: str) -> None:
    rows, y, public = tables(name, ids)
    ledger = MemoryLedger()
    with pytest.raises(InvalidParameter) as asked:
        face(**CHEAP, ledger=ledger).fit(rows, y, public=public)
    said = str(asked.value)
    assert f"Column '{name}' ({why}) may hold ids" in said
    assert "name it with groups=ids:" in said
    assert 'say so with groups="none"' in said
    assert "--" not in said
    assert ledger.export() == []


def test_only_public_rows_decide() -> None:
    rows, y, public = tables("row", np.arange)
    public["row"] = 3
    clf = PrivateClassifier(**CHEAP, student="logistic").fit(rows, y, public=public)
    assert "one record" in clf.statement_.unit


@SEVERAL_FITS
def test_groups_or_none_are_answers() -> None:
    rows, y, public = tables("patient_id")
    with pytest.warns(PrivacyWarning, match=r"'patient_id' \(by its name\) may hold ids.* name it with groups=ids"):
        alone = PrivateClassifier(**CHEAP, student="logistic").fit(rows, y, public=public, groups="none")
    assert "one record" in alone.statement_.unit
    grouped = PrivateClassifier(**CHEAP, student="logistic")
    grouped.fit(rows.copy(), y.copy(), public=public, groups=np.arange(600))
    assert "group" in grouped.statement_.unit


def test_a_matrix_has_no_names_to_judge_by() -> None:
    rows, y, public = tables("patient_id", np.arange)
    clf = PrivateClassifier(**CHEAP, student="logistic").fit(rows.to_numpy(), y, public=public.to_numpy())
    assert "one record" in clf.statement_.unit


@pytest.mark.parametrize("face", [PrivateClassifier, PrivateOracle])
def test_the_name_of_a_column_is_no_ids(face: Any) -> None:
    rows, y, public = tables("patient_id")
    ledger = MemoryLedger()
    with pytest.raises(InvalidParameter, match=r"give one id for each row, such as X\['patient_id'\]"):
        face(**CHEAP, ledger=ledger).fit(rows, y, public=public, groups="patient_id")
    assert ledger.export() == []


@pytest.mark.parametrize("face", [PrivateClassifier, PrivateOracle])
def test_private_rows_are_no_public_ones(face: Any) -> None:
    people, ledger = crowd(), MemoryLedger()
    with pytest.raises(InvalidParameter, match="The public rows are the private ones themselves"):
        face(**CHEAP, ledger=ledger).fit(people.X, people.y, public=people.X)
    assert ledger.export() == []
