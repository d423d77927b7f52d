"""The types that a student file may hold, and what is looked at before any of them is built.

A file is believed neither about its types nor about how to build them. Besides what skops itself trusts (numbers,
text, containers, arrays, scikit-learn's public estimators) only the types below are built, each in the one way in
which mapl writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import numpy as np

from mapl.errors import InvalidData
from mapl.students.file.lightgbm_text import refuse_bad_model
from mapl.students.file.tree_bounds import BROKEN

OBJECT, TREE, TYPE, DICT = "ObjectNode", "TreeNode", "TypeNode", "DictNode"

ALLOWED = {
    "mapl.data.encoding.encoder.Encoder": OBJECT,
    "mapl.data.encoding.public_encoder.PublicEncoder": OBJECT,
    "mapl.data.encoding.scored_text.ScoredText": OBJECT,
    "mapl.students.images.blend.BlendStudent": OBJECT,
    "mapl.students.images.convolution.ConvolutionStudent": OBJECT,
    "mapl.students.fitting.Coded": OBJECT,
    "mapl.students.images.kernel.KernelStudent": OBJECT,
    "mapl.students.moments.linear.LinearStudent": OBJECT,
    "mapl.students.moments.numbers.LinearNumbers": OBJECT,
    "mapl.students.soft.logistic.SoftLogistic": OBJECT,
    "mapl.students.soft.multinomial.SoftMultinomial": OBJECT,
    "mapl.students.soft.regressor.SoftRegressor": OBJECT,
    "mapl.students.strategies.voting.Voters": OBJECT,
    "sklearn.calibration._CalibratedClassifier": OBJECT,
    "sklearn.calibration._SigmoidCalibration": OBJECT,
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": OBJECT,
    "sklearn.metrics._scorer._PassthroughScorer": OBJECT,
    "sklearn.model_selection._split.KFold": OBJECT,
    "sklearn.model_selection._split.StratifiedKFold": OBJECT,
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer": OBJECT,
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer": OBJECT,
    "sklearn.tree._tree.Tree": TREE,
    "sklearn.utils._bunch.Bunch": DICT,
    "sklearn.utils.validation.check_array": "FunctionNode",
    "lightgbm.basic.Booster": OBJECT,
    "lightgbm.sklearn.LGBMClassifier": OBJECT,
    "collections.OrderedDict": TYPE,
    "functools.partial": "PartialNode",
}
"""Type name -> the only skops loader that may build it."""

PROTOCOL = 2
"""The oldest form of skops files that is read; older ones have looser loaders."""

Read = Callable[[str], bytes]


def refuse_forged(content: dict[str, Any], read: Read) -> None:
    """Look through the plan by which skops would build a model, before anything is built.

    Parameters
    ----------
    content
        The parsed ``schema.json`` of a skops file.
    read
        Returns the bytes of a member of the file.
    """
    protocol = content.get("protocol")
    if not isinstance(protocol, int) or isinstance(protocol, bool) or protocol < PROTOCOL:
        raise InvalidData(
            f"The student file is written in form {protocol!r} of skops; mapl reads form {PROTOCOL} and later. "
            "Save the student again with this version of mapl."
        )
    by_id: dict[Any, dict[str, Any]] = {}
    for node in _nodes(content):
        # skops builds what it met first under a number, so a number must not stand for two things.
        number = node.get("__id__")
        if number is not None and not _same(by_id.setdefault(number, node), node, read):
            raise InvalidData("The student file gives one number to two objects: damaged or forged. Do not use it.")
        name, loader = f"{node['__module__']}.{node['__class__']}", node.get("__loader__")
        expected = ALLOWED.get(name)
        if expected is not None and loader != expected:
            raise InvalidData(
                f"The student file wants to build {name} in an unusual way ({loader} instead of {expected}); it is "
                "damaged or forged. Do not use it."
            )
        if loader == TREE:
            _check_tree_arguments(node, read)
        elif name == "lightgbm.basic.Booster":
            refuse_bad_model(_value(_state(node).get("_handle")))


def _nodes(content: Any) -> Iterator[dict[str, Any]]:
    """Yield everything in the file that names a type, whether skops would look at it or not."""
    queue = [content]
    while queue:
        part = queue.pop()
        if isinstance(part, dict):
            if isinstance(part.get("__class__"), str) and isinstance(part.get("__module__"), str):
                yield part
            queue.extend(part.values())
        elif isinstance(part, list):
            queue.extend(part)


def _same(one: Any, other: Any, read: Read) -> bool:
    """Compare two parts of the file by content, whatever numbers they and their members were given."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        return all(
            _same_member(one[key], other[key], read) if key == "file" else _same(one[key], other[key], read)
            for key in one
            if key != "__id__"
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, read) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _same_member(one: Any, other: Any, read: Read) -> bool:
    return bool(one == other) or read(one) == read(other)


def _check_tree_arguments(node: dict[str, Any], read: Read) -> None:
    """A tree is made for one output, its list of class counts has one entry, and its nodes stand in one row.

    Its builder reads no further, and asks for the length of that row before it asks whether there is one.
    """
    try:
        _, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        nodes = _shape(_state(node)["nodes"], read)
        sound = _value(n_outputs) == 1 and _shape(n_classes, read) == (1,) and len(nodes) == 1
    except (KeyError, TypeError, ValueError, EOFError):
        sound = False
    if not sound:
        raise InvalidData(BROKEN)


def _shape(node: dict[str, Any], read: Read) -> tuple[int, ...]:
    """Return the shape of an array as the file stores it, not of one that is put together otherwise."""
    if (node["__loader__"], node["type"]) != ("NdArrayNode", "numpy"):
        raise TypeError
    return tuple(np.load(BytesIO(read(node["file"])), allow_pickle=False).shape)


def _state(node: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that an object would be given, still unread."""
    content = node.get("content")
    inner = content.get("content") if isinstance(content, dict) else None
    return inner if isinstance(inner, dict) else {}


def _value(node: Any) -> Any:
    """Return a plain value stored in the file, None where it is anything else."""
    try:
        return json.loads(node["content"]) if node["__loader__"] == "JsonNode" else None
    except (KeyError, TypeError, ValueError):
        return None
