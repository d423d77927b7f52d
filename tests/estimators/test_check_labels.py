"""Labels that are numbers or truth values where classes are words: declared, and seen by their owner alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowd import crowd

import mapl
from mapl import InvalidParameter, PrivateClassifier, PrivatePredictor, check_labels

WORDS = ("no", "yes")
MEANT: list[Any] = [{0: "no", 1: "yes"}, {False: "no", True: "yes"}]


def of_kind(y: Any, kind: str) -> Any:
    ones = np.asarray(y) == "yes"
    made = {"numbers": ones.astype(int), "truth": ones, "list": ones.astype(int).tolist()}
    return pd.Series(ones) if kind == "series" else made[kind]


@pytest.mark.parametrize("kind", ["numbers", "truth", "list", "series"])
@pytest.mark.parametrize("face", [PrivateClassifier, PrivatePredictor])
def test_declared_values_are_learned_as_names_are(face: Any, kind: str) -> None:
    people = crowd()
    values = MEANT[kind in ("truth", "series")]
    usual: dict[str, Any] = {"epsilon": 50.0, "classes": WORDS, "seed": 0}
    more = {} if face is PrivatePredictor else {"public": people.public}
    usual |= {"n_queries": 50} if face is PrivatePredictor else {"n_jobs": 1, "n_teachers": 20}
    said = []
    for y, meant in ((people.y, None), (of_kind(people.y, kind), values)):
        clf = face(**usual, label_values=meant).fit(people.X, y, **more)
        said.append((clf.answer if face is PrivatePredictor else clf.predict)(people.public[:50]).tolist())
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", ["numbers", "truth", "list", "series"])
def test_the_type_of_y_changes_no_word(kind: str) -> None:
    """One label more that is text would make it a column of objects: a refusal would tell of that person."""
    people = crowd()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = PrivateClassifier(epsilon=50.0, classes=WORDS, n_teachers=20, n_jobs=1, seed=0)
        clf.fit(people.X, of_kind(people.y, kind), public=people.public)


def test_the_owner_sees_which_labels_name_a_class() -> None:
    found = check_labels(["no", "yes", None, "maybe", 1], classes=WORDS)
    assert (found.by_class, found.n_missing, found.n_of_no_class) == ({"no": 1, "yes": 1}, 1, 2)
    assert repr(found) == "LabelCheck(private)"
    assert check_labels(np.array([0, 1, 1]), classes=WORDS, label_values=MEANT[0]).by_class == {"no": 1, "yes": 2}
    assert mapl.check_labels is check_labels


def test_refusals_speak_python() -> None:
    with pytest.raises(InvalidParameter, match=r"^label_values says that '0' means 'maybe'"):
        check_labels([0, 1], classes=WORDS, label_values={0: "maybe"})
