"""What is measured on public test rows where a run learned several labels, each with a student of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mapl.errors import InvalidParameter

if TYPE_CHECKING:
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.pipeline.runs.published import Publication
    from mapl.report import Evaluation
    from mapl.students.student import Student


def load_students(folder: RunFolder, labels: list[str]) -> dict[str, Student]:
    """Return the students of a run by the names of their labels; one of which nothing was released has none."""
    from mapl.students import load

    files = {name: folder.student_of(j) for j, name in enumerate(labels, 1)}
    return {name: load(file) for name, file in files.items() if file.exists()}


def evaluate_labels(folder: RunFolder, test: Path, published: Publication) -> Evaluation:
    """Compare the predictions of every student with the labels of public test rows, and all of them together."""
    from mapl.pipeline.methods.multi_label import LABELS
    from mapl.pipeline.runs.inputs import read_test_rows
    from mapl.report import Evaluation
    from mapl.report.calibration import Calibration

    students = load_students(folder, published.settings[LABELS])
    if not students:
        raise InvalidParameter("This run released no label and so has no student to test; leave --test away.")
    truth, predicted, chances = [], [], []
    for name, student in students.items():
        given = read_test_rows(test, student.schema, published.classes, label=name)
        assert given.truth is not None
        truth.append(given.truth)
        predicted.append(student.predict_codes(given.rows))
        chances.append(student.predict_proba(given.rows))
    every = np.concatenate(truth)
    found = Evaluation.of(every, np.concatenate(predicted), classes=published.classes.names)
    right = ((one == said).mean() for one, said in zip(truth, predicted, strict=True))
    return replace(
        found,
        calibration=Calibration.of(every, np.concatenate(chances)),
        by_label=tuple((name, float(share)) for name, share in zip(students, right, strict=True)),
    )
