"""What all pages are made with: one base, one style, the same words for figures."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from mapl.report import figures


def make_environment() -> Environment:
    """Return an environment whose templates stand in `html`; whatever comes from outside is escaped."""
    made = Environment(
        loader=FunctionLoader(lambda name: files(__package__).joinpath("html", name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "at_most": figures.at_most,
        "count": figures.count,
        "one_in": figures.one_in,
        "rate": figures.rate,
        "setting": figures.write_setting,
        "share": figures.share,
        "share_at_most": figures.share_at_most,
        "tiny": figures.tiny,
    }
    return made
