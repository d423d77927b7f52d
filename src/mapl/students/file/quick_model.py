"""A student of moments out of its file without skops and scikit-learn, for predictions alone.

A file is believed no more here than in `model_file`: read are plain values, lists, dictionaries with names as keys
and arrays without objects, in the one arrangement in which mapl writes such a student. Whatever else is in the file
makes it none of these; skops then reads it, by the rules of `allow_list`, or it is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from mapl.data.encoding.layout import RowLayout
from mapl.students.file.allow_list import OBJECT, Read
from mapl.students.file.quick_linear import QuickLinear, QuickNumbers

PIPELINE = "sklearn.pipeline.Pipeline"
ENCODER = "mapl.data.encoding.encoder.Encoder"
MODELS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "mapl.students.moments.linear.LinearStudent": (QuickLinear, ("turn", "weights", "classes")),
    "mapl.students.moments.numbers.LinearNumbers": (QuickNumbers, ("turn", "weights", "level", "low", "high")),
}
"""What comes after the encoder -> who predicts the same, and what it is made of."""

ENDS = {"level", "low", "high"}
"""What a model of numbers has beside its arrays."""

SETTINGS = {"memory", "verbose", "transform_input"}
"""What a Pipeline has beside its steps, and mapl never sets."""

VERSION = "_sklearn_version"
"""What scikit-learn notes in every object of its own; whoever reads a file compares versions elsewhere."""


class _OtherModel(Exception):
    """This is no student of moments in the form that mapl writes."""


def quick_model(plan: dict[str, Any], read: Read) -> Any | None:
    """Return the model of a file, None where it has to be read in the general way.

    Parameters
    ----------
    plan
        The parsed plan of the file, which `refuse_forged` has looked through.
    read
        Returns the bytes of a member of the file.
    """
    try:
        settings = _parts(plan, PIPELINE)
        first, last = (_pair(step) for step in _items(settings.pop("steps"), "list", "ListNode"))
        if not settings.keys() <= SETTINGS or any(
            _plain(part, read) not in (None, False) for part in settings.values()
        ):
            return None
        encoder = {name: _plain(part, read) for name, part in _parts(first, ENCODER).items()}
        bins = encoder.pop("bins")
        layout = RowLayout.of(encoder.pop("columns"), bins=bins)
        if type(bins) is not bool or not encoder.keys() <= {"dense"}:
            return None
        if layout.texts or layout.keeps_zeros:  # what may come out sparse
            return None
        model, wanted = MODELS[_name(last)]
        own = {name: _plain(part, read) for name, part in _parts(last, _name(last)).items()}
        return (
            model(layout, *(own[name] for name in wanted))
            if own.keys() == set(wanted) and _fit(own, layout)
            else None
        )
    except (_OtherModel, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return None


def _fit(own: dict[str, Any], layout: RowLayout) -> bool:
    """Say whether arrays of a model fit each other and the encoded rows, and hold numbers to compute with."""
    turn, weights = own["turn"], own["weights"]
    arrays = [own[name] for name in ("turn", "weights", "classes") if name in own]
    if not all(isinstance(one, np.ndarray) for one in arrays):
        return False
    if not all(type(own[name]) in (int, float) and math.isfinite(own[name]) for name in ENDS & own.keys()):
        return False
    numbers = all(one.dtype.kind == "f" and one.ndim == 2 and np.isfinite(one).all() for one in (turn, weights))
    joined = numbers and turn.shape == (layout.width + 1, len(weights))
    return bool(joined and weights.shape[1:] == (own["classes"].shape if "classes" in own else (1,)))


def _name(node: dict[str, Any]) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def _parts(node: dict[str, Any], wanted: str) -> dict[str, Any]:
    """Return the attributes of an object of one type, still unread, without scikit-learn's notes."""
    if _name(node) != wanted or node.get("__loader__") != OBJECT:
        raise _OtherModel
    return {name: part for name, part in _entries(node["content"]).items() if name != VERSION}


def _entries(node: dict[str, Any]) -> dict[str, Any]:
    if _name(node) != "builtins.dict" or node.get("__loader__") != "DictNode":
        raise _OtherModel
    keys = _items(node["key_types"], "list", "ListNode")
    if len(keys) != len(node["content"]) or any(
        _name(key) != "builtins.str" or key.get("__loader__") != "TypeNode" for key in keys
    ):
        raise _OtherModel
    return dict(node["content"])


def _items(node: dict[str, Any], kind: str, loader: str) -> list[Any]:
    if _name(node) != f"builtins.{kind}" or node.get("__loader__") != loader:
        raise _OtherModel
    return list(node["content"])


def _pair(node: dict[str, Any]) -> dict[str, Any]:
    """Return the second part of a step of the Pipeline; the first is its name."""
    _, second = _items(node, "tuple", "TupleNode")
    return dict(second)


def _plain(node: dict[str, Any], read: Read) -> Any:
    reader = READERS.get((_name(node), node.get("__loader__")))
    if reader is None:
        raise _OtherModel
    return reader(node, read)


def _value(node: dict[str, Any], read: Read) -> Any:
    value = json.loads(node["content"])
    if isinstance(value, (list, dict)):
        raise _OtherModel
    return value


def _array(node: dict[str, Any], read: Read) -> Any:
    if node["type"] != "numpy":
        raise _OtherModel
    return np.load(BytesIO(read(node["file"])), allow_pickle=False)


READERS: dict[tuple[str, Any], Callable[[dict[str, Any], Read], Any]] = {
    ("builtins.str", "JsonNode"): _value,
    ("numpy.ndarray", "NdArrayNode"): _array,
    ("builtins.list", "ListNode"): lambda node, read: [_plain(part, read) for part in node["content"]],
    ("builtins.dict", "DictNode"): lambda node, read: {
        name: _plain(part, read) for name, part in _entries(node).items()
    },
}
