"""The theorems of the papers as functions with explicit constants; nothing here reads a private row or vote."""

from mapl.bounds.bound import Bound

__all__ = ["Bound"]
