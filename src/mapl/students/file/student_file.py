"""A student in one file that is safe to open: skops for the model, plain JSON for everything else.

``student.skops`` is a zip archive. Its member ``mapl.json`` says what the student is (classes, columns, versions,
the digest of the privacy statement) and can be read by eye; the other members are the model as skops writes it. No
code is stored, and nothing outside the fixed list of `allow_list` is ever built from a file.
"""

from __future__ import annotations

import json
import math
import os
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from mapl import __version__
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import Rows, check_rows, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter, MaplError
from mapl.release.files.write_once import write_once
from mapl.students.file.allow_list import refuse_forged
from mapl.students.file.canonical_archive import PLAN, extend
from mapl.students.file.former_names import with_present_names
from mapl.students.file.model_file import build_model, model_bytes
from mapl.students.file.quick_model import quick_model
from mapl.students.file.stated_promise import StatedPromise
from mapl.students.probabilities.scale import ScoreScale
from mapl.students.student import Student, train_student

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder
    from mapl.students.strategies.names import Strategy

FORMAT = "mapl student"
FORMAT_VERSION = 1
ABOUT = "mapl.json"
RANGE = "number_range"
"""Where a student that predicts numbers says from where to where these go."""
PROMISE = "promise"
MOST_BYTES = 4 << 30
"""What an unpacked student file may weigh; more is a zip bomb rather than a model."""

REHEARSED_ROWS = 320
"""More than the slowest candidates for the default student want to see, so that these are tried out too."""


def save(student: Student, path: str | os.PathLike[str], *, statement: str | None = None) -> None:
    """Write a student to a new file, or refuse before anything is written.

    Parameters
    ----------
    statement
        The text of the ``statement.json`` that belongs to the student; its SHA-256 and promise go into the file.

    Raises
    ------
    InvalidParameter
        If the model holds a type that `load` would refuse, or the file exists or cannot be written.
    """
    content = dumps(student, statement=statement)
    try:
        write_once(Path(path), content)
    except FileExistsError:
        raise InvalidParameter(f"{path} exists already; choose another file for the student.") from None
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another place.") from None


def dumps(student: Student, *, statement: str | None = None, compression: int = ZIP_DEFLATED) -> bytes:
    """Return what `save` writes; without compression, what says the same in less time."""
    try:
        content = model_bytes(student.model, compression)
    except InvalidParameter as why:
        raise InvalidParameter(_unstorable(student, str(why))) from None
    digest = student.statement_sha256 if statement is None else sha256(statement.encode()).hexdigest()
    promise = student.promise if statement is None else StatedPromise.of(statement)
    about = json.dumps(_about(student, digest, promise), indent=2, ensure_ascii=False)
    return extend(content, [(ABOUT, about.encode())], compression)


def load(path: str | os.PathLike[str], *, to_predict: bool = False) -> Student:
    """Read a student file. Nothing in the file is believed: see `allow_list`.

    Parameters
    ----------
    to_predict
        Whether nothing but its predictions is asked for. A student of moments is then read without scikit-learn,
        which takes longer to import than many predictions do (`quick_model`); they are the same.

    Raises
    ------
    InvalidData
        If this is no student file, or one that holds anything but the allowed types.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as failure:
        raise InvalidData(f"{path} cannot be read ({failure.strerror}); check the path.") from None
    return loads(content, source=str(path), to_predict=to_predict)


def name_learner(path: Path) -> str:
    """Return what a student file says about who learned, without building the model."""
    try:
        with ZipFile(path) as archive:
            return str(json.loads(archive.read(ABOUT))["learner"])
    except (BadZipFile, KeyError, TypeError, ValueError):
        raise InvalidData(f"{path} is damaged or was not written by mapl; restore it.") from None


def loads(content: bytes, *, source: str = "The student file", to_predict: bool = False) -> Student:
    """Read a student from what `dumps` returned."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise InvalidData(f"{source} unpacks to more than {MOST_BYTES >> 30} GiB; it is not a student.")
        content = with_present_names(content)
        with ZipFile(BytesIO(content)) as archive:
            about, plan = (json.loads(archive.read(member)) for member in (ABOUT, PLAN))
            _refuse_other_forms(about, source)
            refuse_forged(plan, archive.read)
            quick = quick_model(plan, archive.read) if to_predict else None
        return _student(about, _model(content, source) if quick is None else quick, source)
    except MaplError:
        raise
    except BadZipFile:
        raise InvalidData(
            f"{source} is not a student file; expected a student.skops as mapl writes it. Pickle and joblib files "
            "can run code when they are opened, so mapl does not read them."
        ) from None
    except ModuleNotFoundError as failure:
        raise InvalidData(
            f"{source} needs {failure.name}, which is not installed: pip install {failure.name}."
        ) from None
    except Exception:  # whatever a damaged archive, JSON text, array or model raises
        raise InvalidData(
            f"{source} is damaged or was not written by mapl; expected a student.skops with its {ABOUT}. Fetch it "
            "again from its author."
        ) from None


