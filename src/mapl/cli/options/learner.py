"""How a learner is named on the command line: a preset, something to import, or a command."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from mapl.errors import InvalidParameter
from mapl.import_path import search_current_folder_too


def learner_of(name: str) -> Any:
    """Return the learner that a name stands for: a preset's name as it is, ``module:attribute`` imported.

    A class is called without arguments. Modules in the current folder are found too, unless they are called like
    one that is installed.
    """
    if ":" not in name:
        return name
    module, _, attribute = name.partition(":")
    search_current_folder_too()
    try:
        loaded = importlib.import_module(module)
        found = getattr(loaded, attribute)
        learner = found() if inspect.isclass(found) else found
    except (ImportError, AttributeError, ValueError, TypeError) as failure:
        raise InvalidParameter(
            f"The learner {name!r} cannot be imported ({type(failure).__name__}: {failure}); write "
            "package.module:name of an estimator, of a class without required arguments, or of a function "
            "train(X, y) that returns a prediction function."
        ) from None
    if Path(getattr(loaded, "__file__", None) or "").parent == Path.cwd():
        # A worker that is used again may have started in another folder, so modules of this one travel along.
        _cloudpickle().register_pickle_by_value(loaded)
    return learner


def _cloudpickle() -> Any:
    """Return the pickler that joblib uses, which it brings along within itself or beside it."""
    try:
        return importlib.import_module("joblib.externals.cloudpickle")
    except ModuleNotFoundError:
        return importlib.import_module("cloudpickle")
