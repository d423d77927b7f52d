"""MLflow's way to a student: the module that it imports, and the function that it calls there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from released_table import public_table

from mapl.students import save, train_student

MODULE = "mapl.students.mlflow_loader"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    public = public_table(120)
    student = train_student(public.rows, public.labels, classes=public.classes, learner="ridge")
    save(student, path := tmp_path_factory.mktemp("saved") / "student.skops")
    return path


@pytest.mark.parametrize("of_folder", [False, True])
def test_a_student_is_opened_as_mlflow_opens_it(saved: Path, of_folder: bool) -> None:
    from mapl.students import load

    rows = public_table(50, seed=3).rows
    model = import_module(MODULE)._load_pyfunc(str(saved.parent if of_folder else saved))
    student = load(saved)
    np.testing.assert_array_equal(model.predict(rows.to_pandas()), student.predict(rows))
    shares = model.predict(rows.to_pandas(), params={"probabilities": True})
    np.testing.assert_array_equal(shares, student.predict_proba(rows))


def test_mlflow_itself_saves_and_loads_one(saved: Path, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow.pyfunc", reason="MLflow is not installed")
    rows = public_table(50, seed=3).rows.to_pandas()
    mlflow.save_model(tmp_path / "model", loader_module=MODULE, data_path=str(saved), pip_requirements=["mapl"])
    from mapl.students import load

    opened = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(opened.predict(rows), load(saved).predict(rows))
