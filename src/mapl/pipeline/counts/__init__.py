"""Cells: their plan, their counts, and which record of a unit is counted."""
