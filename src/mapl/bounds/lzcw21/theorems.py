"""Liu, Zhu, Chaudhuri and Wang, Revisiting Model-Agnostic Private Learning (2021): its theorems by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mapl.bounds.bound import Bound
from mapl.bounds.disagreement import halfspaces, intervals, thresholds
from mapl.bounds.lzcw21.active import theorem_15
from mapl.bounds.lzcw21.margin import proposition_11, remark_14, theorem_12, theorem_13
from mapl.bounds.lzcw21.passive import remark_6, theorem_5
from mapl.bounds.lzcw21.table import (
    active_noisy,
    active_realizable,
    agnostic_floor,
    btt18_agnostic,
    btt18_realizable,
    gaussian_noisy,
    gaussian_realizable,
    sparse_noisy,
    sparse_realizable,
)
from mapl.bounds.lzcw21.voting import example_8, example_9

BOUNDS: Mapping[str, Callable[..., Bound]] = {
    "theorem-5": theorem_5,
    "remark-6": remark_6,
    "example-8": example_8,
    "example-9": example_9,
    "proposition-11": proposition_11,
    "theorem-12": theorem_12,
    "theorem-13": theorem_13,
    "remark-14": remark_14,
    "theorem-15": theorem_15,
    "table-1-gaussian-realizable": gaussian_realizable,
    "table-1-gaussian-noisy": gaussian_noisy,
    "table-1-btt18-realizable": btt18_realizable,
    "table-1-btt18-agnostic": btt18_agnostic,
    "table-1-sparse-realizable": sparse_realizable,
    "table-1-sparse-noisy": sparse_noisy,
    "table-1-sparse-voting": theorem_13,
    "table-1-active-realizable": active_realizable,
    "table-1-active-noisy": active_noisy,
    "table-1-agnostic-floor": agnostic_floor,
    "disagreement-thresholds": thresholds,
    "disagreement-intervals": intervals,
    "disagreement-halfspaces": halfspaces,
}
"""Every bound by the name that ``mapl bounds lzcw21`` prints; parameters are read off the signatures."""

__all__ = ["BOUNDS"]
