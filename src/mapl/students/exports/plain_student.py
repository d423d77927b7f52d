"""A student without objects: its columns, how they are encoded, the steps of its model, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.errors import InvalidParameter
from mapl.students.exports import steps
from mapl.students.exports.models import constant_steps, steps_of_model, steps_of_regressor
from mapl.students.exports.parts import EncodedPart, parts_of, raw_parts
from mapl.students.exports.steps import Steps
from mapl.students.fitting import encoder_of
from mapl.students.student import Student
from mapl.teachers.learners.spelling import natural

LAST_OF_EQUALS = ("SoftLogistic", "SoftRegressor")
"""Models that take the last of equally likely classes; the others take the first."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainStudent:
    """Everything that it takes to predict as a student does.

    ``steps`` lead from the encoded row to a probability per class, or to a number where ``labels`` are None; the
    label is that of the largest product of probability and weight.
    """

    columns: tuple[tuple[str, str], ...]
    parts: tuple[EncodedPart, ...]
    steps: Steps
    labels: tuple[str | int, ...] | None
    class_weights: tuple[float, ...] | None
    last_of_equals: bool
    on_matrix: bool
    about: dict[str, Any]

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)


def plain_student(student: Student) -> PlainStudent:
    """Write a student down, or refuse it in words."""
    if type(student.model).__name__ == "Voters":
        opened = [_opened(member, student) for member in student.model.members]
        parts = opened[0][0]
        if any(one[0] != parts for one in opened):
            raise InvalidParameter("The members of the student's vote read their rows in different ways.")
        own: Steps = (steps.votes([one[1] for one in opened]),)
    else:
        parts, own = _opened(student.model, student)
    if student.scale is not None:
        own = (*own, steps.scale(student.scale.slope, student.scale.offsets))
    undecided = student.scale is None and student.class_weights is None
    labels = None if student.number_range is not None else tuple(natural(student.classes).tolist())
    return PlainStudent(
        columns=tuple((one.name, one.kind) for one in student.schema.columns),
        parts=parts,
        steps=own,
        labels=labels,
        class_weights=student.class_weights,
        last_of_equals=undecided and type(_last(student.model)).__name__ in LAST_OF_EQUALS,
        on_matrix=student.on_matrix,
        about=about(student),
    )


def about(student: Student) -> dict[str, Any]:
    """Return what an exported file says about its student besides how it predicts."""
    return {
        "learner": student.learner,
        "strategy": student.strategy,
        "privacy": None if student.promise is None else student.promise.to_record(),
        "statement_sha256": student.statement_sha256,
    }


def _opened(model: Any, student: Student) -> tuple[tuple[EncodedPart, ...], Steps]:
    encoder = encoder_of(model)
    last = _last(model)
    if type(model).__name__ == "DummyClassifier":  # what it has learned is one class, whatever the rows
        parts = parts_of(Encoder.of(student.schema))
        return parts, constant_steps(model, student.classes, sum(part.width for part in parts))
    if encoder is None:
        if getattr(model, "takes_any_rows", False) or type(model).__name__ == "Pipeline":
            raise InvalidParameter(
                f"The student is a {type(last).__name__} behind steps of its own, which exports do not hold; keep "
                "it as student.skops, or learn again from the released labels, which is free, with a preset."
            )
        before: Steps = (steps.single(),) if "tree" in type(last).__module__ or _is_forest(last) else ()
        return raw_parts(student.schema.columns), (*before, *_steps(last, student))
    if isinstance(encoder, PublicEncoder):
        return parts_of(encoder), (*_projection(encoder, last), *_steps(last, student))
    return parts_of(encoder), (steps.single(), *_steps(last, student))


def _steps(model: Any, student: Student) -> Steps:
    if student.number_range is not None:
        return steps_of_regressor(model)
    return steps_of_model(model, student.classes)


def _projection(encoder: PublicEncoder, last: Any) -> Steps:
    """Return how components are made; spectral coordinates are looked up among public rows, and are left out."""
    if encoder.n_spectral and type(last).__name__ != "KernelStudent":
        raise InvalidParameter(
            f"The student is a {type(last).__name__} of spectral coordinates, places in a graph of public rows, "
            "which exports do not hold. Learn again from the released labels, which is free, with the student auto."
        )
    maps = encoder.maps
    return (steps.single(), steps.project(maps["mean"], maps["axes"][:, : encoder.n_principal]))


def _last(model: Any) -> Any:
    return model.steps[-1][1] if type(model).__name__ == "Pipeline" else model


def _is_forest(model: Any) -> bool:
    return type(model).__name__ in ("RandomForestClassifier", "ExtraTreesClassifier")
