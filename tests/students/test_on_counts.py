"""Students of noisy counts: what a count says about the rows of its cell, and which learner counts favour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from released_table import public_table
from sklearn.neighbors import KNeighborsClassifier

from mapl.data import Classes, draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.errors import InvalidData, InvalidParameter
from mapl.noise import SeededCoins
from mapl.release.cell_counts import CellCounts
from mapl.students import load, save
from mapl.students.on_counts import CANDIDATES, train_on_counts
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import ABSTAIN

TWO, THREE = Classes(("no", "yes")), Classes(("a", "b", "c"))
LETTERS = pa.table({"x": [0.0, 1.0, 2.0, 3.0]})


def round_of(cells: Any, counts: Any, epsilon: float = 1.0) -> Round:
    return Round(np.asarray(cells, np.int64), np.asarray(counts, np.int64), epsilon)


def counted(
    truth: NDArray[Any], per_cell: int, *, n_classes: int = 2, epsilon: float = 1.0, seed: int = 0
) -> Round:
    """Count so many private records, all like the public row, in a cell for each public row."""
    counts = np.zeros((len(truth), n_classes), np.int64)
    counts[np.arange(len(truth)), truth] = per_cell
    noisy = CellCounts(epsilon, len(truth), n_classes).release(counts, SeededCoins(seed))
    return round_of(np.arange(len(truth)), noisy, epsilon)


class TestShares:
    def test_counts_are_shared_by_the_rows_of_a_cell(self) -> None:
        one = round_of([0, 0, 1, 2], [[6, 2], [-3, 5], [-1, -4]])
        assert one.members.tolist() == [2, 2, 1, 1]
        assert one.shares.tolist() == [[3, 1], [3, 1], [0, 5], [0, 0]]

    def test_the_third_largest_count_is_what_noise_alone_reaches(self) -> None:
        one = round_of([0, 1, 2, 3], [[9, 5, 4], [9, -1, -2], [7, 7, 7], [-1, -2, 3]])
        assert one.shares.tolist() == [[5, 1, 0], [9, 0, 0], [0, 0, 0], [0, 0, 3]]

    def test_a_round_with_less_noise_counts_more(self) -> None:
        first, second = round_of([0, 1], [[4, 0], [4, 0]], 1.0), round_of([1, 0], [[0, 6], [0, 0]], 2.0)
        taught = TaughtByCounts(LETTERS.slice(0, 2), (first, second))
        np.testing.assert_allclose(taught.shares, [[4 / 5, 0], [4 / 5, 24 / 5]])
        assert taught.labels.tolist() == [0, 1]

    @settings(max_examples=100, deadline=None)
    @given(
        counts=arrays(np.int64, (5, 3), elements=st.integers(-20, 20)),
        cells=arrays(np.int64, 9, elements=st.integers(0, 4)),
    )
    def test_no_row_speaks_for_more_than_its_cell(self, counts: Any, cells: Any) -> None:
        shares = Round(cells, counts, 1.0).shares
        assert (shares >= 0).all()
        for cell in np.unique(cells):
            assert (shares[cells == cell].sum(axis=0) <= np.maximum(counts[cell], 0) + 1e-9).all()


class TestLabels:
    def test_the_leading_class_and_none_where_no_class_leads(self) -> None:
        one = round_of([0, 1, 2, 3], [[1, 2], [3, 3], [-1, -2], [5, -9]])
        taught = TaughtByCounts(LETTERS, (one,))
        assert taught.labels.tolist() == [1, ABSTAIN, ABSTAIN, 0]
        assert taught.labels.dtype == np.int32
        codes, lead = taught.leads
        assert lead.tolist() == [1, 0, 0, 5]
        assert codes[[0, 3]].tolist() == [1, 0]

    def test_a_lesson_has_a_copy_of_a_row_for_each_class_that_it_speaks_for(self) -> None:
        taught = TaughtByCounts(LETTERS, (round_of([0, 1, 2, 3], [[1, 3], [0, 4], [-1, -2], [8, 0]]),))
        lesson = taught.lesson(TWO, np.array([0, 1, 2]), seed=5)
        assert lesson.rows["x"].to_pylist() == [0.0, 0.0, 1.0]
        assert lesson.codes.tolist() == [0, 1, 1]
        assert lesson.weights is not None
        np.testing.assert_allclose(lesson.weights, np.array([1, 3, 4]) / (8 / 3))  # their mean is 1

    @pytest.mark.parametrize("counts", [[[-1, -2]] * 4, [[0, 0]] * 4])
    def test_counts_that_say_nothing_are_refused(self, counts: Any) -> None:
        taught = TaughtByCounts(LETTERS, (round_of(range(4), counts),))
        assert (taught.labels == ABSTAIN).all()
        with pytest.raises(InvalidData, match=r"No cell has a noisy count above zero.*Take fewer cells"):
            train_on_counts(taught, classes=TWO, schema=draft_schema(LETTERS))


class Constant:
    """A model that predicts a class number written as its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def predict(self, rows: Any) -> Any:
        return np.array([self.name] * len(rows))


