"""Messages in the words of Python: what the command line calls --teachers is n_teachers here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from mapl.errors import MaplError

PARAMETERS = {
    "--cells": "n_cells",
    "--classes": "classes",
    "--epsilon": "epsilon",
    "--label": "y",
    "--mechanism": "mechanism",
    "--method": "method",
    "--per-unit": "per_unit",
    "--public": "public=rows",
    "--queries": "n_queries",
    "--rows": "n_rows",
    "--teachers": "n_teachers",
    "--unit": "groups=ids",
}
"""Options that code shared with the command line names in its errors, and what they are called in Python."""

OPTION = re.compile(f"(?:{'|'.join(PARAMETERS)})(?![\\w-])")


@contextmanager
def in_python_words() -> Iterator[None]:
    """Let errors of mapl pass with parameters in place of options; also a decorator."""
    try:
        yield
    except MaplError as error:
        error.args = tuple(
            OPTION.sub(lambda found: PARAMETERS[found[0]], one) if isinstance(one, str) else one
            for one in error.args
        )
        raise
