"""PrivateSoftClassifier: probabilities that may be published."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import Ridge

from mapl import PrivateSoftClassifier, SqliteLedger
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.students import load, save

COMMON: dict[str, Any] = {"epsilon": 8.0, "classes": ("no", "yes"), "n_teachers": 60, "n_jobs": 1}


def people(n: int = 2400, n_public: int = 150, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(n + n_public, 2))
    truth = expit(3 * rows[:, 0])
    labels = np.where(draws.random(n + n_public) < truth, "yes", "no")
    return rows[:n], labels[:n], rows[n:], labels[n:]


@pytest.mark.parametrize("release", ["means", "medians", "both"])
def test_probabilities(release: str) -> None:
    X, y, public, public_y = people()
    more = {} if release == "means" else {"public_y": public_y}
    fitted = PrivateSoftClassifier(release=release, **COMMON).fit(X, y, public=public, **more)
    told = fitted.predict_proba(public)
    assert told.shape == (150, 2)
    assert np.allclose(told.sum(axis=1), 1)
    assert np.corrcoef(told[:, 1], expit(3 * public[:, 0]))[0, 1] > 0.9
    assert set(fitted.predict(public)) == {"no", "yes"}
    assert fitted.statement_.guaranteed_epsilon <= 8.0
    assert fitted.statement_.private
    assert len(fitted.released_) == 150
    stages = [stage.name for stage in fitted.plan_.stages]
    assert stages == {"means": ["means"], "medians": ["medians"], "both": ["medians", "means"]}[release]


def test_a_seed_replays_everything_and_is_not_private() -> None:
    X, y, public, _ = people()
    one, two, other = (PrivateSoftClassifier(seed=seed, **COMMON).fit(X, y, public=public) for seed in (1, 1, 2))
    assert np.array_equal(one.released_, two.released_)
    assert np.array_equal(one.predict_proba(public), two.predict_proba(public))
    assert not np.array_equal(one.released_, other.released_)
    assert not one.statement_.private


def test_tables_groups_and_a_file(tmp_path: Path) -> None:
    X, y, public, _ = people()
    names = ["u", "v"]
    fitted = PrivateSoftClassifier(adjacency="replace-one", student=Ridge(), **COMMON).fit(
        pd.DataFrame(X, columns=names), y, public=pd.DataFrame(public, columns=names), groups=np.arange(len(X)) // 2
    )
    assert fitted.student_.learner == "Ridge"
    assert "group" in fitted.statement_.unit
    save(fitted.student_, tmp_path / "student.skops")
    rows = pd.DataFrame(public, columns=names)
    assert np.array_equal(load(tmp_path / "student.skops").predict_proba(rows), fitted.predict_proba(rows))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))


def test_only_labels_private() -> None:
    X, y, _, _ = people()
    fitted = PrivateSoftClassifier(adjacency="labels", **COMMON).fit(X, y)
    assert np.corrcoef(fitted.predict_proba(X)[:, 1], expit(3 * X[:, 0]))[0, 1] > 0.9


def test_a_ledger_serves_one_fit(tmp_path: Path) -> None:
    X, y, public, _ = people()
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        made = PrivateSoftClassifier(ledger=ledger, **COMMON)
        made.fit(X, y, public=public)
        ledger.verify()
        assert [record.stage for record in ledger.entries()] == ["", "means", "means"]
        with pytest.raises(GuaranteeBroken, match="never copied"):
            pickle.dumps(made)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"release": "modes"}, "means, medians, both"),
        ({"classes": ("no", "perhaps", "yes"), "release": "medians"}, "There are 3 classes; medians"),
        ({"learner": "text"}, "tells no probabilities"),
        ({"student": "hgb"}, "does not learn from probabilities"),
        ({"mechanism": "noisy-max"}, "The mechanism is 'noisy-max'"),
        ({"settings": {"max_abstentions": 3}}, "leave them away"),
    ],
)
def test_refusals_before_anything_is_spent(settings: dict[str, Any], part: str) -> None:
    X, y, public, _ = people(600)
    with pytest.raises((InvalidParameter, InvalidData), match=part):
        PrivateSoftClassifier(**{**COMMON, **settings}).fit(X, y, public=public)


def test_public_labels_are_one_per_public_row() -> None:
    X, y, public, public_y = people(600)
    with pytest.raises(InvalidParameter, match="public_y"):
        PrivateSoftClassifier(release="medians", **COMMON).fit(X, y, public=public, public_y=public_y[:-1])
