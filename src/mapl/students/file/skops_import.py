"""Importing skops without the large libraries that it has no need of."""

from __future__ import annotations

from types import ModuleType

from mapl.import_path import ClosedDoors

DOORS = tuple(f"sklearn.externals.array_api_compat.{library}" for library in ("cupy", "dask", "torch"))
"""What skops opens on its way through all of scikit-learn, which it walks for the names of estimators."""


def import_skops() -> ModuleType:
    """Return skops.io. Behind the doors stand torch and others: with torch installed, seconds of every command."""
    with ClosedDoors(*DOORS):
        import skops.io
    return skops.io  # type: ignore[no-any-return]
