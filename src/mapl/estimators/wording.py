"""How the Python faces spell parameters in messages: what the command line calls --teachers is n_teachers here."""

from __future__ import annotations

from functools import partial

from mapl.parameters import Dialect, plainly, speaking

PARAMETERS = {
    "categories": "schema=draft_schema(public, categories=...)",
    "cells": "n_cells",
    "continue": "earlier",
    "drop": "schema=draft_schema(public, drop=...)",
    "jobs": "n_jobs",
    "label": "y",
    "public": "public=rows",
    "queries": "n_queries",
    "rows": "n_rows",
    "teachers": "n_teachers",
    "unit": "groups=ids",
}
"""What is called otherwise than in shared code."""

VALUES = {
    ("classes", "no,yes"): 'classes=("no", "yes")',
    ("label_values", "0=no,1=yes"): 'label_values={0: "no", 1: "yes"}',
    ("time_limit", "none"): "time_limit=None",
    ("unit", "COLUMN"): "groups=ids",
    ("unit", "none"): 'groups="none"',
}
"""Examples and settings that are no text in Python."""


def in_python(name: str, value: str | None = None) -> str:
    """Spell a parameter as the estimators call it.

    Examples
    --------
    >>> in_python("teachers"), in_python("unit", "none"), in_python("method", "cells")
    ('n_teachers', 'groups="none"', 'method="cells"')
    """
    if value is not None:
        return VALUES.get((name, value)) or plainly(PARAMETERS.get(name, name), value)
    return PARAMETERS.get(name, name)


PYTHON = Dialect(in_python, frozenset({"out", "schema"}))


in_python_words = partial(speaking, PYTHON)
"""Lets messages name the parameters of estimators; also a decorator."""
