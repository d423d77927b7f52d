"""The encoder of a student as nodes of an ONNX graph."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from mapl.data.encoding.layout import CLIP
from mapl.students.exports.onnx_graph import OnnxGraph
from mapl.students.exports.parts import BINS, CATEGORIES, MISSING, NUMBER, EncodedPart
from mapl.students.exports.plain_student import PlainStudent

ROWS = "rows"
"""The one input of a student of a matrix; others have an input for every column."""


def encode_rows(graph: OnnxGraph, student: PlainStudent) -> str:
    """Add the nodes from inputs to encoded rows."""
    inputs = _Inputs(graph, student)
    found = []
    for how, group in groupby(student.parts, lambda part: part.how):
        parts = list(group)
        if how in (CATEGORIES, BINS):
            write = _categories if how == CATEGORIES else _bins
            found += [write(graph, inputs.of([part]), part) for part in parts]
            continue
        numbers = inputs.of(parts)
        if how == NUMBER:
            numbers = _standardised(graph, numbers, parts)
        elif how == MISSING:
            numbers = graph.as_double(graph.add("IsNaN", numbers))
        found.append(numbers)
    return found[0] if len(found) == 1 else graph.add("Concat", *found, axis=1)


class _Inputs:
    def __init__(self, graph: OnnxGraph, student: PlainStudent) -> None:
        self.graph, self.on_matrix = graph, student.on_matrix
        if student.on_matrix:
            graph.take(ROWS, width=len(student.columns))
            return
        for name, kind in student.columns:
            graph.take(name, text=kind == "category")

    def of(self, parts: list[EncodedPart]) -> str:
        """Return the columns of some parts side by side."""
        if self.on_matrix:
            return self.graph.add("Gather", ROWS, self.graph.constant([part.place for part in parts]), axis=1)
        names = [part.column for part in parts]
        return names[0] if len(names) == 1 else self.graph.add("Concat", *names, axis=1)


def _standardised(graph: OnnxGraph, numbers: str, parts: list[EncodedPart]) -> str:
    centred = graph.add("Sub", numbers, graph.constant([part.centre for part in parts]))
    scaled = graph.add("Div", centred, graph.constant([part.spread for part in parts]))
    clipped = graph.add("Clip", scaled, graph.constant(-CLIP), graph.constant(CLIP))
    return graph.add("Where", graph.add("IsNaN", scaled), graph.constant(0.0), clipped)


def _categories(graph: OnnxGraph, texts: str, part: EncodedPart) -> str:
    """A 1 at the place of the text among the values; an empty text is missing, any other is the rest."""
    names = ["", *part.values]
    places = [-1, *range(len(part.values))]
    otherwise = len(part.values) if part.rest else -1
    place = graph.add(
        "LabelEncoder", texts, ml=True, keys_strings=names, values_int64s=places, default_int64=otherwise
    )
    return graph.as_double(graph.add("Equal", place, graph.constant(np.arange(part.width)[None, :])))


def _bins(graph: OnnxGraph, number: str, part: EncodedPart) -> str:
    """A 1 at the place of the bin, of which each begins with a cut; none where there is no number."""
    reached = graph.as_double(graph.add("GreaterOrEqual", number, graph.constant(np.array([part.cuts]))))
    known = graph.add("Sub", graph.constant(1.0), graph.as_double(graph.add("IsNaN", number)))
    none = graph.add("Sub", known, known)
    begun = graph.add("Concat", known, reached, axis=1)
    ended = graph.add("Concat", reached, none, axis=1)
    return graph.add("Sub", begun, ended)
