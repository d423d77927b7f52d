"""POST of predictions: a published student's answers, which are free."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from mapl.pipeline.online.questions import QuestionForm
from mapl.service.answering.body import JSON, json_body, rows_in
from mapl.service.problem import NOT_FOUND, Problem

if TYPE_CHECKING:
    from mapl.service.service import Service
    from mapl.students.student import Student


async def predict(request: Request) -> Response:
    """Predict with the published student; this spends nothing, since it reads only what was released."""
    service: Service = request.app.state.service
    student = service.student
    if student is None:
        raise Problem(NOT_FOUND, "This server has no student; start it with one to get free predictions.")
    async with json_body(request) as body, rows_in(request, body) as rows:
        names = await asyncio.to_thread(_predicted, student, rows)
    return Response(orjson.dumps({"predictions": names}), media_type=JSON)


def _predicted(student: Student, rows: list[Any]) -> list[str]:
    form = QuestionForm(student.schema)
    codes = student.predict_codes(form.table(form.read(rows)))
    return [student.classes.names[code] for code in codes.tolist()]
