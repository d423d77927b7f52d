"""Axis-parallel rectangles and boxes."""
