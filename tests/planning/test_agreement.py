"""Declared agreement: what parses, what is refused, and the typical questions it stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.planning.votes.agreement import DEFAULT, Agreement


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("0.9", ((0.9, 1.0),)),
        ("1", ((1.0, 1.0),)),
        ("0.9:3,0.6:1", ((0.9, 0.75), (0.6, 0.25))),
        (" 0.9 : 3 , 0.6 : 1 ", ((0.9, 0.75), (0.6, 0.25))),
        ("0.9,0.6", ((0.9, 0.5), (0.6, 0.5))),
        ("0.9:2,0.6:0", ((0.9, 1.0), (0.6, 0.0))),
        ("1e-1:5e2", ((0.1, 1.0),)),
    ],
)
def test_shares_and_weights_are_read_and_normalised(text: str, groups: tuple[tuple[float, float], ...]) -> None:
    assert Agreement.parse(text).groups == groups
    assert Agreement.parse(text).weights().tolist() == [w for _, w in groups]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ",", "high", "0.9:", ":1", "0.9:1:2", "0.9;0.6", "0.9:1,", ",0.9"),
        *("0:1", "-0.5", "1.01", "90%", "90", "nan", "inf"),
        *("0.9:nan", "0.9:inf", "0.9:-1", "0.9:0", "0.9:1,0.6:-1", "0.9:1e308,0.8:1e308", "0.9:1,x:1"),
    ],
)
def test_what_is_no_agreement_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Agreement.parse(text)
    assert repr(text) in str(caught.value)
    assert DEFAULT in str(caught.value)


def test_the_default_is_printed_as_it_is_written() -> None:
    assert str(Agreement.default()) == DEFAULT
    assert Agreement.parse(str(Agreement.default())) == Agreement.default()
    assert float(Agreement.default().weights().sum()) == pytest.approx(1)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_teachers", [1, 2, 100, 251])
def test_typical_questions_have_one_runner_up(n_teachers: int, n_classes: int) -> None:
    block = Agreement.parse("1.0,0.9,0.75,0.55").tallies(n_teachers, n_classes)
    assert block.counts.shape == (4, n_classes)
    assert (block.counts.sum(axis=1) == n_teachers).all()
    assert (block.counts >= 0).all()
    assert (np.count_nonzero(block.counts, axis=1) <= 2).all()


def test_the_winner_has_its_share_and_no_luck() -> None:
    block = Agreement.parse("1.0,0.9,0.75,0.55").tallies(200, 3)
    assert block.values.tolist() == [1, 1, 1, 1]
    assert block.counts[:, 1].tolist() == [200, 180, 150, 110]
    # One vote for class 0 more than half the lead is enough: ties go to class 0.
    assert block.distances.tolist() == [math.ceil(g / 2) - 1 for g in (200, 160, 100, 20)]


@pytest.mark.parametrize(("share", "n_classes"), [(0.3, 10), (0.4, 3), (0.2, 10), (0.12, 10)])
def test_a_winner_with_less_than_half_the_votes_still_wins(share: float, n_classes: int) -> None:
    """The other votes never make another class win, however small the share."""
    block = Agreement.parse(f"{share}").tallies(100, n_classes)
    assert int(block.counts.sum()) == 100
    assert int(block.counts.max()) == round(100 * share)
    assert int(block.distances[0]) <= round(100 * share) / 2


@pytest.mark.parametrize("n_teachers", [100, 251])
@pytest.mark.parametrize("n_classes", [3, 10])
def test_a_known_runner_up_leaves_the_other_votes_to_others(n_teachers: int, n_classes: int) -> None:
    agreement = Agreement(((0.6, 0.5), (0.5, 0.25), (0.35, 0.25)), (0.25, 0.4, 0.33))
    counts = agreement.tallies(n_teachers, n_classes).counts
    assert (counts.sum(axis=1) == n_teachers).all()
    assert (counts.argmax(axis=1) == 1).all()
    assert np.abs(counts[:, 1] / n_teachers - [0.6, 0.5, 0.35]).max() < 0.02
    assert np.abs(counts[:2, 0] / n_teachers - [0.25, 0.4]).max() < 0.02
