"""A learner that was fitted before would carry what it saw into every shard; it is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mapl.errors import InvalidParameter


def refuse_fitted(estimator: Any) -> None:
    """Refuse an estimator of which any part was fitted before, however deep it sits."""
    for part in _parts(estimator, set()):
        kind = type(part).__name__
        if kind == "FrozenEstimator":
            raise InvalidParameter(
                "The learner holds a FrozenEstimator, which keeps what it was fitted on; every teacher must learn "
                "from its own shard alone. Hand over the estimator itself, not fitted. What may be learned from "
                "public rows (scales, categories, image features) belongs into the schema."
            )
        if _is_fitted(part):
            raise InvalidParameter(
                f"The learner's {kind} is already fitted; if it saw private rows, all teachers would share what it "
                "learned from them and nothing could be promised. Hand over a new one, for example "
                "sklearn.base.clone(learner): it is fitted on each shard by itself."
            )


def _parts(given: Any, seen: set[int]) -> Iterator[Any]:
    """Yield an estimator and everything with a `fit` among its parameters, their parameters, and so on."""
    if id(given) in seen or isinstance(given, (str, bytes, type)):
        return
    seen.add(id(given))
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, (list, tuple)):
        for one in given:
            yield from _parts(one, seen)
        return
    if hasattr(given, "fit"):
        yield given
    if hasattr(given, "get_params"):
        for one in given.get_params(deep=False).values():
            yield from _parts(one, seen)


def _is_fitted(part: Any) -> bool:
    if not _needs_fitting(part):
        return False
    for verdict in ("__sklearn_is_fitted__", "is_fitted"):
        if callable(getattr(part, verdict, None)):
            return bool(getattr(part, verdict)())
    # scikit-learn's own convention: whatever was learned has a name that ends in an underscore.
    return any(name.endswith("_") and not name.startswith("__") for name in getattr(part, "__dict__", ()))


def _needs_fitting(part: Any) -> bool:
    """Say whether a part learns at all; stateless transformers always look fitted."""
    from sklearn.utils import get_tags

    try:
        return bool(get_tags(part).requires_fit)
    except Exception:  # not a scikit-learn estimator, so nothing is known about it
        return True
