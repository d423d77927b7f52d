"""Halfspaces, by exact signs."""
