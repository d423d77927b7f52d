"""How doubtful public rows are, by the margin of one model or by the quarrel of several (scikit-activeml)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from mapl.errors import InvalidParameter
from mapl.students.active.pool import Pool
from mapl.students.fitting import quietly
from mapl.types import ABSTAIN, Floats, Integers, Labels

MEMBERS = 7
PENALTY = 0.1
"""C of the logistic regressions; released labels are noisy, so it is small."""


def margin(pool: Pool, codes: Labels, rows: Integers) -> Floats:
    """Doubt rows whose two likeliest classes are nearly as likely, by a model of the labels so far."""
    model = _model(pool, 0)
    with quietly():
        model.fit(*_known(pool, codes))
    sampling = _activeml("pool").UncertaintySampling(
        method="margin_sampling", missing_label=ABSTAIN, random_state=pool.seed
    )
    return _doubts(sampling, pool, codes, rows, clf=model, fit_clf=False)


def committee(pool: Pool, codes: Labels, rows: Integers) -> Floats:
    """Doubt rows on which models of resampled labels differ most (Kullback-Leibler divergence from their mean)."""
    known, answers = _known(pool, codes)
    draws = np.random.default_rng(pool.seed)
    of_class = [np.flatnonzero(answers == code) for code in np.unique(answers)]
    members = []
    for number in range(MEMBERS):
        sample = np.concatenate([draws.choice(mine, size=len(mine)) for mine in of_class])
        with quietly():
            members.append(_model(pool, number).fit(known[sample], answers[sample]))
    sampling = _activeml("pool").QueryByCommittee(
        method="KL_divergence", missing_label=ABSTAIN, random_state=pool.seed
    )
    return _doubts(sampling, pool, codes, rows, ensemble=members, fit_ensemble=False)


def require_activeml() -> None:
    """Refuse, before anything is spent, where scikit-activeml is not installed."""
    _activeml("pool")


def _activeml(part: str) -> Any:
    try:
        return import_module(f"skactiveml.{part}")
    except ImportError:
        raise InvalidParameter(
            "Asking by margin or committee needs scikit-activeml, which is not installed; pip install "
            "'mapl[active]', or ask by robust-cal, which does without."
        ) from None


def _model(pool: Pool, number: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=PENALTY, max_iter=300, tol=1e-3)
    return _activeml("classifier").SklearnClassifier(
        model, classes=list(range(pool.n_classes)), missing_label=ABSTAIN, random_state=pool.seed + number
    )


def _known(pool: Pool, codes: Labels) -> tuple[Floats, Labels]:
    answered = codes != ABSTAIN
    return pool.rows[answered], codes[answered]


def _doubts(sampling: Any, pool: Pool, codes: Labels, rows: Integers, **models: Any) -> Floats:
    with quietly():
        _, utilities = sampling.query(
            pool.rows, codes, candidates=rows, batch_size=1, return_utilities=True, **models
        )
    return np.asarray(utilities[0][rows], dtype=np.float64)
