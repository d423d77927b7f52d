"""PrivateClassifier with active questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from crowd import crowd

from mapl import PrivateClassifier
from mapl.errors import InvalidParameter
from mapl.release import MemoryLedger
from mapl.students.active import Active


def classifier(**more: Any) -> PrivateClassifier:
    settings = {
        "classes": ("no", "yes"),
        "epsilon": 20.0,
        "n_teachers": 20,
        "n_queries": 12,
        "n_jobs": 1,
        "seed": 0,
    }
    return PrivateClassifier(**{**settings, "student": "ridge", **more})


@pytest.mark.parametrize(
    "strategy", ["active", Active("committee"), Active("robust-cal", "noisy-max"), Active("margin", "hybrid")]
)
def test_few_questions(strategy: Any) -> None:
    people = crowd()
    ledger = MemoryLedger()
    made = classifier(strategy=strategy, ledger=ledger).fit(people.X, people.y, public=people.public)
    assert len(ledger.progress("labels").labels) <= 12
    assert made.score(people.public, people.truth) > 0.9
    assert made.statement_.guaranteed_epsilon <= 20.0
    assert made.student_.strategy == "active"
    if not (isinstance(strategy, Active) and strategy.service == "hybrid"):
        assert np.count_nonzero(made.released_ != -1) <= 12


def test_the_same_seed_asks_the_same() -> None:
    people = crowd()
    first, second = (classifier(strategy="active").fit(people.X, people.y, public=people.public) for _ in range(2))
    assert first.released_.tolist() == second.released_.tolist()
    own = {"run_id": None, "ledger_head": None}
    assert replace(first.statement_, **own) == replace(second.statement_, **own)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"mechanism": "link"}, "a mechanism was named"),
        ({"error_share": 0.5}, "an estimate of the teachers' error"),
        ({"method": "cells", "n_teachers": "auto"}, "Cells have no teachers"),
    ],
)
def test_refusals(settings: dict[str, Any], part: str) -> None:
    people = crowd()
    with pytest.raises(InvalidParameter, match=part) as refused:
        classifier(strategy="active", **settings).fit(people.X, people.y, public=people.public)
    assert "--" not in str(refused.value)
