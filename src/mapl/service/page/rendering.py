"""How the page and its parts become responses: escaped, under a strict policy, of sizes that tell nothing."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from mapl.report.figures import at_most, count
from mapl.service.access.key_life import end_in_words
from mapl.service.page.pictures import gauge, timeline

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
STEP = 2048
"""Parts are as long as a whole number of these, so that an answer and an abstention are equally long."""


def whole(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page, or a part of it; its addresses begin where the application of the request is."""
    return _response(render_page(template, root=root_of(request), **values), status)


def root_of(request: Request) -> str:
    """Return what stands before every address of the application: nothing, or the place of one of several runs."""
    return str(request.scope.get("root_path", ""))


def render_page(template: str, **values: Any) -> str:
    """Return a page or a part of it, with blanks after it."""
    text = render_part(template, **values)
    return text + " " * (-len(text.encode()) % STEP)


def render_part(template: str, **values: Any) -> str:
    """Return something within a part, without blanks after it."""
    return _environment().get_template(template).render(**values).strip()


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
    made.filters |= {"count": count, "at_most": at_most, "ends": end_in_words}
    made.globals |= {"gauge": gauge, "timeline": timeline}
    return made
