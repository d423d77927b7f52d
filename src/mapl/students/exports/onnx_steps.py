"""The steps of a student as nodes of an ONNX graph, one function each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mapl.students.exports import steps
from mapl.students.exports.onnx_graph import OnnxGraph
from mapl.students.exports.steps import Steps

OnnxValues = dict[str, Any]


def take_steps(graph: OnnxGraph, rows: str, taken: Steps) -> str:
    """Add the nodes of some steps and return what the last one computes."""
    for step in taken:
        rows = WRITERS[step.name](graph, rows, step.values)
    return rows


def _single(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    return graph.as_double(graph.add("Cast", rows, to=graph.types.FLOAT))


def _linear(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    product = graph.add("MatMul", rows, graph.constant(values["weights"]))
    return graph.add("Add", product, graph.constant(values["offsets"]))


def _project(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    centred = graph.add(
        "Sub", _on_grid(graph, rows, values["grid"], values["limit"]), graph.constant(values["mean"])
    )
    product = graph.add("MatMul", centred, graph.constant(values["axes"]))
    return _on_grid(graph, product, values["value_step"], values["value_limit"])


def _on_grid(graph: OnnxGraph, rows: str, step: float, limit: float) -> str:
    near = graph.add("Div", _clip(graph, rows, -limit, limit), graph.constant(step))
    return graph.add("Mul", graph.add("Round", near), graph.constant(step))


def _feature_map(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    """Everything up to the last product is exact, as in mapl: whole numbers of at most 53 bits."""
    steps_per_one = graph.constant(values["steps"])
    cut = _clip(graph, rows, -values["limit"], values["limit"])
    whole = graph.add("Round", graph.add("Mul", cut, steps_per_one))
    turn = values["turn"]
    turned = graph.add("MatMul", whole, graph.constant(turn[:-1]))
    turned = graph.add("Add", turned, graph.constant(turn[-1] * values["steps"]))
    short = graph.add("Round", graph.add("Mul", turned, _power_of_two(graph, turned, values["bits"])))
    squares = graph.add("ReduceSum", graph.add("Mul", short, short), graph.constant(np.array([1])), keepdims=1)
    length = graph.add("Sqrt", graph.add("Max", squares, graph.constant(1.0)))
    scaled = graph.add("Mul", short, graph.add("Div", graph.constant(values["norm"]), length))
    return graph.add("Mul", graph.add("Sign", scaled), graph.add("Floor", graph.add("Abs", scaled)))


def _power_of_two(graph: OnnxGraph, rows: str, bits: int) -> str:
    """Return what makes the largest number of a row one of so many bits; 1 for a row of zeros.

    The logarithm may be off by one next to a power of two, which a comparison mends.
    """
    two = graph.constant(2.0)
    largest = graph.add("ReduceMax", graph.add("Abs", rows), axes=[1], keepdims=1)
    largest = graph.add("Max", largest, graph.constant(1e-300))
    near = graph.add("Div", graph.add("Log", largest), graph.constant(math.log(2.0)))
    guess = graph.add("Add", graph.add("Floor", near), graph.constant(1.0))
    low = graph.as_double(graph.add("GreaterOrEqual", largest, graph.add("Pow", two, guess)))
    half = graph.add("Pow", two, graph.add("Sub", guess, graph.constant(1.0)))
    high = graph.as_double(graph.add("Less", largest, half))
    exponent = graph.add("Sub", graph.add("Add", guess, low), high)
    return graph.add("Pow", two, graph.add("Sub", graph.constant(float(bits)), exponent))


def _above(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    return graph.as_double(graph.add("Greater", rows, graph.constant(values["threshold"])))


def _relu(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    return graph.add("Relu", rows)


def _kernel(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    anchors = values["anchors"]
    own = graph.add("ReduceSum", graph.add("Mul", rows, rows), graph.constant(np.array([1])), keepdims=1)
    product = graph.add("MatMul", rows, graph.constant(-2.0 * anchors.T))
    gaps = graph.add("Add", graph.add("Add", product, own), graph.constant((anchors**2).sum(axis=1)))
    near = graph.add("Mul", graph.add("Max", gaps, graph.constant(0.0)), graph.constant(-values["rate"]))
    told = graph.add("MatMul", graph.add("Exp", near), graph.constant(values["dual"]))
    return graph.add("Add", told, graph.constant(values["offsets"]))


def _trees(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    """The runtime adds leaves up in 32 bits: this step alone is good to seven digits."""
    roots, value = values["roots"], values["value"]
    n_nodes = len(value)
    tree = np.searchsorted(roots, np.arange(n_nodes), side="right") - 1
    place = np.arange(n_nodes) - roots[tree]
    leaf = values["left"] == np.arange(n_nodes)
    at, target = np.nonzero(leaf[:, None] & ((value != 0) | (np.arange(value.shape[1]) == 0)))
    told = graph.add(
        "TreeEnsembleRegressor",
        rows,
        ml=True,
        n_targets=value.shape[1],
        nodes_treeids=tree.tolist(),
        nodes_nodeids=place.tolist(),
        nodes_featureids=values["feature"].tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_values_as_tensor=graph.tensor(values["threshold"]),
        nodes_truenodeids=np.where(leaf, 0, values["left"] - roots[tree]).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, values["right"] - roots[tree]).tolist(),
        nodes_missing_value_tracks_true=np.where(leaf, 0, values["missing_left"]).tolist(),
        target_treeids=tree[at].tolist(),
        target_nodeids=place[at].tolist(),
        target_ids=target.tolist(),
        target_weights_as_tensor=graph.tensor(value[at, target]),
    )
    return graph.add("Add", graph.as_double(told), graph.constant(values["base"]))


def _votes(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    total = ""
    for member in values["members"]:
        chances = take_steps(graph, rows, member)
        place = graph.add("ArgMax", chances, axis=1, keepdims=1)
        every = graph.constant(np.arange(_n_classes(member))[None, :])
        vote = graph.as_double(graph.add("Equal", place, every))
        total = vote if not total else graph.add("Add", total, vote)
    return graph.add("Div", total, graph.constant(float(len(values["members"]))))


def _n_classes(member: Steps) -> int:
    told = [step for step in member if step.name in (steps.LINEAR, steps.KERNEL, steps.TREES)][-1].values
    return len(told["base" if "base" in told else "offsets"])


def _softmax(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    return graph.add("Softmax", rows, axis=1)


def _scale(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    told = graph.add("Log", graph.add("Max", rows, graph.constant(values["least"])))
    centred = graph.add("Sub", told, graph.add("ReduceMean", told, axes=[1], keepdims=1))
    scaled = graph.add("Mul", centred, graph.constant(values["slope"]))
    return graph.add("Softmax", graph.add("Add", scaled, graph.constant(values["offsets"])), axis=1)


def _cut(graph: OnnxGraph, rows: str, values: OnnxValues) -> str:
    return _clip(graph, rows, values["low"], values["high"])


def _clip(graph: OnnxGraph, rows: str, low: float, high: float) -> str:
    return graph.add("Clip", rows, graph.constant(low), graph.constant(high))


WRITERS: dict[str, Callable[[OnnxGraph, str, OnnxValues], str]] = {
    steps.SINGLE: _single,
    steps.PROJECT: _project,
    steps.FEATURE_MAP: _feature_map,
    steps.LINEAR: _linear,
    steps.ABOVE: _above,
    steps.RELU: _relu,
    steps.KERNEL: _kernel,
    steps.TREES: _trees,
    steps.VOTES: _votes,
    steps.SOFTMAX: _softmax,
    steps.SCALE: _scale,
    steps.CUT: _cut,
}
