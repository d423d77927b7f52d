"""What units add to sums of moments: never longer than declared, exact, and nobody else's business."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data import Column, Schema
from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.data.encoding.encoder import Encoder
from mapl.data.moments import contributions, unit_means
from mapl.data.moments.contributions import Clip, Crowd, ExactSums, sum_contributions
from mapl.data.moments.feature_map import UNIT, FeatureMap, scale_rows
from mapl.data.moments.probabilities import class_chances
from mapl.data.moments.residuals import Residuals, on_grid
from mapl.data.moments.row_map import KeptVectors, RowMap
from mapl.data.moments.unit_means import DenseMeans, SparseMeans, norms_above, round_up
from mapl.data.moments.words import WordResiduals
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.release.moment_sums import MOST_REACH

EXTREME = (0.0, 1.0, -1.0, 1e-300, 1e308, -1e308, math.inf, -math.inf, math.nan, 3.7)
CLIP = Clip(MOST_REACH - 12345, 0.495)
"""About the longest contributions there are, and cut to about the shortest bound."""


def residuals_of(n_columns: int, n_classes: int, *, steep: float = 3.0, seed: int = 0) -> Residuals:
    """Return a public map of some columns, and a model on it."""
    rng = np.random.default_rng(seed)
    encoder = Encoder.of(Schema(tuple(Column(f"x{j}", "number", centre=0, spread=1) for j in range(n_columns))))
    features = FeatureMap.fit(encoder.transform(rng.normal(size=(50, n_columns))), ridge=0.3)
    weights = on_grid(steep * rng.normal(size=(features.width, n_classes)))
    return Residuals(RowMap(encoder, features), weights)


def table_of(rows: Any, labels: Any, owners: Any = None) -> PrivateTable:
    ids = None if owners is None else pa.array([str(one) for one in owners])
    return PrivateTable(PrivateRows(np.asarray(rows, dtype=np.float64)), np.asarray(labels, dtype=np.int32), ids)


def whole(sums: ExactSums) -> list[int]:
    return [(int(high) << 40) + int(low) for high, low in zip(sums.high, sums.low, strict=True)]


def summed(table: PrivateTable, measured: Any, clip: Clip = CLIP) -> list[int]:
    return whole(sum_contributions(Crowd.of(table), measured, clip))


def length(one: list[int], other: list[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


records = st.tuples(
    st.integers(0, 3), st.tuples(*[st.sampled_from(EXTREME)] * 2), st.integers(0, 2), st.sampled_from([1, 2, 5])
)


@settings(max_examples=120, deadline=None)
@given(st.lists(records, max_size=8), st.sampled_from([0.01, 3.0, 1e6]), st.booleans())
def test_a_unit_moves_the_sums_by_its_own_part_and_no_farther_than_declared(
    drawn: list[Any], steep: float, per_record: bool
) -> None:
    people = [(who, point, label) for who, point, label, times in drawn for _ in range(times)]
    measured = residuals_of(2, 3, steep=steep)

    def of(some: list[Any]) -> list[int]:
        rows = np.array([point for _, point, _ in some]).reshape(-1, 2)
        owners = None if per_record else [who for who, _, _ in some]
        return summed(table_of(rows, [label for _, _, label in some], owners), measured)

    everybody = of(people)
    for gone in range(len(people)) if per_record else range(4):
        mine = [one for k, one in enumerate(people) if (k if per_record else one[0]) == gone]
        others = [one for k, one in enumerate(people) if (k if per_record else one[0]) != gone]
        rest, own = of(others), of(mine)
        assert [a + b for a, b in zip(rest, own, strict=True)] == everybody
        assert sum(x * x for x in own) <= CLIP.reach**2
        assert own[-1] == (CLIP.count if mine else 0)


@pytest.mark.parametrize("owned", [None, 1, 2, 7])
def test_blocks_do_not_matter_in_any_bit(owned: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(300, 5)) * 4, rng.integers(0, 4, 300)
    owners = None if owned is None else rng.integers(0, 300 // owned, 300)
    table, measured = table_of(rows, labels, owners), residuals_of(5, 4)
    expected = summed(table, measured)
    for at_once in (1, 7, 64):
        monkeypatch.setattr(contributions, "ROWS_AT_ONCE", at_once)
        monkeypatch.setattr(unit_means, "NUMBERS_AT_ONCE", 64 * at_once)
        assert summed(table, measured) == expected
    order = rng.permutation(300)
    if owned in (None, 1):
        shuffled = table_of(rows[order], labels[order], None if owners is None else owners[order])
        assert summed(shuffled, measured) == expected


@pytest.mark.parametrize("kind", ["categories", "images"])
def test_rows_that_form_groups_have_the_same_bits_in_every_block(kind: str) -> None:
    """Spectral coordinates and principal components of public rows, by the encoder that a run would take."""
    rng = np.random.default_rng(6)

    def made(n: int) -> pa.Table:
        if kind == "images":
            pixels = pa.array(rng.integers(0, 255, (n, 64)).astype(np.float32).tolist(), pa.list_(pa.float32(), 64))
            return pa.table({"image": pixels})
        return pa.table({name: rng.choice(["a", "b", "c", "d"], n) for name in ("u", "v", "w")})

    public, private = made(120), made(90)
    schema = draft_schema(public, classes=("no", "yes"))
    encoder = encoder_for(schema, public)
    vectors = RowMap(encoder, FeatureMap.fit(encoder.transform(public), ridge=0.3))
    whole = vectors(private)
    for start, stop in ((0, 1), (3, 20), (50, 90)):
        assert (vectors(private.slice(start, stop - start)) == whole[start:stop]).all()


@pytest.mark.parametrize("owners", [None, np.arange(300) // 3, np.minimum(np.arange(300), 200)])
def test_vectors_that_are_kept_from_round_to_round_change_no_bit(owners: Any) -> None:
    rng = np.random.default_rng(7)
    table, measured = table_of(rng.normal(size=(300, 5)) * 4, rng.integers(0, 4, 300), owners), residuals_of(5, 4)
    kept = Crowd.of(table).prepared(measured.vectors, measured.shape[0])
    assert kept is not None
    anew = sum_contributions(kept, Residuals(KeptVectors(), measured.weights), CLIP)
    assert whole(anew) == summed(table, measured)
    assert Crowd.of(table).prepared(measured.vectors, 1 << 30) is None
    takes = len(table.labels) * measured.shape[0] * 4
    for rows, fits in (
        (PrivateRows(table.rows.open(), lambda: None), False),
        (PrivateRows(table.rows.open(), _room=takes - 1), False),
        (PrivateRows(table.rows.open(), _room=takes), True),
    ):
        prepared = Crowd.of(replace(table, rows=rows)).prepared(measured.vectors, measured.shape[0])
        assert (prepared is not None) == fits


def test_a_persons_records_keep_their_order_whoever_stands_between_them() -> None:
    """So many records that sums have more than 53 bits: these are added in the person's own order."""
    rng = np.random.default_rng(2)
    n, measured = 9000, residuals_of(3, 2)
    mine, labels = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    alone = summed(table_of(mine, labels, ["ann"] * n), measured)
    for others in (1, 1000):
        where = np.sort(rng.choice(n + others, others, replace=False))
        rows = np.insert(mine, where - np.arange(others), 9.0, axis=0)
        told = np.insert(labels, where - np.arange(others), 1)
        owners = np.insert(np.array(["ann"] * n, dtype=object), where - np.arange(others), "bob")
        both = summed(table_of(rows, told, owners), measured)
        bobs = summed(table_of(np.full((others, 3), 9.0), [1] * others, ["bob"] * others), measured)
        assert both == [a + b for a, b in zip(alone, bobs, strict=True)]


