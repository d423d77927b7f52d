"""Panels: teachers that are kept, and vote on single questions as they come."""

from mapl.teachers.panel.linear import LinearPanel
from mapl.teachers.panel.linear_weights import Weights, weights_of
from mapl.teachers.panel.models import ModelPanel
from mapl.teachers.panel.panel import Panel, count_votes

__all__ = ["LinearPanel", "ModelPanel", "Panel", "Weights", "count_votes", "weights_of"]
