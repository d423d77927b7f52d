"""What the page's forms send: names and texts, and how they become a question."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from mapl.data.tables.column import Column
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData
from mapl.service.answering.body import body_of
from mapl.service.problem import FORBIDDEN, Problem

MOST_BYTES = 1 << 20
MOST_BYTES_OF_ANYBODY = 4 << 10
"""Anybody may send the form that signs in."""

MOST_FIELDS = 2_000

Fields = dict[str, list[str]]


async def fields_of(request: Request) -> Fields:
    """Read the fields of a form that this server's own page sent."""
    refuse_foreign(request)
    fields: Fields = {}
    async with body_of(request, most=MOST_BYTES if is_known(request) else MOST_BYTES_OF_ANYBODY) as body:
        try:
            for name, value in parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS):
                fields.setdefault(name, []).append(value)
        except ValueError:
            raise InvalidData("The form cannot be read; send it from this server's page.") from None
    return fields


def refuse_foreign(request: Request) -> None:
    """Refuse what another site's page sent, as far as a browser tells."""
    if not _from_here(request):
        raise Problem(FORBIDDEN, "This form was sent from another site.")


def is_known(request: Request) -> bool:
    """Say whether the caller has shown a key or a session before the body is read."""
    return "mapl.caller" in request.scope


def only(fields: Fields, name: str) -> str:
    """Return the one value of a field, empty where there is none."""
    return fields.get(name, [""])[0].strip()


def question_of(fields: Fields, schema: Schema) -> dict[str, Any]:
    """Return the row that the form of questions describes; what was left empty is missing, but not everything."""
    row = {column.name: cell_of(only(fields, f"column-{i}"), column) for i, column in enumerate(schema.columns)}
    if all(cell is None for cell in row.values()):
        raise InvalidData("Everything is missing, so nothing was asked or spent; fill in what you know.")
    return row


def cell_of(text: str, column: Column) -> Any:
    """Return a cell that was written as text; an empty one is missing."""
    if text == "":
        return None
    if column.kind != "number":
        return text
    try:
        return float(text)
    except ValueError:
        return text  # which the run refuses, in words about this column


def _from_here(request: Request) -> bool:
    """Say whether this server's own page sent the form, as far as a browser tells; cookies add to that."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
