"""The teachers of a run as files in its private half; nothing in them can run code when it is read.

``teachers/panel.json`` says what they are, ``encoder.skops`` how rows are encoded. ``weights.npz`` holds all linear
teachers, ``models.zip`` all others, one member each; a teacher that failed has none. ``panel.json`` is written
last: without it there are no teachers.
"""

from __future__ import annotations

import json
import shutil
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, block_of, for_learner, is_sparse, n_rows
from mapl.errors import InvalidData
from mapl.pipeline.online.model_archive import (
    MOST_MODEL_BYTES,
    onnx_archive,
    read_onnx,
    read_stored,
    store_archive,
)
from mapl.release.files.write_once import write_once
from mapl.students.file.model_file import model_bytes, model_from
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.panel import LinearPanel, Panel, Weights
from mapl.teachers.panel.keeping import Stored
from mapl.teachers.panel.onnx_model import Onnx
from mapl.types import Tallies

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder

FORMAT, FORMAT_VERSION = "mapl teachers", 1
ABOUT, ENCODER, WEIGHTS, MODELS = "panel.json", "encoder.skops", "weights.npz", "models.zip"
STAND_IN = "stand-in.skops"
MOST_ENCODER_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, repr=False)
class PreparedPanel:
    """A panel behind the encoder that it learned with: it takes rows as the schema declares them. Private.

    Without an encoder the teachers take rows as they are, and a stand-in that learned from public rows tells which
    ones they can take.
    """

    encoder: Encoder | None
    inner: Panel
    stand_in: Any = None

    @property
    def n_teachers(self) -> int:
        return self.inner.n_teachers

    @property
    def n_classes(self) -> int:
        return self.inner.n_classes

    def votes(self, rows: Rows) -> Tallies:
        """Count one vote of every teacher on each row."""
        return self.inner.votes(for_learner(rows) if self.encoder is None else _encoded(self.encoder, rows))

    def refuse_unanswerable(self, rows: Rows) -> None:
        """Refuse rows that the learner's models fail on: the fixed votes of all teachers would look like an answer.

        What a stand-in fails on is public: it depends on the learner, the public rows and the questions.
        """
        if self.stand_in is None:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.stand_in.predict(for_learner(rows))
        except Exception:  # its words may quote cells
            raise InvalidData(
                "A model that the learner made of public rows fails on these questions. Nothing was spent. Look "
                "for missing cells and other rare values."
            ) from None

    def __repr__(self) -> str:
        return f"PreparedPanel({self.n_teachers} teachers, private)"


def _encoded(encoder: Encoder, rows: Rows) -> Any:
    """Encode rows, one by one where the encoder multiplies matrices, which may round otherwise in another batch."""
    from mapl.data.encoding.encoder import Encoder

    if type(encoder) is Encoder or n_rows(rows) == 1:
        return encoder.transform(rows)
    parts = [encoder.transform(block_of(rows, i, i + 1)) for i in range(n_rows(rows))]
    if is_sparse(parts[0]):
        import scipy.sparse as sp

        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def write_panel(
    folder: Path,
    form: str,
    content: dict[str, bytes],
    learner: EstimatorLearner,
    *,
    n_teachers: int,
    stand_in: bytes | None = None,
) -> None:
    """Write teachers into a new folder that only its owner may enter; an unfinished one is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    encoder, files = learner.encoder, dict(content)
    if encoder is not None:
        files[ENCODER] = model_bytes(encoder)
    elif stand_in is not None:
        files[STAND_IN] = stand_in
    about = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "form": form,
        "encoded": encoder is not None,
        "n_teachers": n_teachers,
        "classes": list(learner.classes.names),
    }
    files[ABOUT] = json.dumps(about, indent=2).encode() + b"\n"
    for name, written in files.items():
        write_once(folder / name, written, mode=0o600)


def read_panel(folder: Path) -> PreparedPanel:
    """Read the teachers of a run. Nothing in the files is believed.

    Raises
    ------
    InvalidData
        If something is missing, damaged or not as mapl writes it. No content is quoted.
    """
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["format_version"] != FORMAT_VERSION:
            raise InvalidData(
                f"The teachers in {folder} are in form {about['format_version']!r} of {about['format']!r}; this "
                f"mapl reads form {FORMAT_VERSION} of {FORMAT!r}. Use the mapl that wrote them."
            )
        if about["encoded"]:
            return PreparedPanel(_encoder(folder / ENCODER), _form(folder, about))
        path = folder / STAND_IN
        stand_in = model_from(path.read_bytes(), f"The stand-in {path}", most_bytes=MOST_MODEL_BYTES)
        return PreparedPanel(None, _form(folder, about), stand_in)
    except InvalidData:
        raise
    except OSError as failure:
        raise InvalidData(
            f"The teachers in {folder} cannot be read ({failure.strerror}); teach again into a new folder."
        ) from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, AttributeError):
        raise InvalidData(
            f"The teachers in {folder} are damaged or were not written by mapl; restore them, or teach again into "
            "a new folder."
        ) from None


def _form(folder: Path, about: Any) -> Panel:
    n_teachers, classes = int(about["n_teachers"]), Classes(tuple(map(str, about["classes"])))
    match about["form"]:
        case "linear":
            with (folder / WEIGHTS).open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                return LinearPanel.stored(arrays["columns"], arrays["intercepts"], arrays["codes"])
        case "onnx":
            return read_onnx(folder / MODELS, n_teachers, classes)
        case "skops":
            return read_stored(folder / MODELS, n_teachers, classes)
    raise InvalidData(f"The teachers in {folder} are of a form that this mapl does not know; use a newer one.")


def _encoder(path: Path) -> Encoder:
    from mapl.data.encoding.encoder import Encoder

    encoder = model_from(path.read_bytes(), f"The encoder {path}", most_bytes=MOST_ENCODER_BYTES)
    if not isinstance(encoder, Encoder):
        raise InvalidData(f"{path} holds no encoder; it is damaged or forged.")
    return encoder


def linear_content(kept: Sequence[Weights | None], *, n_features: int, n_classes: int) -> dict[str, bytes]:
    """Return the file of linear teachers, None for one that failed."""
    panel, sink = LinearPanel.of(kept, n_features=n_features, n_classes=n_classes), BytesIO()
    np.savez(sink, columns=panel.columns, intercepts=panel.intercepts, codes=panel.codes)
    return {WEIGHTS: sink.getvalue()}


def onnx_content(kept: Sequence[Onnx | None]) -> dict[str, bytes]:
    """Return the file of ONNX teachers, None for one that failed."""
    return {MODELS: onnx_archive(kept)}


def store_content(kept: Sequence[Stored | None]) -> dict[str, bytes]:
    """Return the file of teachers as skops writes them, None for one that failed."""
    return {MODELS: store_archive(kept)}
