"""Learners by name: they learn, on every kind of column they claim to read."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.teachers.learners.learner import as_learner
from mapl.teachers.learners.presets import PRESETS, preset

CLASSES = Classes(("no", "yes"))


def people(n: int, seed: int) -> tuple[Any, Any]:
    """Numbers, a category and a gap here and there; the label follows a number and the category."""
    generator = np.random.default_rng(seed)
    age = generator.normal(40, 10, size=n)
    town = generator.choice(["Ulm", "Bonn"], size=n)
    labels = (age + 15 * (town == "Ulm") > 47).astype(np.int32)
    age[::17] = np.nan
    return pa.table({"age": age, "town": town, "noise": generator.normal(size=n)}), labels


def reviews(n: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, size=n).astype(np.int32)
    filler = generator.integers(0, 50, size=(n, 5))
    words = np.where(labels == 1, "a splendid and wonderful", "an awful and boring")
    texts = [f"{said} film about w{' w'.join(map(str, more))}" for said, more in zip(words, filler, strict=True)]
    return pd.DataFrame({"review": texts}), labels


def accuracy(name: str, schema: Schema | None, private: tuple[Any, Any], public: tuple[Any, Any]) -> float:
    learner = as_learner(name, CLASSES, schema)
    predict = learner.train(*private, n_classes=2, seed=0)
    return float((predict(learner.prepare(public[0])) == public[1]).mean())


@pytest.fixture(autouse=True)
def _no_complaints(recwarn: pytest.WarningsRecorder) -> None:
    """Workers silence warnings; here some models would warn that they have not converged."""
    import warnings

    warnings.simplefilter("ignore")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_learn_from_tables(name: str) -> None:
    public = people(400, 1)
    assert accuracy(name, draft_schema(public[0]), people(200, 0), public) > 0.8


@pytest.mark.parametrize("name", PRESETS)
def test_presets_learn_from_plain_numbers_without_a_schema(name: str) -> None:
    matrix = np.random.default_rng(0).normal(size=(300, 4))
    matrix[::13, 2] = np.nan
    labels = (matrix[:, 0] > 0).astype(np.int32)
    assert accuracy(name, None, (matrix[:150], labels[:150]), (matrix[150:], labels[150:])) > 0.8


@pytest.mark.parametrize("name", [name for name, one in PRESETS.items() if one.sparse])
def test_presets_learn_from_text_and_sparse_rows(name: str) -> None:
    public = reviews(100, 1)
    assert accuracy(name, draft_schema(public[0]), reviews(100, 0), public) > 0.9
    matrix = np.random.default_rng(0).binomial(1, 0.3, size=(300, 20)).astype(np.float64)
    labels, rows = matrix[:, 0].astype(np.int32), sp.csr_matrix(matrix)
    assert accuracy(name, draft_schema(rows[150:]), (rows[:150], labels[:150]), (rows[150:], labels[150:])) > 0.9


@pytest.mark.parametrize("name", [name for name, one in PRESETS.items() if not one.sparse])
def test_presets_that_read_no_text_say_so(name: str) -> None:
    with pytest.raises(
        InvalidParameter, match=f"columns of text, which {name} does not read; take one of logistic"
    ):
        as_learner(name, CLASSES, draft_schema(reviews(100, 0)[0]))


def test_every_named_preset_is_there() -> None:
    wanted = {"logistic", "ridge", "hgb", "forest", "nb", "svm", "mlp", "text"}
    assert wanted <= set(PRESETS)
    assert ("lgbm" in PRESETS) == (find_spec("lightgbm") is not None)
    for one in PRESETS.values():
        assert one.summary


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(InvalidParameter, match="There is no learner 'catboost'; choose one of logistic, ridge"):
        preset("catboost")


def test_names_cost_no_imports() -> None:
    code = (
        "import sys, mapl.teachers; mapl.teachers.preset('logistic')\n"
        "print([m for m in ('sklearn', 'joblib', 'pandas', 'polars', 'lightgbm') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"
