"""The OpenAPI document: what each route takes and every way it may answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mapl import __version__
from mapl.service.access.keys import SCOPES
from mapl.service.answering.form import STATUSES
from mapl.service.problem import KINDS, MEDIA_TYPE
from mapl.service.seen_entries import HEADER

if TYPE_CHECKING:
    from mapl.data.tables.column import Column
    from mapl.service.service import Service

JSON = "application/json"
Document = dict[str, Any]

COUNT: Document = {"type": "integer", "minimum": 0}
NUMBER: Document = {"anyOf": [{"type": "number"}, {"const": "inf"}]}
KEY_ID: Document = {"type": "string", "pattern": "^[0-9a-f]{12}$"}
ID: Document = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def route_document(service: Service, method: str, path: str, scopes: tuple[str, ...]) -> Document:
    """Return what FastAPI is told about a route."""
    statuses = {401, 403, 429} if scopes else set()
    statuses |= {421, 503} if path != "/healthz" else {421}
    extra: Document = {"security": [{"key": []}]} if scopes else {}
    if method == "POST" and path != "/v1/keys/{id}/revoke":
        statuses |= {400, 408, 413, 415, 422}
        wanted = {"/v1/keys": _wanted_key, "/v1/keys/{id}/rotate": _wanted_ends}
        schema = wanted[path]() if path in wanted else _rows(service, path)
        extra["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    if path == "/v1/answers":
        statuses |= {409}
        extra["parameters"] = [_header()]
    if path in ("/v1/answers/{id}", "/v1/predictions"):
        statuses |= {404}
    if path in ("/v1/keys/{id}/revoke", "/v1/keys/{id}/rotate"):
        statuses |= {404}
        extra["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": KEY_ID}]
    if path == "/v1/answers/{id}":
        extra["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": ID}]
    if path == "/v1/ledger":
        statuses |= {422}
        extra["parameters"] = [
            _query("after", {"type": "integer", "minimum": -1, "maximum": 2**53 - 1, "default": -1}),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
        ]
    return {
        "operation_id": _name(method, path),
        "summary": _name(method, path).replace("_", " "),
        "responses": {200: _content(service, path), **{status: _problem(status) for status in sorted(statuses)}},
        "openapi_extra": extra,
    }


def document(app: FastAPI, service: Service) -> Callable[[], Document]:
    """Return what makes the whole document, once."""
    made: list[Document] = []

    def openapi() -> Document:
        if not made:
            whole = get_openapi(
                title="mapl: private answers online",
                version=__version__,
                description="Teachers vote, and only what differential privacy allows is answered. The budget is "
                "shared by all callers; every epsilon is at the delta, adjacency and unit of GET /v1/budget.",
                routes=app.routes,
            )
            whole["components"] = {
                "securitySchemes": {
                    "key": {"type": "http", "scheme": "bearer", "description": "An API key: mapl_<id>_<secret>."}
                },
                "schemas": {"Problem": _problem_schema()},
            }
            made.append(whole)
        return made[0]

    return openapi


def _name(method: str, path: str) -> str:
    spoken = {
        "/v1/answers": "ask",
        "/v1/answers/{id}": "stored_answer",
        "/v1/predictions": "predict",
        "/v1/keys": "keys" if method == "GET" else "create_key",
        "/v1/keys/{id}/revoke": "revoke_key",
        "/v1/keys/{id}/rotate": "rotate_key",
    }
    return spoken.get(path, path.removeprefix("/v1/").removeprefix("/"))


def _rows(service: Service, path: str) -> Document:
    student = service.student
    schema = student.schema if path == "/v1/predictions" and student is not None else service.run.schema
    cells = {column.name: _cell(column) for column in schema.columns}
    as_object: Document = {
        "type": "object",
        "required": list(schema.names),
        "properties": {**cells, **{name: {} for name in (*schema.asides, *schema.dropped)}},
        "additionalProperties": False,
    }
    ordered = list(cells.values())
    as_list: Document = {"type": "array", "prefixItems": ordered, "items": False, "minItems": len(ordered)}
    rows: Document = {
        "type": "array",
        "minItems": 1,
        "maxItems": service.settings.most_rows,
        "items": {"anyOf": [as_list, as_object]},
    }
    return _object(rows=rows)


def _cell(column: Column) -> Document:
    """Say what JSON a cell may be; text that stands for a number or a date is read as one."""
    match column.kind:
        case "image":
            pixels = {"type": "array", "items": {"type": "number"}, "minItems": column.width}
            return {"anyOf": [{**pixels, "maxItems": column.width}, {"type": "null"}]}
        case "date":
            return {"type": ["string", "null"]}
        case _:
            return {"type": ["number", "string", "boolean", "null"]}


def _content(service: Service, path: str) -> Document:
    classes = list(service.run.classes.names)
    label = {"type": ["string", "null"], "enum": [*classes, None]}
    answer = _object(label=label, status={"type": "string", "enum": list(STATUSES)})
    answered = _object(id=ID, answers={"type": "array", "items": answer})
    known: dict[str, Document] = {
        "/v1/answers": answered,
        "/v1/answers/{id}": answered,
        "/v1/predictions": _object(predictions={"type": "array", "items": {"type": "string"}}),
        "/v1/budget": _budget(),
        "/v1/plan": _object(plan={"type": "object"}, digest=ID, schema={"type": "object"}),
        "/v1/ledger": _object(entries={"type": "array", "items": {"type": "object"}}),
        "/v1/keys": {"anyOf": [_object(keys={"type": "array", "items": _key()}), _key(key={"type": "string"})]},
        "/v1/keys/{id}/revoke": _key(),
        "/v1/keys/{id}/rotate": _key(key={"type": "string"}),
        "/healthz": _object(status={"const": "ok"}),
        "/readyz": _object(status={"const": "ok"}),
    }
    if path in known:
        done: Document = {"description": "Done.", "content": {JSON: {"schema": known[path]}}}
        if known[path] is answered:
            done["headers"] = {HEADER: _progress()}
        return done
    kind = "text/html" if path == "/v1/report" else "text/plain"
    return {"description": "Done.", "content": {kind: {"schema": {"type": "string"}}}}


def _budget() -> Document:
    figures = dict.fromkeys(("epsilon", "guaranteed_epsilon", "budget_epsilon", "delta"), NUMBER)
    words = {name: {"type": "string"} for name in ("adjacency", "unit")}
    counted = ("answered", "abstained", "most_answered", "most_abstained", "most_questions", "questions_left")
    return _object(**figures, **words, **dict.fromkeys(counted, COUNT), halted={"type": "boolean"})


def _key(**more: Document) -> Document:
    text: Document = {"type": "string"}
    scopes: Document = {"type": "array", "items": {"type": "string", "enum": list(SCOPES)}}
    most: Document = {"type": ["integer", "null"]}
    told = {"id": KEY_ID, "name": text, "scopes": scopes, "most": most, "taken": COUNT}
    return _object(**told, revoked={"type": "boolean"}, expires={"type": ["integer", "null"]}, **more)


def _wanted_key() -> Document:
    scopes = {"type": "array", "items": {"type": "string", "enum": list(SCOPES)}, "minItems": 1}
    name = {"type": "string", "pattern": "^[!-~]([ -~]{0,98}[!-~])?$"}
    most = {"type": ["integer", "null"], "minimum": 1, "maximum": 2**53 - 1}
    wanted = _object(name=name, scopes=scopes, most=most, expires=_end())
    return {**wanted, "required": ["name", "scopes"]}


def _wanted_ends() -> Document:
    return {**_object(expires=_end(), overlap=_end()), "required": []}


def _end() -> Document:
    """Say how a time is written: a while from now; a day or a time may be given, too, and has to come."""
    return {"type": ["string", "null"], "pattern": "^[1-9][0-9]{0,4}[hd]$", "examples": ["90d", "12h"]}


def _object(**properties: Document) -> Document:
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


def _problem(status: int) -> Document:
    titles = " Or: ".join(kind.title for kind in KINDS if kind.status == status)
    return {
        "description": titles,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _problem_schema() -> Document:
    kinds = {"type": "string", "enum": [kind.type for kind in KINDS]}
    text: Document = {"type": "string"}
    return _object(type=kinds, title=text, status={"type": "integer"}, detail=text)


def _header() -> Document:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "Names this request: sent again with the same body, it gets the stored reply.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    }


def _progress() -> Document:
    return {
        "description": "The number of the ledger's newest entry, and which ledger it is; it never goes back.",
        "schema": {"type": "string", "pattern": "^[0-9]+ [0-9a-f]{16}$"},
    }


def _query(name: str, schema: Document) -> Document:
    return {"name": name, "in": "query", "required": False, "schema": schema}
