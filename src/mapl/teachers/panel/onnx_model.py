"""Models as ONNX: numbers and a fixed set of operations, no code; onnxruntime asks one in about 10 microseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN
from mapl.errors import InvalidData
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel.keeping import class_codes
from mapl.types import Silent

INPUT = "rows"
DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
NOT_PLAIN = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operations with graphs of their own inside; no classifier here needs one, and they could run for ever."""

BROKEN = "The file of the teachers holds an ONNX model that is not as mapl writes it; it is damaged or forged."


@dataclass(frozen=True, slots=True, repr=False)
class Onnx(Silent):
    """One teacher as an ONNX model, the labels that it gives and the class number of each. Private."""

    content: bytes
    labels: tuple[str | int, ...]
    codes: tuple[int, ...]


def as_onnx(fitted: FittedEstimator) -> Onnx:
    """Convert a fitted classifier that takes 32-bit numbers; whatever cannot be converted raises."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    from mapl.teachers.panel.boosted_trees import write_boosted_trees

    model = fitted.estimator
    codes = tuple(class_codes(fitted).tolist())
    if type(model).__name__ == "HistGradientBoostingClassifier":
        return Onnx(write_boosted_trees(model), tuple(range(len(codes))), codes)
    width = FloatTensorType([None, int(model.n_features_in_)])
    made = to_onnx(model, initial_types=[(INPUT, width)], options={id(model): {"zipmap": False}})
    labels = tuple(one.item() if hasattr(one, "item") else one for one in model.classes_)
    return Onnx(made.SerializeToString(), labels, codes)


@dataclass(frozen=True, slots=True, repr=False)
class OnnxModel(Silent):
    """An ONNX model that is ready to be asked. Private."""

    session: Any
    output: str
    codes: dict[Any, int] = field(default_factory=dict)

    @classmethod
    def of(cls, kept: Onnx) -> OnnxModel:
        """Make a model ready, or refuse one that is more than numbers and plain operations."""
        import onnxruntime

        refuse_unusual(kept.content)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # there are hundreds of them
        options.log_severity_level = 4  # its words could quote what a model learned
        try:
            session = onnxruntime.InferenceSession(kept.content, options, providers=["CPUExecutionProvider"])
        except Exception:
            raise InvalidData(BROKEN) from None
        return cls(session, session.get_outputs()[0].name, dict(zip(kept.labels, kept.codes, strict=True)))

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        (found,) = self.session.run([self.output], {INPUT: np.asarray(rows, dtype=np.float32)})
        return np.array([self.codes.get(one, UNKNOWN) for one in found.ravel().tolist()], dtype=np.int64)


def refuse_unusual(content: bytes) -> None:
    """Refuse a model that names other files, own functions, foreign operations or graphs within graphs."""
    import onnx

    try:
        model = onnx.load_from_string(content)
        graph = model.graph
        plain = not model.functions and not graph.sparse_initializer and len(graph.input) == 1
        plain = plain and graph.input[0].name == INPUT
        plain = plain and all(node.domain in DOMAINS and node.op_type not in NOT_PLAIN for node in graph.node)
        plain = plain and not any(one.data_location or one.external_data for one in graph.initializer)
        plain = plain and not any(
            one.t.external_data or one.g.node or one.graphs for node in graph.node for one in node.attribute
        )
    except Exception:
        raise InvalidData(BROKEN) from None
    if not plain:
        raise InvalidData(BROKEN)