def test_the_longest_blocks_add_up_exactly() -> None:
    """4096 equal records of the longest contribution, and one unit of as many records as are added at once."""
    measured = residuals_of(1, 2, steep=1e9)
    one = summed(table_of([[2.0]], [0]), measured)
    other = summed(table_of([[2.0]], [1]), measured)
    longest = max(one, other, key=lambda sums: sum(x * x for x in sums))
    label = 0 if longest == one else 1
    assert sum(x * x for x in longest) > 0.99 * CLIP.reach**2
    assert summed(table_of([[2.0]] * 5000, [label] * 5000), measured) == [5000 * x for x in longest]
    n = CLIP.records_at_once
    vectors, residuals = measured.measure(np.array([[2.0]]), np.array([label]))
    means = DenseMeans(1, n, 4, math.inf)
    means.add(np.repeat(vectors, n, axis=0), np.repeat(residuals, n, axis=0), CLIP.scale)
    exact = [n * int(v) * int(r) for v in vectors[0] for r in np.trunc(residuals[0] * CLIP.scale)]
    assert [int(x) for x in means.total[0]] == exact
    assert max(map(abs, exact)) <= 2**52


@pytest.mark.parametrize("steep", [1e-9, 3.0, 1e6])
def test_two_classes_are_told_apart_by_one_exact_score(steep: float) -> None:
    """The difference of two exact scores is exact, so that what a record adds has the bits of both scores."""
    measured = residuals_of(5, 2, steep=steep)
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(500, 5)), rng.integers(0, 2, 500)
    vectors, residuals = measured.measure(rows, labels)
    expected = np.eye(2)[labels] - class_chances(vectors @ measured.weights / UNIT)
    np.testing.assert_array_equal(residuals, expected)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_few_columns_one_by_one_add_up_like_all_at_once(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n_classes)
    table = table_of(rng.normal(size=(3000, 6)), rng.integers(0, n_classes, 3000))
    found = []
    for few in (0, 3):
        monkeypatch.setattr(contributions, "FEW_COLUMNS", few)
        found.append(summed(table, residuals_of(6, n_classes)))
    assert found[0] == found[1]
    assert any(found[0][:-1])