def test_hits_are_an_unbiased_estimate_of_how_often_a_model_is_right() -> None:
    """Over many draws of the noise their sum averages to the true number; six standard errors."""
    rng = np.random.default_rng(1)
    true = rng.integers(0, 6, (40, 3))
    cells = np.concatenate([np.arange(40), rng.integers(0, 40, 60)])  # every cell has a public row, some have more
    rows, mechanism, coins = pa.table({"x": rng.normal(size=100)}), CellCounts(0.5, 40, 3), SeededCoins(2)
    everywhere, n_draws = np.arange(100), 400
    sums = np.array(
        [
            TaughtByCounts(rows, (Round(cells, mechanism.release(true, coins), 0.5),))
            .hits(Constant("b"), THREE, everywhere)
            .sum()
            for _ in range(n_draws)
        ]
    )
    right = true[:, 1].sum()
    assert abs(sums.mean() - right) < 6 * sums.std() / np.sqrt(n_draws)
    assert sums.std() == pytest.approx(mechanism.deviation * np.sqrt(40), rel=0.2)  # one count's noise per cell
    assert (sums < right).any()
    assert (sums > right).any()


def test_hits_of_some_rows_are_those_of_their_cells() -> None:
    taught = TaughtByCounts(LETTERS, (round_of([0, 0, 1, 1], [[6, 2], [-3, 5]]),))
    assert taught.hits(Constant("yes"), TWO, np.array([0, 2, 3])).tolist() == [1, 2.5, 2.5]
    assert taught.hits(Constant("no"), TWO, np.array([2, 3])).sum() == -3  # noise may say less than nothing


def test_the_default_student_averages_the_noise_out() -> None:
    """Cells of two records and noise of 1.9: labels are right in three cases of four, the student nearly always."""
    public, more = public_table(1200), public_table(1000, seed=1)
    taught = TaughtByCounts(public.rows, (counted(public.truth, 2, epsilon=0.7),))
    labels = taught.labels
    given = labels != ABSTAIN
    assert 0.65 < (labels[given] == public.truth[given]).mean() < 0.9
    student = train_on_counts(taught, classes=TWO, schema=draft_schema(public.rows))
    assert student.learner.startswith("auto: ")
    assert (student.strategy, student.n_labels, student.warnings) == ("counts", 1200, ())
    assert (student.predict_codes(more.rows) == more.truth).mean() > 0.93


def test_a_linear_rule_is_left_to_a_linear_student() -> None:
    draws = np.random.default_rng(0)
    rows, others = draws.normal(size=(1000, 60)), draws.normal(size=(1000, 60))
    truth = (rows.sum(axis=1) > 0).astype(np.int64)
    student = train_on_counts(TaughtByCounts(rows, (counted(truth, 20),)), classes=TWO, schema=draft_schema(rows))
    assert student.learner == "auto: logistic"
    assert (student.predict_codes(others) == (others.sum(axis=1) > 0)).mean() > 0.85


def test_few_cells_go_to_the_most_trusted_learner() -> None:
    public = public_table(400)
    cells = np.arange(400) % 49
    counts = np.random.default_rng(0).integers(1, 5, (49, 2))
    student = train_on_counts(
        TaughtByCounts(public.rows, (round_of(cells, counts),)), classes=TWO, schema=draft_schema(public.rows)
    )
    assert student.learner == f"auto: {CANDIDATES[0].name}"


