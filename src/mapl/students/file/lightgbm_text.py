"""Refuse LightGBM models whose text would lead its reader astray.

LightGBM stores a model as text and its compiled reader believes every number in it. So the numbers are looked at
first: sizes add up, children come after their parents, features and category sets exist.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData

BROKEN = "The student file holds a LightGBM model that does not add up; it is damaged or forged. Do not use it."

NUMBER = r"[0-9.eE+-]+"
OBJECTIVES = re.compile(
    rf"binary sigmoid:{NUMBER}|multiclass num_class:([0-9]+)|multiclassova num_class:([0-9]+) sigmoid:{NUMBER}"
)
CATEGORICAL = 1
"""The bit of a node's decision type that says that it splits by a set of categories."""


def refuse_bad_model(text: Any) -> None:
    """Check the text of a classifier as LightGBM 4 writes it; anything unusual is refused."""
    try:
        if not isinstance(text, str) or "\0" in text or "\r" in text:
            raise ValueError
        head, body = text.split("\n\n", 1)
        facts = _facts(head.removeprefix("tree\n"))
        n_outputs, n_features = int(facts["num_class"]), int(facts["max_feature_idx"]) + 1
        objective = OBJECTIVES.fullmatch(facts["objective"])
        outputs = next((n for n in objective.groups() if n), "1") if objective else ""
        if "Tree" in facts or not (
            int(outputs) == n_outputs == int(facts["num_tree_per_iteration"]) and n_features > 0
        ):
            raise ValueError
        if not len(facts["feature_names"].split(" ")) == len(facts["feature_infos"].split(" ")) == n_features:
            raise ValueError
        sizes = _whole(facts["tree_sizes"])
        raw, start = body.encode(), 0
        if len(sizes) % n_outputs or (sizes <= 0).any():
            raise ValueError
        for number, size in enumerate(sizes):
            tree = raw[start : start + size].decode()
            start += int(size)
            if not tree.startswith(f"Tree={number}\n") or tree.count("Tree=") != 1:
                raise ValueError
            _check_tree(_facts(tree), n_features)
        if not raw[start:].startswith(b"end of trees\n"):
            raise ValueError
    except (ValueError, KeyError, StopIteration, OverflowError):
        raise InvalidData(BROKEN) from None


def _check_tree(facts: dict[str, str], n_features: int) -> None:
    n_leaves, n_sets = int(facts["num_leaves"]), int(facts["num_cat"])
    if n_leaves < 1 or n_sets < 0 or len(_numbers(facts["leaf_value"])) != n_leaves:
        raise ValueError
    if facts.get("is_linear", "0") != "0":
        raise ValueError
    if n_leaves == 1:
        return
    inner = n_leaves - 1
    feature, kind = _whole(facts["split_feature"]), _whole(facts["decision_type"])
    left, right = _whole(facts["left_child"]), _whole(facts["right_child"])
    threshold = _numbers(facts["threshold"])
    if not len(feature) == len(kind) == len(left) == len(right) == len(threshold) == inner:
        raise ValueError
    if (feature < 0).any() or (feature >= n_features).any():
        raise ValueError
    for child in (left, right):
        # A negative child is a leaf, counted from -1; any other is a node that was split later.
        if ((child < 0) & (-1 - child >= n_leaves)).any():
            raise ValueError
        if ((child >= 0) & ((child <= np.arange(inner)) | (child >= inner))).any():
            raise ValueError
    by_set = threshold[(kind & CATEGORICAL) != 0]
    if ((by_set < 0) | (by_set >= n_sets)).any():
        raise ValueError
    if n_sets:
        bounds, words = _whole(facts["cat_boundaries"]), _whole(facts["cat_threshold"])
        if len(bounds) != n_sets + 1 or bounds[0] != 0 or (np.diff(bounds) < 0).any() or bounds[-1] != len(words):
            raise ValueError


def _facts(lines: str) -> dict[str, str]:
    """Read the lines key=value; a key that comes twice or is no plain word could be read in two ways."""
    pairs = [line.split("=", 1) for line in lines.split("\n") if "=" in line]
    facts = dict(pairs)
    if len(facts) != len(pairs) or not all(re.fullmatch("[A-Za-z_]+", key) for key in facts):
        raise ValueError
    return facts


def _whole(text: str) -> NDArray[np.int64]:
    if not re.fullmatch("[0-9 -]*", text):
        raise ValueError
    return np.array([int(cell) for cell in text.split()], dtype=np.int64)


def _numbers(text: str) -> NDArray[np.float64]:
    if not re.fullmatch("[0-9.eE+ainf -]*", text):
        raise ValueError
    return np.array([float(cell) for cell in text.split()], dtype=np.float64)
