"""Mechanisms on teachers' scores: soft labels."""
