"""A student as ONNX: from the columns of a row to its label, computed by any runtime."""

from __future__ import annotations

import json

from mapl.errors import InvalidParameter
from mapl.students.exports.onnx_encoder import encode_rows
from mapl.students.exports.onnx_graph import OWN, OnnxGraph
from mapl.students.exports.onnx_steps import take_steps
from mapl.students.exports.plain_student import PlainStudent

LABEL, PROBABILITIES, NUMBER = "predicted label", "probabilities", "predicted number"
"""What the outputs are called; inputs are called as the student's columns."""


def write_onnx(student: PlainStudent) -> bytes:
    """Return the model. What it says about itself stands in its metadata, privacy first."""
    taken = [name for name, _ in student.columns if name in (LABEL, PROBABILITIES, NUMBER) or name.startswith(OWN)]
    if taken and not student.on_matrix:
        raise InvalidParameter(
            f"The column {taken[0]!r} is called as an output of the exported model, or as its own parts are; "
            "rename it in the tables and learn again."
        )
    graph = OnnxGraph()
    told = take_steps(graph, encode_rows(graph, student), student.steps)
    if student.labels is None:
        graph.give(told, NUMBER, graph.types.DOUBLE, 1)
    else:
        weighed = told
        if student.class_weights is not None:
            weighed = graph.add("Mul", told, graph.constant(list(student.class_weights)))
        place = graph.add("ArgMax", weighed, axis=1, keepdims=0, select_last_index=int(student.last_of_equals))
        names = graph.constant(list(student.labels))
        kind = graph.types.INT64 if isinstance(student.labels[0], int) else graph.types.STRING
        graph.give(graph.add("Gather", names, place, axis=0), LABEL, kind)
        graph.give(told, PROBABILITIES, graph.types.DOUBLE, len(student.labels))
    return graph.serialize(_metadata(student))


def _metadata(student: PlainStudent) -> dict[str, str]:
    about = dict(student.about)
    privacy = about.pop("privacy") or {}
    told = {f"mapl.privacy.{name}": value for name, value in privacy.items()}
    told |= {f"mapl.{name}": value for name, value in about.items() if value is not None}
    if student.labels is not None:
        told["mapl.labels"] = list(student.labels)
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}
