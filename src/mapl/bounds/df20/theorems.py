"""Dagan and Feldman, PAC learning with stable and private predictions (2020): its theorems by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mapl.bounds.bound import Bound
from mapl.bounds.df20.private import corollary_1, corollary_1_on_sample, corollary_1_rows
from mapl.bounds.df20.relabel import theorem_2, theorem_2_on_sample, theorem_2_rows
from mapl.bounds.df20.stable import private_floor, theorem_1, theorem_1_rows, theorem_4

BOUNDS: Mapping[str, Callable[..., Bound]] = {
    "theorem-1": theorem_1,
    "theorem-1-rows": theorem_1_rows,
    "theorem-4": theorem_4,
    "theorem-4-private": private_floor,
    "corollary-1": corollary_1,
    "corollary-1-on-sample": corollary_1_on_sample,
    "corollary-1-rows": corollary_1_rows,
    "theorem-2": theorem_2,
    "theorem-2-on-sample": theorem_2_on_sample,
    "theorem-2-rows": theorem_2_rows,
}
"""Every bound by the name that ``mapl bounds df20`` prints; parameters are read off the signatures."""

__all__ = ["BOUNDS"]
