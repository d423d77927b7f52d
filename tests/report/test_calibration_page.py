"""How good probabilities are, in figures and as a picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from public_files import aggregated
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from mapl.errors import InvalidData
from mapl.noise import SystemCoins
from mapl.report import Evaluation
from mapl.report.calibration import Calibration
from mapl.report.calibration_plot import calibration_plot
from mapl.report.page import render


def told(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    draws = np.random.default_rng(0)
    shares = np.round(draws.random(n), 2)  # with ties
    return (draws.random(n) < shares).astype(np.int32), shares


def test_figures_are_those_of_scikit_learn() -> None:
    truth, shares = told()
    found = Calibration.of(truth, shares)
    assert found is not None
    assert found.auc == pytest.approx(roc_auc_score(truth, shares), abs=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(truth, shares), abs=1e-12)
    assert found.log_loss == pytest.approx(log_loss(truth, shares.clip(1e-6, 1 - 1e-6)), abs=1e-9)
    assert sum(one.rows for one in found.bins) == 2000
    assert max(abs(one.predicted - one.found) for one in found.bins) < 0.1


def test_one_class_alone_says_nothing() -> None:
    assert Calibration.of(np.zeros(5, dtype=np.int32), np.full(5, 0.2)) is None
    with pytest.raises(InvalidData, match="expected one of each per row"):
        Calibration.of(np.zeros(5, dtype=np.int32), np.full(4, 0.2))


def test_the_page_shows_them_where_they_were_measured() -> None:
    truth, shares = told()
    plain = Evaluation.of(truth, (shares > 0.5).astype(np.int32), classes=("no", "yes"))
    report = aggregated(SystemCoins()).report()
    assert "Its probabilities" not in render(replace(report, evaluation=plain))
    found = Calibration.of(truth, shares)
    assert found is not None
    page = render(replace(report, evaluation=replace(plain, calibration=found)))
    assert "Its probabilities" in page
    assert f"{found.auc:.4f}" in page
    assert "calibration-title" in page


def test_the_picture_has_a_dot_per_bin() -> None:
    found = Calibration.of(*told())
    assert found is not None
    assert calibration_plot(found).count("<circle") == len(found.bins) == 10
