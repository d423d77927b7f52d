"""How the page and its parts become responses: escaped, under a strict policy, of sizes that tell nothing."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import Response

from mapl.report.figures import at_most, count
from mapl.service.page.pictures import gauge, timeline

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
STEP = 2048
"""Parts are as long as a whole number of these, so that an answer and an abstention are equally long."""


def whole(template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page."""
    return _response(rendered(template, **values), status)


def fragment(template: str, **values: Any) -> Response:
    """Return a part of the page."""
    return _response(rendered(template, **values), 200)


def rendered(template: str, **values: Any) -> str:
    """Return a page or a part of it, with blanks after it."""
    text = _environment().get_template(template).render(**values).strip()
    return text + " " * (-len(text.encode()) % STEP)


def _response(text: str, status: int) -> Response:
    return Response(text, status, {"Content-Security-Policy": POLICY}, "text/html")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(
            lambda name: files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"count": count, "at_most": at_most}
    made.globals |= {"gauge": gauge, "timeline": timeline}
    return made
