"""Models of any kind, asked by themselves: as `predict` says, and with a fixed vote for whatever fails."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.teachers import FALLBACK, as_learner
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel import ModelPanel, count_votes
from mapl.teachers.panel.models import TREES

WORLD = np.random.default_rng(8)
ROWS = WORLD.normal(size=(400, 6)).astype(np.float32)


def trained(model: Any, classes: Classes, n: int = 150, seed: int = 0) -> FittedEstimator:
    labels = ((ROWS[:n, 0] + ROWS[:n, 1] > 0).astype(int) + (ROWS[:n, 2] > 0.5)) % len(classes)
    fitted = as_learner(model, classes).train(ROWS[:n], labels.astype(np.int32), n_classes=len(classes), seed=seed)
    assert isinstance(fitted, FittedEstimator)
    return fitted


def always(code: int) -> Any:
    return lambda rows: np.full(len(rows), code)


def fails_on_large(rows: Any) -> Any:
    if (rows > 3).any():
        raise ValueError("some cell is secret")
    return np.ones(len(rows))


def test_what_fails_votes_for_the_fixed_class_and_takes_no_other_row_along() -> None:
    def noisy(rows: Any) -> Any:
        warnings.warn("row 17 is odd", stacklevel=1)
        return np.ones(len(rows))

    models = (
        always(1),
        None,
        always(2),
        always(-1),
        lambda rows: np.ones((len(rows), 2)),
        lambda rows: "yes",
        fails_on_large,
        noisy,
    )
    rows = np.array([[0.0], [9.0], [1.0]])
    for alone in (True, False):
        counts = ModelPanel(models, 2, alone).votes(rows).counts
        assert counts.tolist() == [[5, 3], [6, 2], [5, 3]]


def test_a_batch_is_asked_at_once_only_where_that_is_allowed() -> None:
    sizes: list[int] = []

    def watched(rows: Any) -> Any:
        sizes.append(len(rows))
        return np.zeros(len(rows))

    ModelPanel((watched,), 2, True).votes(ROWS[:5])
    ModelPanel((watched,), 2, False).votes(ROWS[:5])
    assert sizes == [1] * 5 + [5]


@pytest.mark.parametrize("kind", sorted(TREES))
def test_trees_judge_a_row_alike_in_every_batch(kind: str) -> None:
    import lightgbm
    import sklearn.ensemble
    import sklearn.tree

    home = next(home for home in (sklearn.ensemble, sklearn.tree, lightgbm) if hasattr(home, kind))
    settings: dict[str, Any] = {"verbosity": -1, "n_jobs": 1} if kind == "LGBMClassifier" else {}
    size = {"n_estimators": 5} if "n_estimators" in getattr(home, kind)().get_params() else {}
    fitted = trained(getattr(home, kind)(**settings, **size), Classes(("a", "b", "c")))
    rows = ROWS[:150]
    together = ModelPanel((fitted,), 3, False).votes(rows).counts
    assert np.array_equal(together, ModelPanel((fitted,), 3, True).votes(rows).counts)


def test_votes_are_counted_once_each() -> None:
    votes = np.array([[0, 1, 1], [2, 7, -3]])
    assert count_votes(votes, 3).counts.tolist() == [[1, 2, 0], [2, 0, 1]]
    assert count_votes(votes, 3).n_teachers == 3
    assert FALLBACK == 0


def test_nothing_is_shown() -> None:
    assert repr(ModelPanel((always(1),), 2, True)) == "ModelPanel(1 teachers, private)"


class TestOnnx:
    """Conversion, and what is refused of it."""

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

    @pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
    )
    @pytest.mark.parametrize("names", [("no", "yes"), ("b", "a", "c"), ("3", "1", "2")], ids=",".join)
    @pytest.mark.parametrize("learner", ["hgb", "forest", "nb", "svm", "mlp"])
    def test_models_say_the_same(self, learner: str, names: tuple[str, ...]) -> None:
        from mapl.teachers.learners.presets import PRESETS
        from mapl.teachers.panel.onnx_model import OnnxModel, as_onnx

        classes = Classes(names)
        model = PRESETS[learner].model()
        if "n_estimators" in model.get_params():
            model.set_params(n_estimators=7)
        fitted = trained(model, classes)
        asked = OnnxModel.of(as_onnx(fitted))
        assert np.mean(asked(ROWS) == fitted(ROWS)) >= 0.98  # few trees tie often
        alone = np.concatenate([asked(ROWS[i : i + 1]) for i in range(50)])
        assert np.array_equal(alone, asked(ROWS[:50]))

    def test_boosted_trees_are_written_exactly_where_numbers_have_32_bits(self) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        from mapl.teachers.panel.onnx_model import OnnxModel, as_onnx

        rows = np.round(ROWS, 1)  # values and thresholds meet
        model = HistGradientBoostingClassifier(max_iter=20, early_stopping=False)
        labels = (np.abs(rows[:, 0]) > 0.5).astype(np.int32)
        fitted = as_learner(model, Classes(("no", "yes"))).train(rows, labels, n_classes=2, seed=0)
        assert isinstance(fitted, FittedEstimator)
        assert np.array_equal(OnnxModel.of(as_onnx(fitted))(rows), fitted(rows))

    def test_a_file_that_is_more_than_numbers_is_refused(self) -> None:
        import onnx
        from onnx import TensorProto, helper
        from sklearn.tree import DecisionTreeClassifier

        from mapl.teachers.panel.onnx_model import Onnx, OnnxModel, as_onnx

        honest = as_onnx(trained(DecisionTreeClassifier(max_depth=2), Classes(("no", "yes"))))

        def forged(change: Any) -> bytes:
            model = onnx.load_from_string(honest.content)
            change(model)
            content: bytes = model.SerializeToString()
            return content

        def elsewhere(model: Any) -> None:
            tensor = helper.make_tensor("w", TensorProto.FLOAT, [1], [0.0])
            tensor.ClearField("float_data")
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="/etc/hostname")
            model.graph.initializer.append(tensor)

        def foreign(model: Any) -> None:
            model.graph.node.append(helper.make_node("Run", [], ["x"], domain="com.microsoft"))

        def looped(model: Any) -> None:
            model.graph.node.append(helper.make_node("Loop", [], ["x"]))

        def own(model: Any) -> None:
            model.functions.append(helper.make_function("own", "f", [], [], [], []))

        def other_input(model: Any) -> None:
            model.graph.input[0].name = "X"

        for content in (
            b"",
            b"not onnx at all",
            honest.content[: len(honest.content) // 2],
            *(forged(change) for change in (elsewhere, foreign, looped, own, other_input)),
        ):
            with pytest.raises(InvalidData, match="damaged or forged"):
                OnnxModel.of(Onnx(content, honest.labels, honest.codes))

    def test_a_label_that_is_no_class_is_unknown(self) -> None:
        from sklearn.tree import DecisionTreeClassifier

        from mapl.teachers.panel.onnx_model import Onnx, OnnxModel, as_onnx

        kept = as_onnx(trained(DecisionTreeClassifier(), Classes(("no", "yes"))))
        asked = OnnxModel.of(Onnx(kept.content, ("maybe", "never"), (0, 1)))
        assert (asked(ROWS[:3]) == -1).all()
        assert repr(asked) == "OnnxModel(private)"
        assert repr(kept) == "Onnx(private)"
