"""The distance to instability is what every proof leans on, so it is checked against its definition."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import mapl
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import (
    MAX_TEACHERS,
    Budget,
    Secret,
    StableAnswers,
    State,
    Tallies,
    finite_positive,
    instability,
    positive_integer,
)

Histogram = tuple[int, ...]
SIZES = [(8, 2), (7, 3), (6, 4)]


def histograms(n_teachers: int, n_classes: int) -> list[Histogram]:
    if n_classes == 1:
        return [(n_teachers,)]
    return [
        (first, *rest) for first in range(n_teachers + 1) for rest in histograms(n_teachers - first, n_classes - 1)
    ]


def plus(histogram: Histogram, y: int, votes: int = 1) -> Histogram:
    return (*histogram[:y], histogram[y] + votes, *histogram[y + 1 :])


def one_vote_moved(histogram: Histogram) -> Iterator[Histogram]:
    for a, b in itertools.permutations(range(len(histogram)), 2):
        if histogram[a]:
            yield plus(plus(histogram, a, -1), b)


def winner(histogram: Histogram) -> int:
    return histogram.index(max(histogram))


def changes_survived(histogram: Histogram) -> int:
    """The definition: breadth-first search for the nearest histogram with another winner, minus one step."""
    seen, frontier, steps = {histogram}, [histogram], 0
    while all(winner(h) == winner(histogram) for h in frontier):
        steps += 1
        frontier = list({n for h in frontier for n in one_vote_moved(h)} - seen)
        assert frontier, "some histogram has another winner"
        seen.update(frontier)
    return steps - 1


def table(n_teachers: int, n_classes: int) -> dict[Histogram, tuple[int, int]]:
    rows = histograms(n_teachers, n_classes)
    labels, distances = instability(np.array(rows))
    return {row: (int(y), int(d)) for row, y, d in zip(rows, labels, distances, strict=True)}


@pytest.mark.parametrize(("n_teachers", "n_classes"), SIZES)
def test_the_distance_is_the_largest_number_of_harmless_vote_changes(n_teachers: int, n_classes: int) -> None:
    for histogram, (label, distance) in table(n_teachers, n_classes).items():
        assert label == winner(histogram)
        assert distance == changes_survived(histogram), histogram


@pytest.mark.parametrize(("n_teachers", "n_classes"), SIZES)
def test_one_changed_vote_moves_the_distance_by_at_most_one(n_teachers: int, n_classes: int) -> None:
    known = table(n_teachers, n_classes)
    label_changes = 0
    for histogram, (label, distance) in known.items():
        for neighbour in one_vote_moved(histogram):
            other_label, other_distance = known[neighbour]
            assert abs(distance - other_distance) <= 1
            if label != other_label:
                label_changes += 1
                assert distance == other_distance == 0
    assert label_changes > 0


@pytest.mark.parametrize(("n_teachers", "n_classes"), SIZES)
def test_a_whole_teacher_added_or_removed_moves_the_distance_by_at_most_one(
    n_teachers: int, n_classes: int
) -> None:
    known, larger = table(n_teachers, n_classes), table(n_teachers + 1, n_classes)
    label_changes = 0
    for histogram, (label, distance) in known.items():
        for y in range(n_classes):
            other_label, other_distance = larger[plus(histogram, y)]
            assert abs(distance - other_distance) <= 1
            if label != other_label:
                label_changes += 1
                assert distance == other_distance == 0
    assert label_changes > 0


def test_the_margin_less_one_would_not_do() -> None:
    """The broken twin: BTT18's `margin - 1` moves by two when one teacher changes its mind."""
    before, after = np.array([6, 2]), np.array([5, 3])
    assert (before[0] - before[1] - 1) - (after[0] - after[1] - 1) == 2


def slow_instability(row: list[int]) -> tuple[int, int]:
    """THEORY.md section 0, term by term."""
    a = row.index(max(row))
    gaps = [(y, row[a] - n) for y, n in enumerate(row) if y != a]
    return a, min(g // 2 if y > a else -(-g // 2) - 1 for y, g in gaps)


@given(
    st.integers(2, 40).flatmap(
        lambda c: st.lists(
            st.lists(st.one_of(st.integers(0, 5), st.integers(0, MAX_TEACHERS)), min_size=c, max_size=c),
            min_size=1,
            max_size=6,
        )
    ),
    st.sampled_from([np.int64, np.uint64, np.uint32]),
)
def test_wide_tables_agree_with_the_formula(rows: list[list[int]], dtype: type) -> None:
    labels, distances = instability(np.array(rows, dtype=dtype))
    assert list(zip(labels.tolist(), distances.tolist(), strict=True)) == [slow_instability(r) for r in rows]
    assert labels.dtype == np.int32
    assert distances.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.float32, np.float64, ">i4", ">f8"])
def test_every_whole_number_type_is_read_alike(dtype: str) -> None:
    rows = np.array([[90, 20, 10], [30, 60, 30], [40, 40, 40]])
    tallies = Tallies.checked(rows.astype(dtype))
    assert tallies.values.tolist() == [0, 1, 0]
    assert tallies.distances.tolist() == [35, 14, 0]
    assert (tallies.n_teachers, tallies.n_classes, len(tallies)) == (120, 3, 3)


def test_blocks_and_prefixes_hold_the_same_questions() -> None:
    rows = np.array(histograms(9, 3))
    whole = Tallies.checked(rows)
    blocks = list(whole.blocks(7))
    assert [len(b) for b in blocks[:-1]] == [7] * (len(blocks) - 1)
    np.testing.assert_array_equal(np.concatenate([b.distances for b in blocks]), whole.distances)
    np.testing.assert_array_equal(whole.first(5).values, whole.values[:5])


