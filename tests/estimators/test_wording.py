"""Errors of the Python faces name parameters of Python, not options of the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowd import crowd

import mapl
from mapl import PrivateClassifier, PrivateOracle
from mapl.errors import BudgetExhausted, InvalidParameter, MaplError
from mapl.estimators.wording import PARAMETERS, in_python_words

OPTION = re.compile(r"--[a-z][a-z-]*")


def refusal(face: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(MaplError) as refused:
        face.fit(*given, **named)
    return str(refused.value)


@pytest.mark.parametrize("face", [PrivateClassifier, PrivateOracle])
@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"n_teachers": 700}, "Ask for fewer with n_teachers."),
        ({"adjacency": "replace-one"}, "give it with groups=ids, or take"),
        ({"epsilon": float("inf")}, "take mechanism majority"),
    ],
)
def test_settings(face: Any, settings: dict[str, Any], part: str) -> None:
    people = crowd()
    made = face(**{"classes": ("no", "yes"), "epsilon": 20.0, "n_teachers": 20, "n_jobs": 1, **settings})
    said = refusal(made, people.X, people.y, public=people.public)
    assert part in said
    assert OPTION.search(said) is None


def test_rows() -> None:
    made = PrivateClassifier(classes=("no", "yes"), epsilon=20.0, n_teachers=2, n_jobs=1)
    public = pd.DataFrame({"a": np.arange(20.0)})
    said = refusal(made, public.assign(b=1.0, c=2.0), ["no", "yes"] * 10, public=public)
    assert "give it with y or groups=ids" in said
    assert OPTION.search(said) is None
    made = made.set_params(adjacency="labels")
    said = refusal(made, np.ones((4, 1)), ["no", "yes"] * 2)
    assert "rows of their own with public=rows" in said
    assert OPTION.search(said) is None


def test_only_words_change() -> None:
    with pytest.raises(BudgetExhausted) as passed, in_python_words():
        raise BudgetExhausted("--rows, --rows-of and --public", 7)
    assert passed.value.args == ("n_rows, --rows-of and public=rows", 7)
    with pytest.raises(ValueError, match="--rows"), in_python_words():
        raise ValueError("--rows of somebody else")


def shared_code() -> Iterator[Path]:
    """Yield the files that both faces and the command line go through."""
    package = Path(mapl.__file__).parent
    for part in ("data", "planning", "mechanisms", "accounting", "noise", "teachers", "students"):
        yield from (package / part).glob("*.py")
    for name in ("pipeline/inputs", "pipeline/label", "pipeline/request", "release/loop", "release/promise"):
        yield package / f"{name}.py"


FILES_ONLY = {"--schema"}
"""Named in errors about the files of a run, which no face reads."""


def test_every_option_that_shared_code_names_has_a_parameter() -> None:
    named = {
        option
        for path in shared_code()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        for text in ast.walk(node)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
        for option in OPTION.findall(text.value)
    }
    assert {"--teachers", "--unit"} <= named
    assert named - FILES_ONLY <= set(PARAMETERS)
    for option in named - FILES_ONLY:
        with pytest.raises(InvalidParameter, match=re.escape(PARAMETERS[option])), in_python_words():
            raise InvalidParameter(option)
