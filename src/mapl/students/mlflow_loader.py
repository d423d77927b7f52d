"""How MLflow opens a student: it imports this module and calls `_load_pyfunc`; mapl needs nothing of MLflow.

mlflow.pyfunc.save_model("model", loader_module="mapl.students.mlflow_loader", data_path="student.skops")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mapl.students.file.student_file import load
from mapl.students.student import Student


class PredictingStudent:
    """A student as MLflow asks it: ``predict`` takes rows, and may be given parameters."""

    def __init__(self, student: Student) -> None:
        self.student = student

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> Any:
        """Return a label or number for each row; probabilities where ``params`` is ``{"probabilities": True}``."""
        if params and params.get("probabilities"):
            return self.student.predict_proba(rows)
        return self.student.predict(rows)


def _load_pyfunc(path: str) -> PredictingStudent:
    """Open the student file that was saved with the model, as itself or in a folder."""
    place = Path(path)
    return PredictingStudent(load(next(place.glob("*.skops")) if place.is_dir() else place))
