"""Building an ONNX graph node by node; names are numbers in the order of making, so that equal graphs are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.errors import InvalidParameter

OPSET, OPSET_ML, IR_VERSION = 17, 3, 8
"""Versions that onnxruntime reads since 1.13, of 2022."""

OWN = "mapl/"
"""How the names of everything begin that is no input and no output."""


class OnnxGraph:
    """Nodes, constants, inputs and outputs; everything is computed in 64 bits."""

    def __init__(self) -> None:
        try:
            from onnx import TensorProto, helper, numpy_helper
        except ModuleNotFoundError:
            raise InvalidParameter(
                "Exporting to ONNX needs the package onnx, which is not installed: pip install 'mapl[onnx]'."
            ) from None
        self._helper, self._numpy, self.types = helper, numpy_helper, TensorProto
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def take(self, name: str, *, text: bool = False, width: int = 1) -> str:
        """Declare an input."""
        kind = self.types.STRING if text else self.types.DOUBLE
        self._inputs.append(self._helper.make_tensor_value_info(name, kind, ["rows", width]))
        return name

    def give(self, value: str, name: str, kind: int, width: int | None = None) -> None:
        """Declare an output."""
        self._nodes.append(self._helper.make_node("Identity", [value], [name]))
        shape: list[str | int | None] = ["rows"] if width is None else ["rows", width]
        self._outputs.append(self._helper.make_tensor_value_info(name, kind, shape))

    def add(self, operation: str, *inputs: str, ml: bool = False, **settings: Any) -> str:
        """Add a node and return the name of what it computes."""
        name = f"{OWN}{len(self._nodes)}"
        domain = {"domain": "ai.onnx.ml"} if ml else {}
        self._nodes.append(self._helper.make_node(operation, list(inputs), [name], **domain, **settings))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant: an array or a number of 64 bits, or texts."""
        array = np.asarray(value)
        array = array.astype(object) if array.dtype.kind == "U" else array
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        name = f"{OWN}constant/{len(self._constants)}"
        self._constants.append(self._numpy.from_array(array, name))
        return name

    def tensor(self, value: Any) -> Any:
        """Return an array of 64-bit numbers as the settings of a node hold it."""
        return self._numpy.from_array(np.asarray(value, dtype=np.float64))

    def as_double(self, value: str) -> str:
        return self.add("Cast", value, to=self.types.DOUBLE)

    def serialize(self, about: dict[str, str]) -> bytes:
        """Return the model, with public words about it."""
        graph = self._helper.make_graph(self._nodes, "student", self._inputs, self._outputs, self._constants)
        versions = [self._helper.make_opsetid("", OPSET), self._helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
        made = self._helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION, producer_name="mapl")
        for key, value in about.items():
            made.metadata_props.add(key=key, value=value)
        content: bytes = made.SerializeToString(deterministic=True)
        return content
