"""Histogram gradient boosting as ONNX.

skl2onnx hands truth values over where newer versions of onnx insist on whole numbers, so these trees are written
here. Thresholds are rounded down to 32 bits, which parts 32-bit numbers exactly as the 64-bit threshold does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET, OPSET_ML = 17, 3
IR_VERSION = 8


def write_boosted_trees(model: Any) -> bytes:
    """Write a fitted HistGradientBoostingClassifier as a model that returns the place of each row's class."""
    from onnx import TensorProto, helper, numpy_helper

    trees = [(tree, target) for one in model._predictors for target, tree in enumerate(one)]
    if any(tree.nodes["is_categorical"].any() for tree, _ in trees):
        raise ValueError("splits by categories are not written")
    baseline = np.asarray(model._baseline_prediction, dtype=np.float32).ravel()
    sums = helper.make_node(
        "TreeEnsembleRegressor",
        ["rows"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=len(baseline),
        base_values=baseline.tolist(),
        **_attributes(trees),
    )
    if len(baseline) == 1:
        zero = numpy_helper.from_array(np.zeros(1, dtype=np.float32), "zero")
        nodes = [
            helper.make_node("Greater", ["scores", "zero"], ["above"]),
            helper.make_node("Cast", ["above"], ["place"], to=TensorProto.INT64),
        ]
        constants = [zero]
    else:
        nodes = [helper.make_node("ArgMax", ["scores"], ["place"], axis=1, keepdims=1)]
        constants = []
    width = int(model.n_features_in_)
    graph = helper.make_graph(
        [sums, *nodes],
        "teacher",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("place", TensorProto.INT64, [None, 1])],
        constants,
    )
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
    made = helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION)
    content: bytes = made.SerializeToString()
    return content


def _attributes(trees: list[tuple[Any, int]]) -> dict[str, Any]:
    sizes = [len(tree.nodes) for tree, _ in trees]
    nodes = np.concatenate([tree.nodes for tree, _ in trees])
    tree_ids = np.repeat(np.arange(len(trees)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    targets = np.repeat([target for _, target in trees], sizes)
    leaf = nodes["is_leaf"].astype(bool)
    return {
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_featureids": np.where(leaf, 0, nodes["feature_idx"]).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": np.where(leaf, 0, _down(nodes["num_threshold"])).tolist(),
        "nodes_truenodeids": np.where(leaf, 0, nodes["left"]).astype(int).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, nodes["right"]).astype(int).tolist(),
        "nodes_missing_value_tracks_true": np.where(leaf, 0, nodes["missing_go_to_left"]).astype(int).tolist(),
        "nodes_hitrates": [1.0] * len(nodes),
        "target_treeids": tree_ids[leaf].tolist(),
        "target_nodeids": node_ids[leaf].tolist(),
        "target_ids": targets[leaf].tolist(),
        "target_weights": nodes["value"][leaf].astype(np.float32).tolist(),
    }


def _down(thresholds: NDArray[Any]) -> NDArray[np.float32]:
    """Return the largest 32-bit numbers that are not above some thresholds."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