SECRET = 7351
"""A count that no message may repeat."""

REFUSED: dict[str, tuple[NDArray[np.generic], str]] = {
    "a vector": (np.array([SECRET, 1]), "one row per question"),
    "a cube": (np.full((2, 2, 2), SECRET), "one row per question"),
    "no rows": (np.empty((0, 3), dtype=np.int64), "at least one row"),
    "no columns": (np.empty((3, 0), dtype=np.int64), "at least two classes"),
    "one class": (np.full((3, 1), SECRET), "at least two classes"),
    "truth values": (np.array([[True, False]]), "expected whole numbers"),
    "text": (np.array([[str(SECRET), "1"]]), "expected whole numbers"),
    "objects": (np.array([[SECRET, None]], dtype=object), "expected whole numbers"),
    "complex numbers": (np.array([[SECRET + 1j, 1]]), "expected whole numbers"),
    "not a number": (np.array([[SECRET, np.nan]]), "every count must be a whole number"),
    "infinity": (np.array([[SECRET, np.inf]]), "every count must be a whole number"),
    "shares": (np.array([[SECRET + 0.5, 1.5]]), "multiply by the number of teachers"),
    "negative": (np.array([[SECRET, -SECRET]]), "zero or more"),
    "negative float": (np.array([[SECRET, -1.0]]), "zero or more"),
    "too many": (np.array([[SECRET, 2**31]]), str(MAX_TEACHERS)),
    "far too many": (np.array([[2**64 - 1, SECRET]], dtype=np.uint64), str(MAX_TEACHERS)),
    "unequal totals": (np.array([[SECRET, 1], [SECRET, 2]]), "casts a fixed vote"),
    "nobody": (np.zeros((2, 3), dtype=np.int64), "at least one teacher"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_counts_are_refused_with_advice_and_without_their_values(case: str) -> None:
    counts, advice = REFUSED[case]
    with pytest.raises(InvalidData) as refusal:
        Tallies.checked(counts)
    assert advice in str(refusal.value)
    assert str(SECRET) not in str(refusal.value)


def test_nothing_private_shows_in_a_repr() -> None:
    tallies = Tallies.checked(np.array([[SECRET, 1], [2, SECRET - 1]]))
    assert tallies.distances.tolist() == [3675, 3673]
    answers = StableAnswers(np.array([SECRET], dtype=np.int32), np.array([SECRET]))
    state = State(answered=3, abstained=2, secret=Secret(SECRET))
    for private in (tallies, answers, state, Secret(SECRET)):
        assert str(SECRET) not in f"{private} {private!r}"
        assert "3675" not in f"{private} {private!r}"
    assert "private" in repr(tallies)
    assert "private" in repr(answers)


def test_stable_answers_keep_their_contract() -> None:
    values = np.zeros(2, dtype=np.int32)
    assert len(StableAnswers(values, np.array([0, 5]))) == 2
    with pytest.raises(InvalidData, match="never negative; clip it at zero"):
        StableAnswers(values, np.array([0, -1]))
    with pytest.raises(InvalidData, match="same length"):
        StableAnswers(values, np.array([1]))
    with pytest.raises(InvalidData, match="one-dimensional"):
        StableAnswers(values[None], np.array([[1, 2]]))


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), "2"])
def test_a_budget_needs_a_positive_epsilon(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="positive number"):
        Budget(epsilon, 1e-5)


def test_text_in_the_place_of_a_number_is_shown_as_text() -> None:
    with pytest.raises(InvalidParameter, match="epsilon is '1'; it must be a positive number"):
        Budget("1", 1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2, float("nan"), "0"])
def test_a_budget_needs_a_small_delta(delta: float) -> None:
    with pytest.raises(InvalidParameter, match=r"\[0, 1\)"):
        Budget(1.0, delta)


def test_budgets_are_partially_ordered() -> None:
    assert Budget(1, 1e-6) <= Budget(1, 1e-5)
    assert not Budget(1, 1e-5) <= Budget(2, 1e-6)
    assert not Budget(2, 1e-6) <= Budget(1, 1e-5)


def test_settings_are_refused_by_name() -> None:
    for bad in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidParameter, match="sigma is"):
            finite_positive(sigma=bad)
    for wrong in (0, -3, 2.0, True):
        with pytest.raises(InvalidParameter, match="max_abstentions is"):
            positive_integer(max_abstentions=wrong)
    finite_positive(sigma=1e-9)
    positive_integer(max_abstentions=int(np.int64(3)))


def test_a_state_counts_and_leaves_the_old_one_alone() -> None:
    old = State(answered=1, abstained=2)
    new = old.after(3, 4, halted=True)
    assert (new.answered, new.abstained, new.halted) == (4, 6, True)
    assert (old.answered, old.abstained, old.halted) == (1, 2, False)


def speaking(source: str) -> list[str]:
    """Name the silent dataclasses of a file whose decorator gives them a repr of all their fields."""
    found = []
    for one in ast.walk(ast.parse(source)):
        if isinstance(one, ast.ClassDef) and "Silent" in map(ast.unparse, one.bases):
            made = [ast.unparse(decorator) for decorator in one.decorator_list]
            if any(words.startswith("dataclass") and "repr=False" not in words for words in made):
                found.append(one.name)
    return found


def test_no_decorator_makes_a_silent_class_speak() -> None:
    assert speaking("@dataclass(frozen=True)\nclass Loud(Silent): ...") == ["Loud"]
    files = list(Path(mapl.__file__).parent.rglob("*.py"))
    assert sum("(Silent" in file.read_text("utf-8") for file in files) > 50
    assert not [(file, names) for file in files if (names := speaking(file.read_text("utf-8")))]