@pytest.mark.parametrize("n_classes", [2, 5000])
def test_norms_stay_below_the_reach_with_many_classes(n_classes: int) -> None:
    rng = np.random.default_rng(3)
    clip = Clip(MOST_REACH, math.sqrt(1 - 1 / n_classes) * 0.7)
    residuals = np.concatenate([rng.normal(size=(40, n_classes)), rng.dirichlet([0.1] * n_classes, 40)])
    cut = contributions._cut(residuals, clip)
    assert all(sum(int(x) ** 2 for x in row) <= clip.residual_reach**2 for row in cut)
    assert clip.vector_reach**2 + clip.count**2 <= clip.reach**2
    assert clip.residual_reach * UNIT <= clip.vector_reach
    assert max(sum(int(x) ** 2 for x in row) for row in cut) > (1 - 1e-3) * clip.residual_reach**2


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**62), 2**62), min_size=3, max_size=3), min_size=1, max_size=5))
def test_a_norm_is_never_too_small_and_hardly_too_large(numbers: list[list[int]]) -> None:
    total = np.array(numbers, dtype=np.float64)
    largest = np.abs(total).max(axis=1)
    rounded = round_up(total, largest[:, None])
    for found, row in zip(norms_above((rounded**2).sum(axis=1), largest), total, strict=True):
        exact = math.sqrt(sum(int(x) ** 2 for x in row))
        assert exact * (1 - 2**-40) <= found <= exact * (1 + 2**-15)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**52), 2**52), min_size=4, max_size=4), min_size=1, max_size=6))
def test_vectors_of_rows_are_no_longer_than_the_unit(numbers: list[list[int]]) -> None:
    for row in scale_rows(np.array(numbers, dtype=np.float64)):
        assert sum(int(x) ** 2 for x in row) <= UNIT**2
        assert not row.any() or sum(int(x) ** 2 for x in row) > 0.99 * UNIT**2


@pytest.mark.parametrize("width", [1, 8192, 8193, 100_000])
def test_norms_of_rows_are_exact_whatever_their_width(width: int) -> None:
    """The largest squares there are: each block adds them up in an order of its own, and none may round."""
    rng = np.random.default_rng(width)
    numbers = np.floor(rng.uniform(0.9, 1, size=(2, width)) * 2**52)
    found = scale_rows(numbers)
    assert (scale_rows(numbers[:, ::-1])[:, ::-1] == found).all()
    assert all(0.9 * UNIT**2 < sum(int(x) ** 2 for x in row) <= UNIT**2 for row in found)


@pytest.mark.parametrize("width", [1, 2, 3, 1000, 1025, 5000])
def test_every_product_of_a_map_is_exact(width: int) -> None:
    """Rows at the very end of the grid, whose sums are the largest there are."""
    rng = np.random.default_rng(width)
    features = FeatureMap.fit(rng.normal(size=(30, width)).astype(np.float32), ridge=0.3)
    signs = np.sign(features.turn[:, 0])
    extreme = (16.0 * signs[:-1]).astype(np.float32)[None]
    exact = sum(int(t) * int(x) for t, x in zip(features.turn[:-1, 0], 16 * 4096 * signs[:-1], strict=True))
    exact += int(features.turn[-1, 0]) * 4096
    assert abs(exact) <= 2**52
    assert all(float(one).is_integer() for one in features.turn[:, 0])
    vectors = features(np.repeat(extreme, 5, axis=0))
    assert (vectors == vectors[0]).all()


