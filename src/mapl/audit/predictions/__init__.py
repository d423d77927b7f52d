"""Exact adversaries against single predictions, and broken twins."""