def test_nothing_but_held_out_cells_has_a_count_above_zero() -> None:
    """Then candidates cannot be compared, and the first one learns from what there is."""
    public = public_table(200)
    held_out = np.random.default_rng(0).random(200) < 0.2
    counts = np.where(held_out, 4, -1)[:, None] * [[1, 0]]
    student = train_on_counts(
        TaughtByCounts(public.rows, (round_of(range(200), counts),)), classes=TWO, schema=draft_schema(public.rows)
    )
    assert set(student.predict(public.rows)) == {"no"}
    assert student.warnings == ("No noisy count speaks for 'yes'; the student never predicts it.",)


def test_named_students_take_weights_or_are_refused(tmp_path: Any) -> None:
    public = public_table(300)
    taught, schema = TaughtByCounts(public.rows, (counted(public.truth, 4),)), draft_schema(public.rows)
    student = train_on_counts(taught, classes=TWO, schema=schema, learner="logistic")
    assert student.learner == "logistic"
    save(student, tmp_path / "student.skops")
    again = load(tmp_path / "student.skops")
    assert (again.predict(public.rows) == student.predict(public.rows)).all()
    numbers = TaughtByCounts(np.column_stack([public.rows["age"], public.rows["noise"]]), taught.rounds)
    with pytest.raises(InvalidParameter, match="takes no weights"):
        train_on_counts(numbers, classes=TWO, schema=draft_schema(numbers.rows), learner=KNeighborsClassifier())


def test_rows_of_categories_go_to_trees_first() -> None:
    draws = np.random.default_rng(0)
    rows = pa.table({name: draws.choice(["p", "q", "r"], 600) for name in "uvwx"})
    truth = np.array([u == v for u, v in zip(rows["u"].to_pylist(), rows["v"].to_pylist(), strict=True)], np.int64)
    schema = draft_schema(rows)
    taught = TaughtByCounts(rows, (counted(truth, 3),))
    student = train_on_counts(taught, classes=TWO, schema=schema, encoder=encoder_for(schema, rows))
    assert student.learner == "auto: extra trees"
    assert (student.predict_codes(rows) == truth).mean() > 0.97


@pytest.mark.parametrize("per_cell", [6, 1])
def test_images_go_to_the_kernel_on_cleaned_counts(per_cell: int, tmp_path: Any) -> None:
    draws = np.random.default_rng(0)
    truth = draws.integers(3, size=240)
    pixels = 0.2 * draws.random((240, 8, 8))
    for code, (rows, columns) in enumerate([(slice(2, 4), slice(1, 7)), (slice(1, 7), slice(2, 4)), (5, 5)]):
        pixels[truth == code, rows, columns] += 0.7
    table = pa.table(
        {"picture": pa.array(list(pixels.reshape(240, 64).astype(np.float32)), pa.list_(pa.float32(), 64))}
    )
    schema = draft_schema(table)
    taught = TaughtByCounts(table, (counted(truth, per_cell, n_classes=3),))
    student = train_on_counts(taught, classes=THREE, schema=schema, encoder=encoder_for(schema, table))
    assert student.learner == "auto: kernel on cleaned counts"
    assert (student.predict_codes(table) == truth).mean() > 0.97
    save(student, tmp_path / "student.skops")
    assert (load(tmp_path / "student.skops").predict_codes(table) == truth).mean() > 0.97


def test_text_beside_an_image_goes_to_others_than_the_kernel() -> None:
    """It takes no sparse rows. Cells refuse such tables, in words of their own, after a student was rehearsed."""
    draws, truth = np.random.default_rng(0), np.arange(80) % 2
    pixels = draws.random((80, 64)).astype(np.float32)
    notes = [f"{('ill', 'well')[code]} for {i} days" for i, code in enumerate(truth.tolist())]
    table = pa.table({"note": notes, "picture": pa.array(list(pixels), pa.list_(pa.float32(), 64))})
    schema = draft_schema(table)
    taught = TaughtByCounts(table, (counted(truth, 6),))
    student = train_on_counts(taught, classes=TWO, schema=schema, encoder=encoder_for(schema, table))
    assert "kernel" not in student.learner
    assert (student.predict_codes(table) == truth).mean() > 0.9
