"""The API in words at /docs: made from the OpenAPI document that machines read, with nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mapl.service.page.rendering import whole


async def api_page(request: Request) -> Response:
    """Show every route: what it does, what it takes, and every way it may answer."""
    document = request.app.openapi()
    return whole(
        request,
        "api.html",
        title=document["info"]["title"],
        about=document["info"]["description"],
        routes=routes_in(document),
    )


def routes_in(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the routes of a document, as the page shows them."""
    return [
        {
            "method": method.upper(),
            "path": path,
            "words": told["description"],
            "key": "security" in told,
            "parameters": told.get("parameters", []),
            "body": fields_in(told),
            "replies": [(status, reply["description"]) for status, reply in told["responses"].items()],
        }
        for path, methods in document["paths"].items()
        for method, told in methods.items()
    ]


def fields_in(told: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return the fields of a route's body: name, kinds, whether it is needed; rows are told by their columns."""
    if "requestBody" not in told:
        return []
    (content,) = told["requestBody"]["content"].values()
    schema = content["schema"]
    rows = schema["properties"].get("rows")
    if rows is None:
        needed = schema["required"]
        return [(name, kinds_of(one), name in needed) for name, one in schema["properties"].items()]
    columns = next(one for one in rows["items"]["anyOf"] if one["type"] == "object")
    needed = columns["required"]
    return [(f"rows[].{name}", kinds_of(columns["properties"][name]), True) for name in needed]


def kinds_of(schema: dict[str, Any]) -> str:
    """Return in words what JSON a value may be."""
    if "anyOf" in schema:
        return " or ".join(kinds_of(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {kinds_of(schema.get('items', {}))}"
    if "enum" in schema:
        return ", ".join(str(one) for one in schema["enum"])
    kinds = schema.get("type", "anything")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
