"""Worlds of the papers whose truth is known exactly: what tests, benchmarks and docs measure against."""

from mapl.reproduce.worlds.few_rules import FewRules, voting_fails, voting_wins
from mapl.reproduce.worlds.halfspaces import HalfspaceWorld
from mapl.reproduce.worlds.label_noise import LabelNoise
from mapl.reproduce.worlds.thresholds import ThresholdWorld

__all__ = [
    "FewRules",
    "HalfspaceWorld",
    "LabelNoise",
    "ThresholdWorld",
    "voting_fails",
    "voting_wins",
]
