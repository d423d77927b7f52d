"""What a learner is, in a line of text: the same for the same learner, also in another process."""

from __future__ import annotations

import re
from typing import Any

from mapl.teachers.learners.command import Command
from mapl.teachers.learners.presets import PRESETS

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def describe_learner(given: Any) -> str:
    """Describe what a user hands over as learner: its name and its settings, as far as they can be told.

    A function is known by its name alone, so what it does may change without this text. The text may name local
    paths and is not published.

    >>> from sklearn.linear_model import RidgeClassifier
    >>> describe_learner(RidgeClassifier(alpha=2.0)) == describe_learner(RidgeClassifier())
    False
    """
    if given is None:
        return "auto"
    if isinstance(given, str):
        return f"{given}: {describe_learner(PRESETS[given].model())}" if given in PRESETS else given
    if isinstance(given, Command):
        return f"command: {given.template}, time limit {given.time_limit}"
    if hasattr(given, "get_params") and not isinstance(given, type):
        settings = sorted(given.get_params(deep=True).items())
        return f"{_name(type(given))}({', '.join(f'{name}={_value(value)}' for name, value in settings)})"
    return _value(given)


def _value(value: Any) -> str:
    """Write a setting; what it is made of stands among the settings of a deep estimator itself."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _name(type(value))
    if hasattr(value, "__qualname__"):
        return _name(value)
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)  # a set's own order differs between processes
    return f"{_name(type(value))} {ADDRESS.sub('', repr(value))}"


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