def check_storable(
    learner: Any,
    public_rows: Rows,
    classes: Classes,
    *,
    schema: Schema | None = None,
    encoder: Encoder | None = None,
    strategy: str | Strategy = "auto",
) -> None:
    """Make sure, before any budget is spent, that a student of this learner can be trained, saved and read again.

    It is fitted on a few public rows with made-up labels, so its words about a failure can only speak of these.

    Raises
    ------
    InvalidParameter
        If it cannot.
    """
    rows = check_rows(public_rows, "public rows")
    some = take(rows, np.arange(min(REHEARSED_ROWS, n_rows(rows)), dtype=np.int64))
    made_up = np.arange(n_rows(some)) % len(classes)
    student = train_student(
        some, made_up, classes=classes, learner=learner, strategy=strategy, schema=schema, encoder=encoder
    )
    check_usable(student, some)


def check_usable(student: Student, rows: Rows) -> None:
    """Refuse a rehearsed student that cannot predict or be saved, or predicts otherwise once it is read again."""
    predicted = student.predict(rows)
    if student.number_range is None:
        student.predict_proba(rows)
    if not np.array_equal(predicted, loads(dumps(student, compression=ZIP_STORED)).predict(rows)):
        raise InvalidParameter(
            f"The student {student.learner} predicts otherwise after it was saved and read again; choose another "
            "learner."
        )


def _about(student: Student, digest: str | None, promise: StatedPromise | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "mapl_version": __version__,
        "libraries": {"scikit-learn": version("scikit-learn")},
        "classes": list(student.classes.names),
        "classes_declared": student.classes.declared,
        "schema": json.loads(student.schema.to_json()),
        "learner": student.learner,
        "strategy": student.strategy,
        "n_labels": student.n_labels,
        "on_matrix": student.on_matrix,
        "warnings": list(student.warnings),
        "statement_sha256": digest,
        **({} if promise is None else {PROMISE: promise.to_record()}),
        "probabilities": None if student.scale is None else student.scale.to_record(),
        "class_weights": None if student.class_weights is None else list(student.class_weights),
        **({} if student.number_range is None else {RANGE: [student.number_range.low, student.number_range.high]}),
    }


def _refuse_other_forms(about: dict[str, Any], source: str) -> None:
    if about["format"] != FORMAT or about["format_version"] != FORMAT_VERSION:
        raise InvalidData(
            f"{source} is in form {about['format_version']!r} of {about['format']!r}; this mapl reads form "
            f"{FORMAT_VERSION} of {FORMAT!r}. Read it with the mapl that wrote it, version {about['mapl_version']}."
        )


def _model(content: bytes, source: str) -> Any:
    from mapl.students.file.sound_weights import refuse_unsound_weights  # with scipy, which quick models do without

    model = build_model(content, source)
    if not hasattr(model, "predict"):
        raise InvalidData(f"{source} holds a {type(model).__name__} instead of a model; it is damaged or forged.")
    refuse_unsound_weights(model)
    return model


def _student(about: dict[str, Any], model: Any, source: str) -> Student:
    return Student(
        model=model,
        classes=Classes(tuple(map(str, about["classes"])), declared=bool(about["classes_declared"])),
        schema=Schema.from_json(json.dumps(about["schema"]), source),
        learner=str(about["learner"]),
        strategy=str(about["strategy"]),
        n_labels=int(about["n_labels"]),
        on_matrix=bool(about["on_matrix"]),
        warnings=(*map(str, about["warnings"]), *_other_versions(about["libraries"])),
        statement_sha256=about["statement_sha256"],
        scale=ScoreScale.of_record(about.get("probabilities"), len(about["classes"])),
        class_weights=_weights(about.get("class_weights"), len(about["classes"])),
        number_range=NumberRange(*about[RANGE]) if RANGE in about else None,
        promise=StatedPromise.of_record(about.get(PROMISE)),
    )


def _weights(given: Any, n_classes: int) -> tuple[float, ...] | None:
    if given is None:
        return None
    weights = tuple(map(float, given))
    if len(weights) != n_classes or not all(0 < one < math.inf for one in weights):
        raise InvalidData(
            f"The student file has {len(weights)} weights for {n_classes} classes, or some that are not above 0; "
            "it is damaged or forged. Do not use it."
        )
    return weights


def _other_versions(libraries: dict[str, str]) -> list[str]:
    """Say in words where the installed libraries differ from those that wrote the file by more than a patch."""
    return [
        f"This student was saved with {name} {saved} and is read with {version(name)}; its predictions may differ. "
        f"For the same ones: pip install {name}=={saved}."
        for name, saved in libraries.items()
        if saved.split(".")[:2] != version(name).split(".")[:2]
    ]


def _unstorable(student: Student, why: str) -> str:
    return (
        f"The student {student.learner} cannot be stored in a file that is safe to open: {why}. Nothing was "
        "written. Choose a preset, or an estimator of scikit-learn or LightGBM without code of your own in it."
    )
