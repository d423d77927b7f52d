"""A label means what its name says, or what was declared of it; it never has two meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mapl.data import Classes, label_codes
from mapl.data.tables.label_values import declare_values, label_values_of, parse_label_values
from mapl.errors import InvalidParameter

NO_YES = Classes(("no", "yes"))


def codes(cells: Any, values: str, classes: Classes = NO_YES) -> list[int]:
    return label_codes(cells, declare_values(classes, parse_label_values(values))).tolist()


@pytest.mark.parametrize(
    ("cells", "values", "expected"),
    [
        (pa.array([0, 1, 2, None]), "0=no,1=yes", [0, 1, -1, -1]),
        (pa.array([0, 1]), "0=yes,1=no", [1, 0]),  # no matter what place a class has
        (pa.array(["0", " 1.0", "yes", "no", ""]), "0=no, 1 = yes", [0, 1, 1, 0, -1]),
        (pa.array([0.0, 1.0, np.nan]), "0=no,1=yes", [0, 1, -1]),
        (pa.array([True, False, None]), "true=yes,False=no", [1, 0, -1]),
        (pa.array(["TRUE", "False", "1"]), "True=yes,false=no", [1, 0, -1]),
        (pa.array(["J", "j", "N"]), "J=yes,N=no", [1, -1, 0]),
        (pa.array(["a", "b", "no"]), "a=yes,b=yes", [1, 1, 0]),
        (pa.array([1, 2]), "1=yes", [1, -1]),
    ],
)
def test_cells_mean_what_was_declared(cells: Any, values: str, expected: list[int]) -> None:
    assert codes(cells, values) == expected


def test_without_a_declaration_numbers_are_no_positions() -> None:
    assert label_codes(pa.array([0, 1]), NO_YES).tolist() == [-1, -1]


def test_names_of_truth_values_keep_their_meaning() -> None:
    assert codes(pa.array(["TRUE", "f", "t"]), "t=True,f=False", Classes(("False", "True"))) == [1, 0, 1]


def test_votes_and_answers_are_not_read_by_values_of_labels() -> None:
    turned = declare_values(NO_YES, parse_label_values("0=yes,1=no"))
    assert turned.codes(np.array([0, 1]), by_position=True).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("0", "such as 0=no,1=yes"),
        ("0=", "such as 0=no,1=yes"),
        ("0=no=yes", "such as 0=no,1=yes"),
        ("0=maybe", "none of the classes no, yes"),
        ("yes=no", "names a class itself"),
        ("1=no,1=yes", "names a value twice"),
        ("1=no,1.0=no", "names a value twice"),
        ("true=no,TRUE=yes", "names a value twice"),
    ],
)
def test_what_has_no_meaning_or_two_is_refused(values: str, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        codes(pa.array(["0"]), values)


def test_a_class_that_is_a_number_keeps_it() -> None:
    with pytest.raises(InvalidParameter, match="names a class itself"):
        codes(pa.array(["0"]), "1.0=0", Classes(("0", "1")))


@pytest.mark.parametrize("given", [{None: "no"}, {float("nan"): "no"}, {0: None}, "0=no", [(0, "no")]])
def test_dictionaries_of_python_name_no_missing_value(given: Any) -> None:
    with pytest.raises(InvalidParameter, match="give for example"):
        label_values_of(given)


def test_dictionaries_of_python_may_hold_values_of_any_type() -> None:
    assert label_values_of({0: "no", True: np.int64(1), "J": 2.0}) == (("0", "no"), ("True", "1"), ("J", "2.0"))
    assert label_values_of(None) == ()