def test_numbers_that_are_none_have_no_part() -> None:
    features = FeatureMap.fit(np.random.default_rng(0).normal(size=(30, 2)), ridge=0.3)
    strange = np.array([[math.nan, 1.0], [math.inf, -math.inf], [math.nan, math.nan]], dtype=np.float32)
    found = features(strange)
    assert np.isfinite(found).all()
    assert (found[0] == features(np.array([[0.0, 1.0]]))[0]).all()


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 1e308, 1e-320])
def test_a_public_model_that_went_astray_bounds_contributions_like_any_other(wrong: float) -> None:
    honest = residuals_of(2, 3)
    weights = honest.weights.copy()
    weights[0, 0] = wrong
    for model in (weights, np.full_like(weights, wrong)):
        measured = Residuals(honest.vectors, on_grid(model))
        own = summed(table_of([[1.0, -2.0]], [2]), measured)
        assert sum(x * x for x in own) <= CLIP.reach**2
        assert own[-1] == CLIP.count


def test_one_person_with_very_many_records_counts_as_one() -> None:
    rng = np.random.default_rng(4)
    n, measured = 200_000, residuals_of(3, 2)
    own = summed(table_of(rng.normal(size=(n, 3)), rng.integers(0, 2, n), np.zeros(n)), measured)
    assert sum(x * x for x in own) <= CLIP.reach**2
    assert own[-1] == CLIP.count


def test_nobody_adds_nothing() -> None:
    for owners in (None, []):
        assert set(summed(table_of(np.zeros((0, 2)), [], owners), residuals_of(2, 2))) == {0}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-(2**61), 2**61), max_size=60), st.integers(0, 40))
def test_exact_sums_are_exact_and_cut_off_at_their_ends(numbers: list[int], bits: int) -> None:
    sums, most = ExactSums(1), (1 << 62) - 1
    for number in numbers:
        sums.add(np.array([number]))
    assert whole(sums) == [sum(numbers)]
    assert sums.shifted(bits).tolist() == [min(max(sum(numbers) >> bits, -most), most)]
    assert "private" in repr(sums)


# Words


def texts(*written: str, labels: Any, owners: Any = None) -> PrivateTable:
    ids = None if owners is None else pa.array([str(one) for one in owners])
    return PrivateTable(PrivateRows(pa.table({"note": list(written)})), np.asarray(labels, dtype=np.int32), ids)


NOTES = (
    "",
    "good",
    "good good bad",
    "one two three four five six seven",
    "x " * 5000,
    "\x00 \ud83d",
    " ".join(map(str, range(9000))),
)


@pytest.mark.parametrize("labels", [[0, 1, 0, 1, 0, 1, 0], [1] * 7])
def test_texts_are_no_longer_than_declared(labels: list[int]) -> None:
    measured = WordResiduals(("note",), 2)
    clip = Clip(MOST_REACH, measured.bound)
    notes = [note.encode("utf-8", "replace").decode() for note in NOTES]
    parts = [summed(texts(note, labels=[label]), measured, clip) for note, label in zip(notes, labels, strict=True)]
    for part in parts:
        assert sum(x * x for x in part) <= clip.reach**2
    together = summed(texts(*notes, labels=labels), measured, clip)
    assert together == [sum(column) for column in zip(*parts, strict=True)]
    person = summed(texts(*notes, labels=labels, owners=[1] * 7), measured, clip)
    assert 0 < sum(x * x for x in person) <= clip.reach**2
    assert person[-1] == clip.count


def test_wide_means_are_those_of_narrow_ones() -> None:
    measured = WordResiduals(("note",), 3)
    clip = Clip(MOST_REACH, 0.1)  # which cuts nearly everybody
    rng = np.random.default_rng(5)
    notes = [" ".join(rng.choice(["a1", "b2", "c3", "d4"], 3)) for _ in range(12)]
    vectors, residuals = measured.measure(pa.table({"note": notes}), rng.integers(0, 3, 12))
    shape = (4, 3, int(np.prod(measured.shape)))
    for reach in (clip.vector_reach / 40, clip.vector_reach * 100.0):
        wide, narrow = SparseMeans(*shape, reach), DenseMeans(*shape, reach)
        wide.add(vectors, residuals, clip.scale)
        narrow.add(vectors.toarray(), residuals, clip.scale)
        assert (wide.added_up() == narrow.added_up()).all()
        assert wide.added_up().any()
        assert "private" in repr(wide)
        assert "private" in repr(narrow)
