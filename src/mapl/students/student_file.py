"""A student in one file that is safe to open: skops for the model, plain JSON for everything else.

``student.skops`` is a zip archive. Its member ``mapl.json`` says what the student is (classes, columns, versions,
the digest of the privacy statement) and can be read by eye; the other members are the model as skops writes it. No
code is stored, and nothing outside the fixed list of `allow_list` is ever built from a file.
"""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

from mapl import __version__
from mapl.data.classes import Classes
from mapl.data.rows import Rows, checked, n_rows, take
from mapl.data.schema import Schema
from mapl.errors import InvalidData, InvalidParameter, MaplError
from mapl.release.write_once import write_once
from mapl.students.allow_list import refuse_forged
from mapl.students.model_file import PLAN, built, model_bytes
from mapl.students.strategies import Strategy
from mapl.students.student import Student, train_student

if TYPE_CHECKING:
    from mapl.data.encoder import Encoder

FORMAT = "mapl student"
FORMAT_VERSION = 1
ABOUT = "mapl.json"
MOST_BYTES = 4 << 30
"""What an unpacked student file may weigh; more is a zip bomb rather than a model."""

REHEARSED_ROWS = 200


def save(student: Student, path: Path, *, statement: str | None = None) -> None:
    """Write a student to a new file, or refuse before anything is written.

    Parameters
    ----------
    statement
        The text of the ``statement.json`` that belongs to the student; its SHA-256 goes into the file.

    Raises
    ------
    InvalidParameter
        If the model holds a type that `load` would refuse, or the file exists or cannot be written.
    """
    content = dumps(student, statement=statement)
    try:
        write_once(path, content)
    except FileExistsError:
        raise InvalidParameter(f"{path} exists already; choose another file for the student.") from None
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another place.") from None


def dumps(student: Student, *, statement: str | None = None) -> bytes:
    """Return what `save` writes."""
    try:
        content = model_bytes(student.model)
    except InvalidParameter as why:
        raise InvalidParameter(_unstorable(student, str(why))) from None
    digest = student.statement_sha256 if statement is None else sha256(statement.encode()).hexdigest()
    buffer = BytesIO(content)
    with ZipFile(buffer, "a", compression=ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, json.dumps(_about(student, digest), indent=2, ensure_ascii=False))
    return buffer.getvalue()


def load(path: Path) -> Student:
    """Read a student file. Nothing in the file is believed: see `allow_list`.

    Raises
    ------
    InvalidData
        If this is no student file, or one that holds anything but the allowed types.
    """
    try:
        content = path.read_bytes()
    except OSError as failure:
        raise InvalidData(f"{path} cannot be read ({failure.strerror}); check the path.") from None
    return loads(content, source=str(path))


def loads(content: bytes, *, source: str = "The student file") -> Student:
    """Read a student from what `dumps` returned."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise InvalidData(f"{source} unpacks to more than {MOST_BYTES >> 30} GiB; it is not a student.")
            about, plan = (json.loads(archive.read(member)) for member in (ABOUT, PLAN))
            _refuse_other_forms(about, source)
            refuse_forged(plan, archive.read)
        return _student(about, _model(content, source), source)
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
    rows = checked(public_rows, "public rows")
    some = take(rows, np.arange(min(REHEARSED_ROWS, n_rows(rows)), dtype=np.int64))
    made_up = np.arange(n_rows(some)) % len(classes)
    student = train_student(
        some, made_up, classes=classes, learner=learner, strategy=strategy, schema=schema, encoder=encoder
    )
    check_read_again(student, some)


def check_read_again(student: Student, rows: Rows) -> None:
    """Refuse a student that cannot be saved, or that predicts otherwise once it is read again."""
    if not np.array_equal(student.predict_codes(rows), loads(dumps(student)).predict_codes(rows)):
        raise InvalidParameter(
            f"The student {student.learner} predicts otherwise after it was saved and read again; choose another "
            "learner."
        )


def _about(student: Student, digest: str | None) -> dict[str, Any]:
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
    }


def _refuse_other_forms(about: dict[str, Any], source: str) -> None:
    if about["format"] != FORMAT or about["format_version"] != FORMAT_VERSION:
        raise InvalidData(
            f"{source} is in form {about['format_version']!r} of {about['format']!r}; this mapl reads form "
            f"{FORMAT_VERSION} of {FORMAT!r}. Read it with the mapl that wrote it, version {about['mapl_version']}."
        )


def _model(content: bytes, source: str) -> Any:
    model = built(content, source)
    if not hasattr(model, "predict"):
        raise InvalidData(f"{source} holds a {type(model).__name__} instead of a model; it is damaged or forged.")
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
    )


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
