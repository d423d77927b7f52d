"""Estimators draft a schema from public rows, say what was doubtful, or take the one that they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mapl import PrivacyWarning, PrivateClassifier
from mapl.data import Column, Schema, draft_schema
from mapl.errors import InvalidParameter


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 90, n)
    return pd.DataFrame(
        {
            "age": [str(one) if i % 30 else "unknown" for i, one in enumerate(ages)],
            "zip": rng.integers(10_000, 10_040, n),
            "row": [f"r{i}" for i in range(n)],
        }
    )


PRIVATE, PUBLIC = frame(900, 1), frame(200, 2)
LABELS = np.where(pd.to_numeric(PRIVATE["age"], errors="coerce") > 50, "yes", "no")


def classifier(**settings: Any) -> PrivateClassifier:
    given = {"epsilon": 20.0, "classes": ("no", "yes"), "n_cells": 30, "method": "cells", "student": "ridge"}
    return PrivateClassifier(**given, seed=1, **settings)


def test_columns_are_dropped_and_declared_in_python() -> None:
    schema = draft_schema(PUBLIC, drop=["row"], categories=["zip"])
    fitted = classifier(schema=schema).fit(PRIVATE, LABELS, public=PUBLIC)
    kinds = {one.name: one.kind for one in fitted.student_.schema.columns}
    assert kinds == {"age": "number", "zip": "category"}
    assert fitted.predict(PUBLIC.head(5)).shape == (5,)
    assert clone(classifier(schema=schema)).schema == schema


def test_what_a_draft_left_in_doubt_is_warned_of_in_words_of_python() -> None:
    plain = PUBLIC.drop(columns="row")
    with pytest.warns(PrivacyWarning, match="drafted as a number.*categories=...") as said:
        classifier().fit(PRIVATE.drop(columns="row"), LABELS, public=plain)
    assert not any("--" in str(one.message) for one in said)


def test_ids_are_asked_about_in_rows_as_they_are_given() -> None:
    with pytest.raises(InvalidParameter, match=r"'row' \(nearly all.*drop=\.\.\."):
        classifier().fit(PRIVATE, LABELS, public=PUBLIC)


def test_what_is_no_schema_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="schema is of type dict"):
        classifier(schema={"age": "number"}).fit(PRIVATE, LABELS, public=PUBLIC)
    other = Schema((Column("height", "number"),))
    with pytest.raises(ValueError, match="few or none of the schema's columns"):
        classifier(schema=other).fit(PRIVATE, LABELS, public=PUBLIC)
