"""Encoded rows in little space say what the whole matrix says, and a map makes the same vectors of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mapl.data import Column, Schema, draft_schema
from mapl.data.encoding import layout as module
from mapl.data.encoding.choice import encoder_for, with_bins
from mapl.data.encoding.encoded_rows import WIDE, EncodedRows
from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.scored_text import ScoredText
from mapl.data.moments import contributions
from mapl.data.moments.contributions import Clip, Crowd, sum_contributions
from mapl.data.moments.feature_map import LIMIT, STEP_BITS, FeatureMap
from mapl.data.moments.residuals import Residuals, on_grid
from mapl.data.moments.row_map import RowMap
from mapl.data.moments.words import WIDTH
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable

LETTERS = tuple("abcdefghijk")
CUTS = tuple(float(cut) for cut in range(-4, 6))
SCHEMA = Schema(
    (
        Column("age", "number", centre=1, spread=2, cuts=CUTS, missing=True),
        Column("letter", "category", LETTERS),
        Column("town", "category", ("Bonn", "Ulm")),
        Column("code", "category", LETTERS[:9], rest=True),
        Column("height", "number", centre=0, spread=1, cuts=(0.0,)),
        Column("width", "number", centre=0, spread=3, cuts=CUTS),
        Column("depth", "number", centre=0, spread=1),
    )
)


def mixed(n: int, seed: int = 0) -> pa.Table:
    """Return rows with gaps, values at the cuts, infinite ones, and words that nobody declared."""
    rng = np.random.default_rng(seed)
    words = np.array([*LETTERS, "zz", ""], dtype=object)

    def numbers() -> Any:
        cells = np.where(rng.random(n) < 0.5, rng.integers(-6, 7, n), rng.normal(size=n) * 4)
        return np.where(rng.random(n) < 0.1, rng.choice([math.nan, math.inf, -math.inf], n), cells)

    return pa.table(
        {
            **{name: rng.choice(words, n) for name in ("letter", "code")},
            "town": rng.choice(["Bonn", "Ulm", "Rome"], n),
            **{name: numbers() for name in ("age", "height", "width", "depth")},
        }
    )


def test_they_are_what_the_encoder_returns() -> None:
    encoder, rows = Encoder.of(SCHEMA, bins=True), mixed(500)
    whole = encoder.transform(rows)
    found = encoder.encode(rows)
    assert found.ones.shape == (500, 4)  # two categories and the bins of two numbers have eight columns or more
    assert (found.shape, found.width) == (whole.shape, len(encoder.get_feature_names_out()))
    assert (found.toarray() == whole).all()
    assert (found[7:30].toarray() == whole[7:30]).all()
    assert (found.ones == found.width).any()
    assert "private" in repr(found)


def test_few_rows_at_a_time_are_encoded_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, rows = Encoder.of(SCHEMA, bins=True), mixed(40)
    whole = encoder.encode(rows).toarray()
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 3 * len(SCHEMA.columns))
    assert (encoder.encode(rows).toarray() == whole).all()
    assert (encoder.transform(rows) == whole).all()


@pytest.mark.parametrize("n_cuts", [1, WIDE - 1, module.MOST_COMPARED, module.MOST_COMPARED + 1])
def test_bins_hold_their_lower_ends(n_cuts: int) -> None:
    cuts = tuple(float(cut) for cut in range(n_cuts))
    values = np.concatenate([np.arange(-1, n_cuts + 1), np.arange(n_cuts) + 0.5, [math.inf, -math.inf]])
    expected = [sum(value >= cut for cut in cuts) for value in values]
    assert module._bins(values, cuts).tolist() == expected


@pytest.mark.parametrize("kind", ["matrix", "sparse", "images"])
def test_rows_of_other_kinds_are_encoded_too(kind: str) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.5)
    rows: Any = sp.csr_matrix(matrix) if kind == "sparse" else matrix
    if kind == "images":
        rows = pa.table({"image": pa.array(rng.integers(0, 255, (60, 64)).tolist(), pa.list_(pa.float32(), 64))})
        encoder = encoder_for(draft_schema(rows, classes=("no", "yes")), rows)
    else:
        declared = Schema(tuple(Column(f"x{j}", "number", centre=0, spread=1, cuts=CUTS) for j in range(4)))
        encoder = with_bins(None, declared, bins=True, dense=True)
    found, whole = encoder.encode(rows), encoder.transform(rows)
    assert (found.toarray() == whole).all()
    assert found.ones.shape[1] == (4 if kind == "matrix" else 0)


def test_scores_of_texts_stand_before_other_columns() -> None:
    rng = np.random.default_rng(2)
    rows = mixed(50).append_column("note", pa.array([f"word{i % 7} other" for i in range(50)]))
    polarities = rng.normal(size=(WIDTH, 3))
    for beside in (None, Encoder.of(SCHEMA, bins=True)):
        encoder = ScoredText.of_public(rows, ["note"], polarities, beside)
        found = encoder.encode(rows)
        assert (found.toarray() == encoder.transform(rows)).all()
        assert found.ones.shape[1] == (0 if beside is None else 4)


class InFull(Encoder):
    """The same encoder, which does not leave out zeros."""

    def encode(self, rows: Any) -> EncodedRows:
        return EncodedRows.of(self.transform(rows))


@pytest.mark.parametrize("owners", [None, np.arange(300) // 3])
def test_sums_are_the_same_with_and_without_the_zeros_and_in_any_parts(
    owners: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    encoder = Encoder.of(SCHEMA, bins=True)
    features = FeatureMap.fit(encoder.transform(mixed(100, seed=4)), ridge=0.3)
    weights = on_grid(rng.normal(size=(features.width, 3)))
    ids = None if owners is None else pa.array([str(one) for one in owners])
    table = PrivateTable(PrivateRows(mixed(300)), rng.integers(0, 3, 300).astype(np.int32), ids)

    def summed(drawn: RowMap) -> list[int]:
        sums = sum_contributions(Crowd.of(table), Residuals(drawn, weights), Clip(1 << 38, 0.5))
        return [(int(high) << 40) + int(low) for high, low in zip(sums.high, sums.low, strict=True)]

    expected = summed(RowMap(InFull.of(SCHEMA, bins=True), features))
    assert any(expected)
    for at_once in (1, 7 * features.width, contributions.NUMBERS_AT_ONCE):
        monkeypatch.setattr(contributions, "NUMBERS_AT_ONCE", at_once)
        assert summed(RowMap(encoder, features)) == expected


def test_the_largest_sums_are_exact() -> None:
    """Numbers at the very end of the grid beside ones: in whatever order they are added, nothing is rounded."""
    rng = np.random.default_rng(5)
    n_full, n_groups = 3, 40
    width = n_full + n_groups * WIDE
    features = FeatureMap.fit(rng.normal(size=(30, width)).astype(np.float32), ridge=0.3)
    turn = features.turn[:, 0].reshape(-1)
    best = [n_full + WIDE * g + int(np.abs(turn[n_full + WIDE * g :][:WIDE]).argmax()) for g in range(n_groups)]
    full = (LIMIT * np.sign(turn[:n_full])).astype(np.float32)
    some = EncodedRows(full[None], np.arange(n_full), np.array([best], dtype=np.int32), width)
    assert (features(some) == features(some.toarray())).all()
    added = some.toarray().astype(np.float64)[0] * (1 << STEP_BITS)
    exact = sum(int(one) * int(by) for one, by in zip(turn, [*added, 1 << STEP_BITS], strict=True))
    parts = features._of_ones[best, 0].sum() + added[:n_full] @ turn[:n_full] + turn[-1] * (1 << STEP_BITS)
    assert parts == exact
    assert not features._of_ones[width].any()
