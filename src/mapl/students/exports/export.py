"""Writing a student for another world."""

from __future__ import annotations

import os
from pathlib import Path

from mapl.errors import InvalidParameter
from mapl.release.files.write_once import write_once
from mapl.students.student import Student

FORMS = {"onnx": ".onnx", "sklearn": ".sklearn.skops", "json": ".json"}
"""What a student is exported to -> how the name of such a file ends."""


def export(student: Student, path: str | os.PathLike[str], *, to: str) -> None:
    """Write a student to a new file that others read without mapl.

    The file is a function of the student, byte for byte, and tells the student's promise of privacy.

    Parameters
    ----------
    to
        "onnx" for any ONNX runtime, "sklearn" for ``skops.io.load`` without mapl, or "json" for plain numbers.

    Raises
    ------
    InvalidParameter
        If this kind of student cannot be written so, in words; or the file exists or cannot be written.
    """
    content = export_bytes(student, to=to)
    try:
        write_once(Path(path), content)
    except FileExistsError:
        raise InvalidParameter(f"{path} exists already; choose another file for the export.") from None
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another place.") from None


def export_bytes(student: Student, *, to: str) -> bytes:
    """Return what `export` writes."""
    if to not in FORMS:
        raise InvalidParameter(f"Students are exported to {', '.join(FORMS)}; {to!r} is none of these.")
    # Imported where they are needed: all who learn import this file, and few export.
    if to == "sklearn":
        from mapl.students.exports.sklearn_form import write_sklearn

        return write_sklearn(student)
    from mapl.students.exports.json_form import write_json
    from mapl.students.exports.onnx_form import write_onnx
    from mapl.students.exports.plain_student import plain_student

    return (write_onnx if to == "onnx" else write_json)(plain_student(student))
