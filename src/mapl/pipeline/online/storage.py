"""How the models of a learner are kept, decided on public rows alone: as weights, as ONNX, or by skops."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, is_sparse, n_rows, take
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.online.model_archive import MOST_MODEL_BYTES
from mapl.pipeline.online.panel_file import linear_content, onnx_content, store_content
from mapl.students.file.model_file import model_bytes, model_from
from mapl.teachers import fit_teachers
from mapl.teachers.learners.estimator import EstimatorLearner, FittedEstimator
from mapl.teachers.panel.keeping import KeptModel, Stored, as_it_is, as_weights
from mapl.teachers.panel.linear_weights import is_linear
from mapl.teachers.panel.onnx_model import OnnxModel, as_onnx

STAND_IN_ROWS = 200
COMPARED_ROWS = 1000
AGREE = 0.98
"""The share of public rows on which a converted model must say the same; ties in 32 bits may fall otherwise."""


@dataclass(frozen=True, slots=True)
class KeptForm:
    """What a worker makes of a fitted model, and the files that all of them become together.

    ``stand_in`` is a model of public rows as bytes, where some rows may be beyond the learner's models; what goes
    through mapl's encoder never is.
    """

    name: str
    keep: Callable[[FittedEstimator], KeptModel]
    content: Callable[[Sequence[KeptModel | None]], dict[str, bytes]]
    stand_in: bytes | None = None


def form_of(learner: EstimatorLearner, public: Rows, n_classes: int, time_limit: float | None) -> KeptForm:
    """Choose the form by a model that learned from public rows with made-up labels; no private row has a say in it.

    Raises
    ------
    InvalidParameter
        If the learner's models can be kept in no form that is safe to read.
    """
    model = _stand_in(learner, public, n_classes, time_limit)
    some = take(public, np.arange(min(COMPARED_ROWS, n_rows(public)), dtype=np.int64))
    rows, stand_in = learner.prepare(some), None
    if learner.encoder is None:
        _refuse_unstorable(learner.name, model, rows)
        stand_in = model_bytes(model.estimator)
    if is_linear(model.estimator):
        width = int(model.estimator.n_features_in_)
        content = partial(linear_content, n_features=width, n_classes=n_classes)
        return KeptForm("linear", as_weights, content, stand_in)
    if learner.encoder is not None and not is_sparse(rows) and _converts(model, rows):
        return KeptForm("onnx", as_onnx, onnx_content)
    _refuse_unstorable(learner.name, model, rows)
    # Not in the workers: skops imports much, and workers that grow by that much are taken for leaking.
    return KeptForm("skops", as_it_is, lambda kept: store_content([_stored(one) for one in kept]), stand_in)


def _stored(fitted: FittedEstimator | None) -> Stored | None:
    """Return a model as skops writes it, None for one that failed or cannot be written."""
    if fitted is None:
        return None
    present = None if fitted.present is None else tuple(fitted.present.tolist())
    with suppress(Exception):  # one that cannot be written, unlike the others, is a teacher that failed
        return Stored(model_bytes(fitted.estimator), present)
    return None


def _converts(model: FittedEstimator, rows: Any) -> bool:
    """Say whether a model becomes ONNX that says the same about nearly all public rows."""
    if find_spec("skl2onnx") is None or find_spec("onnxruntime") is None:
        return False
    try:
        asked = OnnxModel.of(as_onnx(model))
        return float(np.mean(asked(rows) == model(rows))) >= AGREE
    except Exception:  # converters raise whatever they like about what they do not know
        return False


def _refuse_unstorable(name: str, model: FittedEstimator, rows: Any) -> None:
    try:
        again = model_from(model_bytes(model.estimator), "The model", most_bytes=MOST_MODEL_BYTES)
        same = np.array_equal(FittedEstimator(again, model.classes, model.present)(rows), model(rows))
        why = "" if same else "it predicts otherwise after it was stored and read again"
    except (InvalidParameter, InvalidData) as refusal:
        why = str(refusal)
    if why:
        raise InvalidParameter(
            f"Teachers of {name} cannot be kept in files that are safe to open: {why}. Nothing private was read. "
            "Take a learner of mapl learners, or an estimator of scikit-learn or LightGBM without code of your own."
        )


def _stand_in(learner: EstimatorLearner, public: Rows, n_classes: int, time_limit: float | None) -> FittedEstimator:
    """Train one teacher on some public rows with made-up labels; few are repeated."""
    size = max(min(STAND_IN_ROWS, n_rows(public)), 2 * n_classes)
    places = np.arange(size, dtype=np.int64)
    labels = (places % n_classes).astype(np.int32)
    rows = PrivateRows(take(public, places % n_rows(public)))
    alone = Sharded(rows, labels, [b""] * size, Shards(ShardKey(bytes(32)), 1))
    (model,) = fit_teachers(learner, alone, n_classes=n_classes, n_jobs=1, time_limit=time_limit).models
    fitted = None if model is None else pickle.loads(model)
    if not isinstance(fitted, FittedEstimator):
        raise InvalidParameter(
            f"The learner {learner.name} failed on public rows with made-up labels; correct it, or give it more "
            "time."
        )
    return fitted
