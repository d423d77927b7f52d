"""Models of all teachers in one archive: a member for each that did not fail, and an index of their classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.students.file.canonical_archive import pack
from mapl.students.file.model_file import model_from
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel import ModelPanel
from mapl.teachers.panel.keeping import Stored
from mapl.teachers.panel.models import TREES, Model
from mapl.teachers.panel.onnx_model import Onnx, OnnxModel
from mapl.teachers.panel.panel import Panel
from mapl.teachers.panel.tree_panel import stack_trees

INDEX = "index.json"
MOST_MODEL_BYTES = 1 << 28
MOST_BYTES = 16 << 30
"""What one model and what all of them may weigh; more is a zip bomb rather than teachers."""


def onnx_archive(kept: Sequence[Onnx | None]) -> bytes:
    """Return ONNX teachers as one file."""
    return _archive(kept, [None if one is None else [list(one.labels), list(one.codes)] for one in kept])


def store_archive(kept: Sequence[Stored | None]) -> bytes:
    """Return teachers as skops writes them as one file."""
    return _archive(kept, [None if one is None else one.present for one in kept])


def read_onnx(path: Path, n_teachers: int, classes: Classes) -> ModelPanel:
    """Read ONNX teachers."""

    def ready(content: bytes, classes_of: Any) -> Model:
        labels, codes = classes_of
        return OnnxModel.of(Onnx(content, tuple(labels), tuple(map(int, codes))))

    # Each row alone: it costs no more, and no product of matrices rounds otherwise in another batch.
    return ModelPanel(_read(path, n_teachers, ready), len(classes), alone=True)


def read_stored(path: Path, n_teachers: int, classes: Classes) -> Panel:
    """Read teachers that skops wrote."""

    def ready(content: bytes, present: Any) -> Model:
        model = model_from(content, f"A model in {path}", most_bytes=MOST_MODEL_BYTES)
        numbers = None if present is None else np.array(present, dtype=np.int64)
        return FittedEstimator(model, classes, numbers)

    models = _read(path, n_teachers, ready)
    kinds = {type(one.estimator).__name__ for one in models if isinstance(one, FittedEstimator)}
    return stack_trees(ModelPanel(models, len(classes), alone=not kinds <= TREES))


def _archive(kept: Sequence[Any], classes_of: list[Any]) -> bytes:
    models = [(str(k), one.content) for k, one in enumerate(kept) if one is not None]
    return pack([(INDEX, json.dumps(classes_of).encode()), *models], ZIP_STORED)


def _read(path: Path, n_teachers: int, ready: Callable[[bytes, Any], Model]) -> tuple[Model | None, ...]:
    with ZipFile(path) as archive:
        sizes = [member.file_size for member in archive.infolist()]
        if max(sizes) > MOST_MODEL_BYTES or sum(sizes) > MOST_BYTES:
            raise InvalidData(f"{path} holds more than teachers weigh; it is damaged or forged.")
        classes_of, members = json.loads(archive.read(INDEX)), set(archive.namelist())
        if len(classes_of) != n_teachers or len(members) != len(sizes):
            raise InvalidData(f"{path} does not hold the teachers of this run; it is damaged or forged.")
        return tuple(
            ready(archive.read(str(k)), one) if str(k) in members else None for k, one in enumerate(classes_of)
        )
