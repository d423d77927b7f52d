"""Asking a model of which a file may have made anything: whatever goes wrong in it is told in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData, MaplError


@contextmanager
def refuse_failures(learner: str) -> Iterator[None]:
    """Turn what a model raises into a refusal.

    A file passes every check of `allow_list` with arrays that do not fit each other; that shows when they are
    multiplied. The words of a failure may quote the rows to predict, so its type alone is told.
    """
    try:
        yield
    except (MaplError, MemoryError):
        raise
    except Exception as failure:
        raise InvalidData(
            f"The student's model ({learner}) failed on the rows to predict ({type(failure).__name__}). If it was "
            "read from a file, that is damaged, forged, or of other versions of its libraries: fetch it again from "
            "its author. If its learner is your own, mend its predict."
        ) from failure


def check_answers(answers: NDArray[Any], *shape: int) -> NDArray[Any]:
    """Refuse answers that are not one number for each row, or row and class."""
    if answers.shape != shape:
        raise ValueError(f"answers of shape {answers.shape} instead of {shape}")
    if not np.isfinite(answers).all():
        raise ValueError("answers that are no finite numbers")
    return answers
