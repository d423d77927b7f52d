"""What labels mean that are no names of classes: declared, as in 0=no,1=yes, and never guessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.reading.entries import TRUTH, Entries
from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.errors import InvalidParameter
from mapl.parameters import spell

LabelValues = tuple[tuple[str, str], ...]
"""Pairs of what a cell says and the class that this means."""


def parse_label_values(text: str) -> LabelValues:
    """Read values and the classes that they mean, such as 0=no,1=yes."""
    pairs = [tuple(part.strip() for part in one.split("=")) for one in text.split(",")]
    if any(len(pair) != 2 or "" in pair for pair in pairs):
        raise InvalidParameter(
            f"The label values are {text!r}; give what a cell says and the class that this means, separated by "
            "commas, such as 0=no,1=yes."
        )
    return tuple((value, name) for value, name in pairs)


def write_label_values(values: LabelValues) -> list[str] | None:
    """Return values and their classes as they are written, such as 0=no and 1=yes; None where there are none."""
    return [f"{value}={name}" for value, name in values] or None


def label_values_of(given: Any) -> LabelValues:
    """Return a dictionary of values and classes as pairs of text; None declares nothing."""
    if given is None:
        return ()
    if not isinstance(given, Mapping) or any(one is None or one != one for pair in given.items() for one in pair):
        raise InvalidParameter(
            "label_values is no dictionary of what a label says and the class that this means, or names a missing "
            'value; give for example {0: "no", 1: "yes"}, and leave out rows whose label is missing.'
        )
    return tuple((str(value).strip(), str(name).strip()) for value, name in given.items())


def declare_values(classes: Classes, values: Iterable[Iterable[str]]) -> Classes:
    """Return the classes together with what other cells mean, or refuse a cell that would have two meanings."""
    pairs = tuple((str(value), str(name)) for value, name in values)
    if not pairs:
        return classes
    known = Classes(classes.names)
    for value, name in pairs:
        (code,) = known.codes_of_text(pa.array([name]))
        if code == UNKNOWN:
            raise InvalidParameter(
                f"{spell('label_values')} says that {value!r} means {name!r}, which is none of the classes "
                f"{', '.join(classes.names[:20])}; name one of these, or declare it with {spell('classes')}."
            )
        if known.codes_of_text(pa.array([value]))[0] not in (UNKNOWN, code):
            raise InvalidParameter(
                f"{spell('label_values')} says that {value!r} means {name!r}, and {value!r} names a class itself; "
                "a label must have one meaning, so leave that value away."
            )
    if len({_meaning(value) for value in _by_value(pairs).names}) < len(pairs):
        raise InvalidParameter(
            f"{spell('label_values')} names a value twice, such as 1 and 1.0; say once what it means."
        )
    return replace(classes, values=pairs)


def codes_by_value(labels: Entries, classes: Classes) -> NDArray[np.int64]:
    """Return the class numbers of labels by their declared values, UNKNOWN where nothing is declared of one."""
    lower = pc.utf8_lower(labels)
    labels = pc.if_else(pc.fill_null(pc.is_in(lower, value_set=pa.array(TRUTH, lower.type)), False), lower, labels)
    found = _by_value(classes.values).codes_of_text(labels)
    known = Classes(classes.names)
    meant = known.codes_of_text(pa.array([name for _, name in classes.values]))
    return np.append(meant, UNKNOWN)[found]  # UNKNOWN is the last place


def _by_value(values: LabelValues) -> Classes:
    """Let values be found as classes are: by text, or by number; true and false in any case."""
    return Classes(tuple(one.lower() if one.lower() in TRUTH else one for one, _ in values))


def _meaning(value: str) -> float | str:
    """Return what a value is matched by: 1 and 1.0 are one."""
    return next(iter(Classes((value,)).by_number), value)
