"""How the command line spells parameters in messages."""

from __future__ import annotations

from dataclasses import replace

from mapl.parameters import Dialect


def option(name: str, value: str | None = None) -> str:
    """Spell a parameter as an option.

    Examples
    --------
    >>> option("per_unit"), option("unit", "COLUMN")
    ('--per-unit', '--unit COLUMN')
    """
    called = "--" + name.replace("_", "-")
    return called if value is None else f"{called} {value}"


COMMAND_LINE = Dialect(option)

WITHOUT_SCHEMA = replace(COMMAND_LINE, lacks=frozenset({"schema", "drop", "categories"}))
"""Where the questions themselves say what the columns are."""
