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


def option_of_site(name: str, value: str | None = None) -> str:
    """Spell a parameter where a plan was made: what a site or a coordinator cannot say, its plan says.

    Examples
    --------
    >>> option_of_site("unit"), option_of_site("out")
    ('--unit of mapl federate', '--out')
    """
    called = option(name, value)
    return called if name in AFTER_THE_PLAN else f"{called} of mapl federate"


AFTER_THE_PLAN = frozenset({"out", "name", "past_rounds", "memory", "jobs", "seed", "without", "student", "test"})
BY_PLAN = Dialect(option_of_site, lacks=frozenset({"regression"}))
"""For ``mapl site`` and ``mapl combine``."""

WITHOUT_SCHEMA = replace(COMMAND_LINE, lacks=frozenset({"schema", "drop", "categories", "regression", "unit"}))
"""Where the questions themselves say what the columns are, and every record stands for itself."""
