"""Noticing a Pipeline that fits its steps on all private rows together before an estimator of mapl is given them.

What a scaler learned of everybody goes into everybody's row, and no budget covers that. A Pipeline hands its last
step transformed rows and nothing that tells of it, and rows must not be judged by what they look like; so the stack
of calls is looked at, for Pipelines of scikit-learn alone. A step that was fitted elsewhere goes unnoticed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from mapl.errors import GuaranteeBroken


def refuse_pooled_steps(estimator: Any, *, features_are_public: bool) -> None:
    """Refuse to be fitted as the last step of a Pipeline whose earlier steps learned from private cells."""
    for step in _steps_before(estimator):
        if _learns(step, features_are_public):
            name, face = type(step).__name__, type(estimator).__name__
            raise GuaranteeBroken(
                f"{name} was fitted on all private rows together before {face} was given them, which no budget "
                f"covers: what {name} learned of one person would be in everybody's row. Nothing was spent. Put it "
                f"inside, where every teacher fits its own: {face}(make_pipeline({name}(), LogisticRegression())); "
                "or transform private and public rows by what was fitted on public rows alone."
            )


def _steps_before(estimator: Any) -> Iterator[Any]:
    """Yield the steps of every Pipeline that is being fitted and ends, directly or nested, in the estimator."""
    last, frame = estimator, sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Pipeline) and caller.steps[-1][1] is last:
            yield from (step for _, step in caller.steps[:-1] if step is not None and step != "passthrough")
            last = caller
        frame = frame.f_back  # type: ignore[assignment]


def _learns(step: Any, features_are_public: bool) -> bool:
    """Say whether a step learns from what is private; one that says nothing about itself is thought to."""
    if type(step).__name__ == "FrozenEstimator":  # fitted before; scikit-learn 1.6 has it
        return False
    try:
        tags = get_tags(step)
        return bool(tags.requires_fit and (not features_are_public or any(map(_sees_labels, _parts(step)))))
    except (AttributeError, TypeError):
        return True


def _parts(step: Any) -> list[Any]:
    """Return a step and the estimators that it is built of."""
    return [step, *(part for part in step.get_params(deep=True).values() if hasattr(part, "__sklearn_tags__"))]


def _sees_labels(part: Any) -> bool:
    """Say whether a part learns from labels; selectors may, though they do not insist on them."""
    return bool(get_tags(part).target_tags.required or isinstance(part, SelectorMixin))
