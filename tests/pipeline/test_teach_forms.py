"""In which forms teachers are kept, what they say then, and which learners are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from kept_teachers import CLASSES, K, questions, taught
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mapl.data.reading.conform import conform
from mapl.data.synthetic import LABEL, UNIT, Clinic
from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.online.run import OnlineRun
from mapl.teachers import Command
from mapl.teachers.panel import LinearPanel


@pytest.mark.parametrize(
    ("learner", "form"),
    [
        ("hgb", "onnx"),
        ("nb", "onnx"),
        ("lgbm", "skops"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "skops"),
        (KNeighborsClassifier(algorithm="brute"), "skops"),
    ],
    ids=["hgb", "nb", "lgbm", "pipeline", "neighbours"],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_other_models_are_kept_too(clinic: Any, tmp_path: Path, learner: Any, form: str) -> None:
    if form == "onnx":
        pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    if not isinstance(learner, str):  # takes numbers only
        columns = ["age", "bmi", "glucose", LABEL, UNIT]
        for name in ("private", "public"):
            table = pa.parquet.read_table(getattr(clinic, name))
            pa.parquet.write_table(
                table.select([one for one in columns if one in table.column_names]), tmp_path / f"{name}.parquet"
            )
        clinic = type(clinic)(tmp_path / "private.parquet", tmp_path / "public.parquet", clinic.test)
    told = taught(clinic, tmp_path / "run", learner, n_teachers=8)
    assert told.form == form
    opened = OnlineRun.read(tmp_path / "run")
    rows = [{name: one[name] for name in opened.schema.names} for one in questions(6)]
    counts = opened.panel.votes(opened.conformed(rows)).counts
    assert (counts.sum(axis=1) == 8).all()
    alone = [opened.panel.votes(opened.conformed([one])).counts[0].tolist() for one in rows]
    assert counts.tolist() == alone
    lacking = [{**rows[0], "age": None}]
    if isinstance(learner, str):  # behind mapl's encoder a missing number is one more feature
        assert opened.panel.votes(opened.conformed(lacking)).counts.sum() == 8
    else:  # these models refuse it, and a fixed vote of all teachers would be taken for an answer
        with pytest.raises(InvalidData, match="Nothing was spent"):
            opened.conformed(lacking)


@pytest.mark.parametrize("what", ["categories", "text"])
def test_other_encoders_judge_a_row_by_itself_too(clinic: Any, tmp_path: Path, what: str) -> None:
    """Rows of categories are encoded by what public rows taught; text becomes sparse."""

    def seen(table: pa.Table) -> pa.Table:
        if what == "categories":
            kept = ["smoking", "region", "active", LABEL, UNIT]
            table = table.select([one for one in kept if one in table.column_names])
            if LABEL not in table.column_names:
                return table
            # Categories tell little about the made-up patients' label, so it is one that they tell all about.
            label = pa.array(["yes" if one == "no" else "no" for one in map(str, table["active"].to_pylist())])
            return table.set_column(table.column_names.index(LABEL), LABEL, label)
        notes = [
            f"{a} and {b} at {c}"
            for a, b, c in zip(*(table[n].to_pylist() for n in ("smoking", "active", "age")), strict=True)
        ]
        return table.append_column("note", pa.array([f"{one} today, as ever before" for one in notes]))

    for name in ("private", "public"):
        pa.parquet.write_table(seen(pa.parquet.read_table(getattr(clinic, name))), tmp_path / f"{name}.parquet")
    world = type(clinic)(tmp_path / "private.parquet", tmp_path / "public.parquet", clinic.test)
    taught(world, tmp_path / "run")
    opened = OnlineRun.read(tmp_path / "run")
    rows = seen(Clinic().visits(30, stream=9)[0]).to_pylist()
    asked = opened.conformed(rows)
    counts = opened.panel.votes(asked).counts
    alone = np.concatenate([opened.panel.votes(asked[i : i + 1]).counts for i in range(len(asked))])
    assert np.array_equal(counts, alone)
    assert (counts.sum(axis=1) == K).all()
    assert len(np.unique(counts[:, 0])) > 1


ADULT = Path(__file__).parents[2].parent / "shared" / "data" / "adult.parquet"


@pytest.mark.skipif(not ADULT.exists(), reason="needs ../shared/data/adult.parquet")
@pytest.mark.parametrize("learner", ["ridge", "logistic", "text"])
def test_real_rows_are_voted_on_as_predict_says(learner: str) -> None:
    from mapl.data.drafts.draft_schema import draft_schema
    from mapl.pipeline.online.questions import QuestionForm
    from mapl.teachers import as_learner
    from mapl.teachers.panel.keeping import as_weights

    table = pa.parquet.read_table(ADULT).slice(0, 6000)
    labels = table["label"].to_numpy().astype(np.int32)
    table = table.drop_columns(["label", "split"])
    schema = draft_schema(table.slice(4000))
    made = as_learner(learner, CLASSES, schema)
    rows = conform(table, schema, "rows")
    fitted = [
        made.train(rows.slice(40 * k, 40), labels[40 * k : 40 * k + 40], n_classes=2, seed=k) for k in range(100)
    ]
    asked = made.prepare(rows.slice(4000))
    panel = LinearPanel.of([as_weights(one) for one in fitted], n_features=asked.shape[1], n_classes=2)
    expected = sum(np.eye(2, dtype=int)[one(asked)] for one in fitted)
    form = QuestionForm(schema)
    again = made.prepare(form.table(form.read(table.slice(4000).to_pylist())))
    assert np.array_equal(again, asked)
    # Some models compute with 32 bits, where few votes of 200,000 may be nearer than that to a tie.
    moved = np.abs(panel.votes(asked).counts - expected).sum() // 2
    assert moved <= (0 if learner == "text" else 4)


class OwnCode(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A user's own estimator, which no file that is safe to open can hold."""

    def fit(self, X: Any, y: Any) -> OwnCode:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[0], len(X))


def own_function(X: Any, y: Any) -> Callable[[Any], Any]:
    return lambda rows: np.repeat(y[0], len(rows))


@pytest.mark.parametrize(
    "learner",
    [OwnCode(), own_function, Command("cat {shard} {queries} {votes}")],
    ids=["own code", "function", "command"],
)
def test_what_cannot_be_kept_safely_is_refused_before_a_private_row_is_read(
    clinic: Any, tmp_path: Path, learner: Any
) -> None:
    with pytest.raises(InvalidParameter, match="safe to open"):
        taught(clinic, tmp_path / "run", learner, private=tmp_path / "there-is-no-such-table.parquet")
    assert not (tmp_path / "run").exists()
