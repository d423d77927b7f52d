"""Exact adversaries against mechanisms that vote, and their broken twins."""
