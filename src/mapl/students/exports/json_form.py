"""A student as JSON: plain numbers and names that any language reads, described in docs/export.md."""

from __future__ import annotations

import json

from mapl.students.exports.plain_student import PlainStudent

FORMAT, VERSION = "mapl student, plain", 1


def write_json(student: PlainStudent) -> bytes:
    """Return the document; a number is written so that reading gives the same bits."""
    document = {
        "format": FORMAT,
        "format_version": VERSION,
        **student.about,
        "columns": [{"name": name, "kind": kind} for name, kind in student.columns],
        "labels": None if student.labels is None else list(student.labels),
        "class_weights": None if student.class_weights is None else list(student.class_weights),
        "ties": "last" if student.last_of_equals else "first",
        "encoder": [part.to_record() for part in student.parts],
        "model": [step.to_record() for step in student.steps],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode() + b"\n"
