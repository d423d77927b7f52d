"""How good probabilities are, in figures and as a picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from public_files import aggregated
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from mapl.cli.learning.measured import measured_record, measured_rows
from mapl.errors import InvalidData
from mapl.noise import SystemCoins
from mapl.report import Evaluation
from mapl.report.calibration import Calibration
from mapl.report.pages.page import render
from mapl.report.plots.calibration import calibration_plot


def told(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    draws = np.random.default_rng(0)
    shares = np.round(draws.random(n), 2)  # with ties
    return (draws.random(n) < shares).astype(np.int32), shares


def both(shares: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return np.column_stack([1 - shares, shares])


def test_figures_are_those_of_scikit_learn() -> None:
    truth, shares = told()
    found = Calibration.of(truth, both(shares))
    assert found.auc == pytest.approx(roc_auc_score(truth, shares), abs=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(truth, shares), abs=1e-12)
    assert found.log_loss == pytest.approx(log_loss(truth, shares.clip(1e-6, 1 - 1e-6)), abs=1e-9)
    assert sum(one.rows for one in found.bins) == 2000
    assert max(abs(one.predicted - one.found) for one in found.bins) < 0.1


def test_figures_of_more_classes_are_those_of_scikit_learn() -> None:
    draws = np.random.default_rng(1)
    shares = draws.dirichlet(np.ones(4), size=3000)
    truth = (shares.cumsum(axis=1) > draws.random(3000)[:, None]).argmax(axis=1)
    found = Calibration.of(truth, shares)
    assert found.auc == pytest.approx(roc_auc_score(truth, shares, multi_class="ovr"), abs=1e-12)
    assert found.log_loss == pytest.approx(log_loss(truth, shares.clip(1e-6, 1 - 1e-6)), abs=1e-5)
    assert found.brier == pytest.approx(((np.eye(4)[truth] - shares) ** 2).sum(axis=1).mean() / 2)
    assert found.gap < 0.03
    assert Calibration.of((truth + 1) % 4, shares).gap > 0.2
    absent = Calibration.of(truth[truth < 3], shares[truth < 3])
    assert absent.auc == pytest.approx(
        np.mean([roc_auc_score(truth[truth < 3] == k, shares[truth < 3, k]) for k in range(3)])
    )


def test_one_class_alone_says_nothing_of_ranks() -> None:
    found = Calibration.of(np.zeros(5, dtype=np.int32), both(np.full(5, 0.2)))
    assert found.auc is None
    assert found.log_loss == pytest.approx(-np.log(0.8))
    with pytest.raises(InvalidData, match="expected a probability for each class"):
        Calibration.of(np.zeros(5, dtype=np.int32), both(np.full(4, 0.2)))
    with pytest.raises(InvalidData, match="expected a probability for each class"):
        Calibration.of(np.zeros(5, dtype=np.int32), np.full(5, 0.2))


def test_the_page_shows_them_where_they_were_measured() -> None:
    truth, shares = told()
    plain = Evaluation.of(truth, (shares > 0.5).astype(np.int32), classes=("no", "yes"))
    report = aggregated(SystemCoins()).report()
    assert "Its probabilities" not in render(replace(report, evaluation=plain))
    found = Calibration.of(truth, both(shares))
    page = render(replace(report, evaluation=replace(plain, calibration=found)))
    assert "Its probabilities" in page
    assert f"{found.auc:.4f}" in page
    assert "calibration-title" in page
    assert "What the teachers together would say" not in page  # no scores were released


def test_the_commonest_and_the_rarest_class_are_told() -> None:
    truth = np.array([0] * 6 + [1] * 3 + [2])
    found = Evaluation.of(truth, np.array([0] * 6 + [1, 0, 0, 0]), classes=("a", "b", "c", "none"))
    assert (found.commonest.name, found.majority, found.rarest.name) == ("a", 0.6, "c")
    assert found.balanced == pytest.approx((1 + 1 / 3 + 0) / 3)
    page = render(replace(aggregated(SystemCoins()).report(), evaluation=found))
    assert "always saying <bdi>a</bdi>" in page
    assert "and never predicts this class" in page
    assert "44.4%" in page


def test_what_was_measured_is_told_in_the_same_words_everywhere() -> None:
    assert list(measured_rows(None)) == []
    nothing = measured_record(None)
    truth, shares = told()
    plain = Evaluation.of(truth, (shares > 0.5).astype(np.int32), classes=("no", "yes"))
    found = replace(plain, calibration=Calibration.of(truth, both(shares)))
    record, rows = measured_record(found), dict(measured_rows(found))
    assert set(record) == set(nothing)
    assert set(nothing.values()) == {None}
    assert record["per_class"][1]["recall"] == plain.per_class[1].recall
    assert f"AUC {record['auc']:.4f}" in rows["probabilities"]
    assert f"{record['majority_accuracy']:.2%}" in rows["student accuracy"]
    assert "class yes" in rows
    assert "probabilities" not in dict(measured_rows(plain))


def test_the_picture_has_a_dot_per_bin() -> None:
    truth, shares = told()
    found = Calibration.of(truth, both(shares))
    assert calibration_plot(found).count("<circle") == len(found.bins) == 10
