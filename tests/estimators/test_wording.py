"""Errors of the Python faces name parameters of Python, not options of the command line."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowd import crowd

import mapl
from mapl import PrivateClassifier, PrivateOracle
from mapl.errors import BudgetExhausted, MaplError
from mapl.estimators.wording import PARAMETERS, VALUES, in_python_words
from mapl.parameters import spell

OPTION = re.compile(r"--[a-z][a-z-]*")


def refusal(face: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(MaplError) as refused:
        face.fit(*given, **named)
    return str(refused.value)


@pytest.mark.parametrize("face", [PrivateClassifier, PrivateOracle])
@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"n_teachers": 700, "n_rows": 600}, "Ask for fewer with n_teachers"),
        ({"adjacency": "replace-one"}, "give it with groups=ids, or take"),
        ({"epsilon": float("inf")}, 'take mechanism="majority"'),
    ],
)
def test_settings(face: Any, settings: dict[str, Any], part: str) -> None:
    people = crowd()
    made = face(**{"classes": ("no", "yes"), "epsilon": 20.0, "n_teachers": 20, "n_jobs": 1, **settings})
    said = refusal(made, people.X, people.y, public=people.public)
    assert part in said
    assert OPTION.search(said) is None


def test_jobs() -> None:
    people = crowd()
    made = PrivateClassifier(classes=("no", "yes"), epsilon=20.0, n_teachers=20, n_jobs=0)
    assert refusal(made, people.X, people.y, public=people.public).startswith("n_jobs is 0; ")


def test_rows() -> None:
    made = PrivateClassifier(classes=("no", "yes"), epsilon=20.0, n_teachers=2, n_jobs=1)
    public = pd.DataFrame({"a": np.arange(20.0)})
    said = refusal(made, public.assign(b=1.0, c=2.0), ["no", "yes"] * 10, public=public)
    assert "give with y or groups=ids" in said
    assert OPTION.search(said) is None
    made = made.set_params(adjacency="labels")
    said = refusal(made, np.ones((4, 1)), ["no", "yes"] * 2)
    assert "rows of their own with public=rows" in said
    assert OPTION.search(said) is None


def test_what_somebody_else_said_stays_as_it_is() -> None:
    with pytest.raises(BudgetExhausted) as passed, in_python_words():
        raise BudgetExhausted(f"{spell('rows')}, --rows-of and {spell('public')}", 7)
    assert passed.value.args == ("n_rows, --rows-of and public=rows", 7)


def test_every_other_name_is_one_of_a_parameter() -> None:
    faces = [getattr(mapl, name) for name in mapl.__all__ if hasattr(getattr(mapl, name), "fit")]
    known = {name for face in faces for method in (face, face.fit) for name in signature(method).parameters}
    assert {spelled.partition("=")[0] for spelled in (*PARAMETERS.values(), *VALUES.values())} <= known
