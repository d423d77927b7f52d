"""The encoder of images is fitted on public rows, and encodes every other row by itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import skops.io
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from mapl.data import Column, Schema, conform, draft_schema, take
from mapl.data.encoding import public_encoder as module
from mapl.data.encoding.choice import (
    encoder_for,
    for_teachers,
    make_shared_encoder,
    spectral_coordinates,
    with_bins,
)
from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.layout import TEXT_WIDTH
from mapl.data.encoding.public_encoder import NARROW, PublicEncoder
from mapl.errors import InvalidData

MNIST = Path(__file__).parents[2].parent / "shared" / "data" / "mnist.parquet"


def pictures(images: NDArray[Any], **others: Any) -> pa.Table:
    flat = pa.array(np.ascontiguousarray(images).ravel())
    return pa.table({"picture": pa.FixedSizeListArray.from_arrays(flat, images.shape[1]), **others})


@cache
def digits() -> tuple[pa.Table, pa.Table, NDArray[np.int64], NDArray[np.int64]]:
    """Small digits: 500 public, 300 others, with their labels."""
    found = load_digits()
    images, labels = found.data.astype(np.uint8), found.target
    return pictures(images[:500]), pictures(images[500:800]), labels[:500], labels[500:800]


@cache
def fitted() -> PublicEncoder:
    public = digits()[0]
    return PublicEncoder.fit_public(public, draft_schema(public))


def test_coordinates_come_first_then_components() -> None:
    encoder = fitted()
    encoded = encoder.transform(digits()[1])
    assert encoded.dtype == np.float32
    assert encoded.shape == (300, encoder.n_spectral + encoder.n_principal)
    assert np.isfinite(encoded).all()
    found = encoder.get_feature_names_out().tolist()
    assert found[0] == "picture spectral 0"
    assert found[encoder.n_spectral] == "picture component 0"
    assert len(found) == encoded.shape[1]


def test_few_coordinates_teach_more_than_many_pixels() -> None:
    _, others, _, labels = digits()
    narrow = fitted().narrowed().transform(others)
    assert narrow.shape == (300, NARROW)
    raw = others.column(0).combine_chunks().flatten().to_numpy().reshape(300, 64) / 16.0

    def accuracy(rows: NDArray[Any]) -> float:
        """Learn from 40 rows at a time, as a teacher does."""
        hits = []
        for start in range(0, 280, 40):
            shard = slice(start, start + 40)
            model = RidgeClassifier(alpha=10.0, class_weight="balanced").fit(rows[shard], labels[shard])
            hits.append((model.predict(rows) == labels).mean())
        return float(np.mean(hits))

    assert accuracy(narrow) > accuracy(raw) + 0.05
    assert accuracy(narrow) > 0.88


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    _, others, _, _ = digits()
    for encoder in (fitted(), fitted().narrowed()):
        together = encoder.transform(others)
        for i in (0, 1, 17, 299):
            assert np.array_equal(encoder.transform(others.slice(i, 1))[0], together[i])
        shuffled = np.random.default_rng(0).permutation(300)
        assert np.array_equal(encoder.transform(take(others, shuffled)), together[shuffled])
        beside = pictures(np.random.default_rng(1).integers(0, 999, (4, 64)))
        mixed = encoder.transform(pa.concat_tables([beside.cast(others.schema, safe=False), others.slice(5, 3)]))
        assert np.array_equal(mixed[4:], together[5:8])


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    others, encoder = digits()[1], fitted()
    together = encoder.transform(others)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    assert np.array_equal(encoder.transform(others), together)


def test_teachers_see_the_first_coordinates_of_students() -> None:
    encoder, others = fitted(), digits()[1]
    narrow = for_teachers(encoder)
    assert isinstance(narrow, PublicEncoder)
    assert np.array_equal(narrow.transform(others), encoder.transform(others)[:, :NARROW])
    assert narrow.maps["axes"].size < encoder.maps["axes"].size or encoder.n_principal <= module.GRAPH_DIM
    assert narrow.maps["walk"].shape[1] == NARROW
    plain = Encoder.of(Schema((Column("a", "number"),)))
    assert for_teachers(plain) is plain


def test_a_public_row_has_its_own_place() -> None:
    public = digits()[0]
    spectral = fitted()._spectral()
    np.testing.assert_allclose(
        spectral_coordinates(fitted(), public)[:20], (spectral.walk * spectral.pace**2)[:20], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "kind",
    [
        lambda table: table.to_pandas(),
        pl.DataFrame,
        lambda table: pa.concat_tables([table.slice(0, 3), table.slice(3)]),
        lambda table: table.set_column(0, "picture", table.column(0).cast(pa.list_(pa.float64()))),
        lambda table: table.column(0).combine_chunks().flatten().to_numpy().reshape(-1, 64),
        lambda table: conform(table, draft_schema(table), "rows"),
    ],
    ids=["pandas", "polars", "chunked", "lists", "matrix", "conformed"],
)
def test_rows_of_every_kind(kind: Any) -> None:
    others = digits()[1].slice(0, 8)
    assert np.array_equal(fitted().transform(kind(others)), fitted().transform(others))


def test_a_missing_picture_is_a_dark_one() -> None:
    table = digits()[1].slice(0, 3)
    cells = table.column(0).to_pylist()
    kind = table.schema.field(0).type
    missing = pa.table({"picture": pa.array([cells[0], None, cells[2]], kind)})
    dark = pa.table({"picture": pa.array([cells[0], [0] * 64, cells[2]], kind)})
    assert np.array_equal(fitted().transform(missing), fitted().transform(dark))


def test_other_columns_are_encoded_as_usual() -> None:
    images = load_digits().data[:120].astype(np.uint8)
    age = np.linspace(20, 60, 120)
    town = ["Bonn", "Ulm"] * 60
    public = pictures(images, age=pa.array(age), town=pa.array(town))
    schema = draft_schema(public)
    encoder = encoder_for(schema, public)
    assert isinstance(encoder, PublicEncoder)
    encoded = encoder.transform(public)
    beside = Encoder.of(Schema(schema.columns[1:])).transform(public)
    assert np.array_equal(encoded[:, -3:], beside)
    assert encoder.get_feature_names_out().tolist()[-3:] == ["age", "town=Bonn", "town=Ulm"]
    wider = with_bins(encoder, schema, bins=True)
    assert wider.transform(public).shape[1] > encoded.shape[1]
    assert not encoder.bins
    assert encoder.narrowed().transform(public.slice(0, 2)).shape == (2, encoder.narrowed().n_spectral + 3)
    with pytest.raises(InvalidData, match="matrix"):
        encoder.transform(images)


def test_text_beside_a_picture_makes_the_result_sparse() -> None:
    images = load_digits().data[:60].astype(np.uint8)
    words = [f"word number {i} of a long story about nothing" for i in range(60)]
    public = pictures(images, note=pa.array(words))
    encoder = encoder_for(draft_schema(public), public)
    encoded = encoder.transform(public)
    assert encoded.shape == (60, encoder.n_spectral + encoder.n_principal + TEXT_WIDTH)
    assert spectral_coordinates(encoder, public).shape == (60, encoder.n_spectral)


def test_there_is_nothing_to_fit_and_a_pipeline_may_clone_it() -> None:
    public, others, labels, truth = digits()
    encoder = fitted()
    assert encoder.fit(others) is encoder
    assert clone(encoder) is encoder
    model = clone(make_pipeline(encoder, RidgeClassifier())).fit(public, labels)
    assert (model.predict(others) == truth).mean() > 0.9


def test_a_model_file_holds_plain_values_and_arrays() -> None:
    encoder, others = fitted(), digits()[1].slice(0, 20)
    stored = skops.io.dumps(encoder)
    name = "mapl.data.encoding.public_encoder.PublicEncoder"
    assert skops.io.get_untrusted_types(data=stored) == [name]
    loaded = skops.io.loads(stored, trusted=[name])
    assert np.array_equal(loaded.transform(others), encoder.transform(others))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 45])
def test_few_public_rows(n: int) -> None:
    images = load_digits().data.astype(np.uint8)
    public = pictures(images[:n])
    encoder = PublicEncoder.fit_public(public, draft_schema(public))
    for one in (encoder, encoder.narrowed()):
        encoded = one.transform(pictures(images[100:120]))
        assert encoded.shape[0] == 20
        assert encoded.shape[1] >= 1
        assert np.isfinite(encoded).all()


def test_equal_rows_and_constant_pixels() -> None:
    images = load_digits().data[:30].astype(np.uint8)
    images[:, ::2] = 3
    public = pictures(np.concatenate([images, images, np.repeat(images[:1], 40, axis=0)]))
    encoded = PublicEncoder.fit_public(public, draft_schema(public)).transform(public)
    assert np.array_equal(encoded[:30], encoded[30:60])
    assert (encoded[60:] == encoded[0]).all()
    flat = pictures(np.full((50, 9), 7, np.uint8))
    assert np.isfinite(PublicEncoder.fit_public(flat, draft_schema(flat)).transform(flat)).all()


def test_of_very_many_public_rows_some_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    public, others, _, _ = digits()
    monkeypatch.setattr(module, "MOST_FITTED", 100)
    encoder = PublicEncoder.fit_public(public, draft_schema(public))
    assert len(encoder.maps["landmarks"]) <= 100
    assert encoder.transform(others).shape[0] == 300


def test_what_is_no_single_square_image_is_refused() -> None:
    wide = pictures(np.zeros((5, 12)))
    with pytest.raises(InvalidData, match=r"'picture' have 12 numbers each; expected square images"):
        encoder_for(draft_schema(wide), wide)
    two = pictures(np.eye(4, 9))
    two = two.append_column("other", two.column(0))
    with pytest.raises(InvalidData, match="There are 2 columns of images; expected one"):
        encoder_for(draft_schema(two), two)
    with pytest.raises(InvalidData, match="no column 'picture'"):
        fitted().transform(pd.DataFrame({"photo": [1]}))


def test_tables_without_images_get_the_usual_encoder() -> None:
    table = pa.table({"age": [1.0, 2.0, 3.0]})
    assert type(encoder_for(draft_schema(table), table)) is Encoder
    draws = np.random.default_rng(0)
    of = draws.integers(2, size=200)
    groups = pa.table({"x": 8 * of + draws.normal(size=200), "y": draws.normal(size=200)})
    placed = spectral_coordinates(Encoder.of(draft_schema(groups)), groups)
    assert abs(np.corrcoef(placed[:, 0], of)[0, 1]) > 0.95


@pytest.mark.skipif(not MNIST.exists(), reason="needs ../shared/data/mnist.parquet")
def test_teachers_of_some_tens_of_digits() -> None:
    with pyarrow.parquet.ParquetFile(MNIST) as stored:
        table = pa.Table.from_batches([next(stored.iter_batches(1400, columns=["pixels", "label"]))])
    public, private = table.slice(600), table.slice(0, 600)
    encoder = for_teachers(encoder_for(draft_schema(public, label="label"), public))
    rows, labels = encoder.transform(private), private.column("label").to_numpy()
    truth, votes = public.column("label").to_numpy(), np.zeros((800, 10), np.int64)
    questions = encoder.transform(public)
    for k in range(10):
        shard = slice(60 * k, 60 * k + 60)
        model = RidgeClassifier(alpha=10.0, class_weight="balanced").fit(rows[shard], labels[shard])
        votes[np.arange(800), model.predict(questions)] += 1
    assert votes[np.arange(800), truth].mean() / 10 > 0.85
    assert (votes.argmax(axis=1) == truth).mean() > 0.93


def test_an_encoder_is_made_only_for_those_who_take_it() -> None:
    wide = pictures(np.zeros((5, 12)))
    assert make_shared_encoder(draft_schema(wide), wide, (RidgeClassifier(), print)) is None
    assert for_teachers(None) is None
    with pytest.raises(InvalidData, match="Learners of your own, for teachers and student, get the numbers"):
        make_shared_encoder(draft_schema(wide), wide, (RidgeClassifier(), None))
