"""Give every parameter of a docstring a line of its own before the reference is made: mkdocstrings asks for it.

Those that share a line, such as ``epsilon, delta``, would all be told with the type and the default of the first.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # Only `make docs` installs it.
    Extension = object

SHARED = re.compile(r"^(?P<names>\w+(?:, \w+)+)(?P<type> : .*)?\n(?P<says>(?:    .*\n|\n(?=    ))*)", re.MULTILINE)
"""A line of parameters, attributes or results and what is said of them."""
UNDERLINED = re.compile(r"\n-+\n")
"""Behind a head; what stands before the first one is prose."""


def one_each(docstring: str) -> str:
    """Return a numpydoc docstring in which no two parameters share a line."""
    head = UNDERLINED.search(docstring)
    if not head:
        return docstring
    start = head.end()
    return docstring[:start] + SHARED.sub(_apart, docstring[start:] + "\n").rstrip("\n")


def _apart(found: re.Match[str]) -> str:
    return "".join(f"{name}{found['type'] or ''}\n{found['says']}" for name in found["names"].split(", "))


class OneEach(Extension):  # type: ignore[misc]
    """Rewrites the docstrings that griffe has read, before any is taken apart."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite that of one object."""
        if obj.docstring:
            obj.docstring.value = one_each(obj.docstring.value)
