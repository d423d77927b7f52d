"""What the parser says of a command line, with what it leaves out: what an option is for, and how it is written.

The parser names its complaints differently from version to version, so they are known by what they carry and say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

NO_WHOLE_NUMBER, NO_NUMBER = "int_parsing", "float_parsing"
SPELLED = {
    NO_WHOLE_NUMBER: "Write a whole number in digits alone, such as 24000.",
    NO_NUMBER: "Write a number, such as 0.5 or 1e-6.",
}
"""By the kind of a complaint, how such a value is written."""

SENTENCE = re.compile(r"[.;:] ")


def complete(complaint: Any, parameters: Sequence[Any]) -> None:
    """Add to a complaint about missing or surplus words what to do.

    Parameters
    ----------
    parameters
        Those that the verb needs and that were not given.
    """
    message = str(getattr(complaint, "message", ""))
    if type(complaint).__name__ == "MissingParameter":
        said = _first_sentence(getattr(complaint.param, "help", None))
        others = [one for one in parameters if one is not complaint.param]
        more = f"Missing as well: {', '.join(map(_name, others))}." if others else ""
        told = " ".join(filter(None, (message, said, more)))
        complaint.message = told
        if ".. " in complaint.format_message():  # The parser adds what can be chosen from, after a full stop.
            complaint.message = told.rstrip(".")
    elif message.startswith("Got unexpected extra argument"):
        complaint.message = (
            f"{message}. A list has commas and no blanks, such as --classes no,yes; a name with blanks stands in "
            "quotes."
        )


def say_what_was_given(complaint: Any) -> None:
    """Put what was typed before a complaint about a value, which says only what it should have been."""
    found: list[Any] = getattr(complaint.__cause__, "errors", list)()
    if not found or not isinstance(found[0].get("input"), str) or not hasattr(complaint, "message"):
        return
    given, kind = repr(found[0]["input"]), found[0].get("type")
    message = str(complaint.message).removeprefix("Value error, ")
    complaint.message = (
        f"{given} was given. {SPELLED[kind]}"
        if kind in SPELLED
        else message
        if message.startswith(given)
        else f"{given} was given. {message}"
    )


def _first_sentence(said: str | None) -> str:
    first = SENTENCE.split(said or "", maxsplit=1)[0].rstrip(".")
    return f"{first}." if first else ""


def _name(parameter: Any) -> str:
    return str(parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar or parameter.name)
