"""Public partitions: a row's cell is a function of that row alone, found exactly, whatever kind the rows are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mapl.data import Column, Schema, conform, draft_schema, n_rows, take
from mapl.data.cells import partition as cells_module
from mapl.data.cells import space as cell_space
from mapl.data.cells.partition import KINDS, Cells, Nearest, PartitionKind
from mapl.data.cells.space import MOST_COORDINATES, REACH, CellSpace
from mapl.errors import GuaranteeBroken, InvalidParameter

WORDS = ("the", "patient", "felt", "well", "tired", "dizzy", "again", "after", "walking", "home", "slowly", "at")


@dataclass(frozen=True, eq=False)
class Rows:
    """Public rows with their schema, and private rows of the same columns."""

    schema: Schema
    public: Any
    private: Any


def mixed(n: int, seed: int) -> pa.Table:
    """Numbers, some missing or enormous, categories, some of which the public rows do not know, and dates."""
    rng = np.random.default_rng(seed)
    age = [None if miss else float(x) for miss, x in zip(rng.random(n) < 0.1, rng.normal(50, 20, n), strict=True)]
    income = rng.lognormal(8, 2, n) * np.where(rng.random(n) < 0.02 * seed, 1e30, 1)
    places = ["north", "south", "east", *(["moon", None] if seed else [])]
    return pa.table(
        {
            "age": age,
            "income": income,
            "place": [places[i] for i in rng.integers(len(places), size=n)],
            "day": pa.array(rng.integers(0, 20_000, n).astype("datetime64[D]")),
        }
    )


def written(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0 if seed else 6, 14, n)
    return pa.table({"note": [" ".join(rng.choice(WORDS, length)) for length in lengths]})


def pictures(n: int, seed: int, side: int = 8) -> pa.Table:
    rng = np.random.default_rng(seed)
    images = rng.random((n, side, side), np.float32) * np.linspace(0, 1, side)
    lists = [None if seed and i == 3 else image.ravel() for i, image in enumerate(images)]
    return pa.table({"picture": pa.array(lists, pa.list_(pa.float32(), side * side)), "age": rng.normal(size=n)})


@cache
def world(name: str) -> Rows:
    if name in ("wide", "sparse"):
        rng = np.random.default_rng(7)
        kinds = rng.normal(size=(9, 360)) * (rng.random((9, 360)) < 0.2)
        tables: list[Any] = [kinds[rng.integers(9, size=n)] * rng.normal(1, 0.3, (n, 360)) for n in (80, 300)]
        if name == "wide":
            return Rows(draft_schema(tables[0]), *tables)
        schema = Schema(tuple(Column(f"x{j}", "number") for j in range(360)))
        return Rows(schema, *(sp.csr_matrix(table) for table in tables))
    made, n = {"mixed": (mixed, 300), "text": (written, 300), "images": (pictures, 60)}[name]
    public, private = made(80, 0), made(n, 1)
    schema = draft_schema(public)
    return Rows(schema, conform(public, schema, "public rows"), conform(private, schema, "private rows"))


@cache
def space_of(name: str) -> CellSpace:
    return CellSpace.fit(world(name).public, world(name).schema)


@cache
def cells_of(name: str, kind: PartitionKind = "points") -> Cells:
    return Cells.of_public(world(name).public, space_of(name), 12, kind=kind)


@cache
def whole_world(name: str, kind: PartitionKind) -> tuple[Any, Any]:
    """Points and cells of all private rows at once."""
    cells, rows = cells_of(name, kind), world(name).private
    return cells.space.points(rows), cells.of(rows)


WORLDS = ("mixed", "text", "images", "wide", "sparse")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WORLDS)
def test_every_kind_of_rows_and_cells(name: str, kind: PartitionKind) -> None:
    rows = world(name)
    cells = cells_of(name, kind)
    assert 6 <= len(np.unique(cells.public)) <= 12
    assert cells.n_cells == len(np.unique(cells.public)) + (kind != "leaves")
    assert (cells.of(rows.public) == cells.public).all()  # no public row is far from all public rows
    found = cells.of(rows.private)
    assert found.dtype == np.int64
    assert 0 <= found.min() <= found.max() < cells.n_cells
    assert len(np.unique(found)) > 4
    points = cells.space.points(rows.private)
    assert (points == np.rint(points)).all()
    assert np.abs(points).max() <= REACH
    assert points.shape[1] <= MOST_COORDINATES


@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", WORLDS)
def test_a_rows_place_and_cell_depend_on_that_row_alone(name: str, data: Any) -> None:
    """Bit by bit the same among any other rows, in any order, and in blocks of any size."""
    rows, kind = world(name), data.draw(st.sampled_from(KINDS))
    cells, n = cells_of(name, kind), n_rows(rows.private)
    some = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=12)))
    whole_points, whole = whole_world(name, kind)
    part = take(rows.private, some)
    assert cells.space.points(part).tobytes() == whole_points[some].tobytes()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cell_space, "ENTRIES_AT_ONCE", data.draw(st.integers(1, 5000)))
        patched.setattr(cells_module, "SCORES_AT_ONCE", data.draw(st.integers(1, 50)))
        assert (cells.of(part, n_jobs=data.draw(st.integers(1, 3))) == whole[some]).all()


def test_blocks_of_one_row() -> None:
    """The same on all rows at once, which a drawn handful might miss."""
    for name in WORLDS:
        cells, some = cells_of(name), take(world(name).private, np.arange(50))
        whole = cells.of(some)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(cell_space, "ENTRIES_AT_ONCE", 1)
            assert (cells.of(some) == whole).all()


def test_the_product_of_dense_rows_does_depend_on_their_neighbours() -> None:
    """The control: without whole numbers, or with dense rows where axes are fractions, borders would move."""
    axes = np.random.default_rng(0).normal(size=(500, 40))
    rows = np.random.default_rng(1).normal(size=(256, 500))
    apart = np.concatenate([rows[i : i + 1] @ axes for i in range(256)])
    assert (apart != rows @ axes).any()
    sparsely = np.concatenate([sp.csr_matrix(rows[i : i + 1]) @ axes for i in range(256)])
    assert (sparsely == sp.csr_matrix(rows) @ axes).all()


whole_numbers = st.integers(-REACH, REACH).map(float)
small = st.sampled_from([-1.0, 0.0, 1.0])


@settings(max_examples=150, deadline=None)
@given(
    width=st.integers(1, 6),
    n_centres=st.integers(1, 9),
    elements=st.sampled_from([whole_numbers, small]),
    data=st.data(),
)
def test_the_nearest_centre_is_exact_and_the_first_of_several(
    width: int, n_centres: int, elements: Any, data: Any
) -> None:
    centres = data.draw(arrays(np.float32, (n_centres, width), elements=elements))
    points = data.draw(arrays(np.float32, (20, width), elements=elements))
    gaps = squared_distances(points, centres)
    assert (Nearest(centres, np.inf).of(points) == gaps.argmin(axis=1)).all()
    reach = float(data.draw(st.integers(0, 3 * REACH**2)))
    expected = np.where(gaps.min(axis=1) > reach, n_centres, gaps.argmin(axis=1))
    assert (Nearest(centres, reach).of(points) == expected).all()


def squared_distances(points: Any, centres: Any) -> Any:
    return ((points.astype(np.int64)[:, None] - centres.astype(np.int64)[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("seed", range(3))
def test_the_widest_points_in_the_farthest_corners_are_exact(seed: int) -> None:
    """Centres that differ by one step in one of 340 coordinates, seen from the other end of the grid."""
    assert 3 * MOST_COORDINATES * REACH**2 < 2**24 <= 3 * (MOST_COORDINATES + 7) * REACH**2
    rng = np.random.default_rng(seed)
    centres = np.full((40, MOST_COORDINATES), REACH, np.float32)
    centres[np.arange(40), rng.integers(MOST_COORDINATES, size=40)] -= rng.integers(0, 2, 40).astype(np.float32)
    points = -np.full((30, MOST_COORDINATES), REACH, np.float32)
    points[rng.random(points.shape) < 0.01] += 1
    assert (Nearest(centres, np.inf).of(points) == squared_distances(points, centres).argmin(axis=1)).all()


def test_rows_far_from_everything_public_have_a_cell_of_their_own() -> None:
    schema = Schema((Column("x0", "number"),))
    public = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [0.5]])
    for kind in KINDS[:2]:
        cells = Cells.of_public(public, CellSpace.fit(public, schema), 3, kind=kind)
        far = cells.partition.far
        assert far == cells.n_cells - 1
        assert far not in cells.public
        near = cells.of(np.array([[0.25], [0.05], [0.45]]))
        astray = cells.of(np.array([[9.0], [-3.0], [np.nan], [1e9]]))
        assert far not in near
        assert astray[[0, 1, 3]].tolist() == [far] * 3
        assert astray[2] == cells.of(np.array([[0.0]]))[0]  # a missing number lies at the public centre


def test_leaves_have_no_far_cell_and_follow_their_targets() -> None:
    rng = np.random.default_rng(3)
    public = rng.normal(size=(400, 2))
    public[:, 1] += np.sign(public[:, 1])
    space = CellSpace.fit(public, draft_schema(public))
    score = (public[:, 1] > 0).astype(float)  # what a first student thinks of the public rows
    cells = Cells.of_public(public, space, 2, kind="leaves", targets=np.column_stack([score, 1 - score]))
    assert (cells.n_cells, cells.partition.far) == (2, None)
    assert (cells.public == cells.public[score.argmax()]).tolist() == (score == 1).tolist()
    by_place = Cells.of_public(public, space, 3, kind="leaves")
    assert by_place.digest != cells.digest
    assert cells.digest == Cells(space, cells.partition, cells.public.copy()).digest


@pytest.mark.parametrize("kind", KINDS)
def test_more_cells_than_public_rows_are_refused(kind: PartitionKind) -> None:
    public = np.arange(10.0).reshape(5, 2)
    space = CellSpace.fit(public, draft_schema(public))
    with pytest.raises(InvalidParameter, match="6 cells and 5 public rows; every cell needs a public row"):
        Cells.of_public(public, space, 6, kind=kind)
    assert Cells.of_public(public, space, 5, kind=kind).public.max() == 4


def test_senseless_partitions_are_refused() -> None:
    public = np.arange(10.0).reshape(5, 2)
    space = CellSpace.fit(public, draft_schema(public))
    with pytest.raises(InvalidParameter, match="cells"):
        Cells.of_public(public, space, 0)
    with pytest.raises(InvalidParameter, match="choose one of points, centroids, leaves"):
        Cells.of_public(public, space, 2, kind="squares")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_and_rows_that_are_alike(kind: PartitionKind) -> None:
    """What does not differ makes fewer cells, and no noise about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_differs = pa.table({"same": [1.0] * 9, "also": ["x"] * 9, "x": [0.0, 1.0, 2.0] * 3})
        schema = draft_schema(one_differs)
        rows = conform(one_differs, schema, "public rows")
        cells = Cells.of_public(rows, CellSpace.fit(rows, schema), 5, kind=kind)
        assert (cells.public.reshape(3, 3) == cells.public[:3]).all()
        assert len(np.unique(cells.public)) == 3
        for alike in (
            pa.table({"same": [1.0] * 9}),
            pa.table({"note": ["a note of quite a few words for once"] * 9}),
        ):
            schema = draft_schema(alike)
            rows = conform(alike, schema, "public rows")
            assert Cells.of_public(rows, CellSpace.fit(rows, schema), 5, kind=kind).public.tolist() == [0] * 9
        silence = sp.csr_matrix((6, 3))
        space = CellSpace.fit(silence, Schema(tuple(Column(f"x{j}", "number") for j in range(3))))
        assert Cells.of_public(silence, space, 3, kind=kind).public.tolist() == [0] * 6


def test_sparse_and_dense_rows_say_the_same() -> None:
    rows = world("sparse")
    for cells in (cells_of("sparse"), cells_of("sparse", "leaves")):
        assert (cells.of(rows.private.toarray()) == cells.of(rows.private)).all()
    narrow = rows.public[:, :20].toarray()
    space = CellSpace.fit(narrow, Schema(rows.schema.columns[:20]))
    assert (space.points(sp.csr_matrix(narrow)) == space.points(narrow)).all()


def test_many_columns_beside_an_image_are_projected() -> None:
    """However many there are, sums stay below 2^24."""
    public = pictures(150, 0, side=4)
    rng = np.random.default_rng(5)
    for j in range(MOST_COORDINATES):
        public = public.append_column(f"extra {j}", pa.array(rng.normal(size=150)))
    schema = draft_schema(public)
    rows = conform(public, schema, "public rows")
    points = CellSpace.fit(rows, schema).points(rows)
    assert points.shape[1] <= MOST_COORDINATES
    assert len(np.unique(points, axis=0)) == 150


def test_images_beside_text_are_refused() -> None:
    public = pictures(10, 0).append_column("note", written(10, 0)["note"])
    with pytest.raises(InvalidParameter, match="both an image and text"):
        CellSpace.fit(public, draft_schema(public))


@settings(max_examples=50, deadline=None)
@given(labels=arrays(np.int32, 300, elements=st.integers(0, 2)))
def test_counts_are_how_many_rows_of_a_class_are_in_a_cell(labels: Any) -> None:
    rows = world("mixed")
    cells = cells_of("mixed")
    counts = cells.counts(rows.private, labels, 3)
    assert (counts.shape, counts.dtype, counts.sum()) == ((cells.n_cells, 3), np.int64, 300)
    found = cells.of(rows.private)
    cell, code = found[0], labels[0]
    assert counts[cell, code] == np.count_nonzero((found == cell) & (labels == code))


@pytest.mark.parametrize("wrong", [-1, 3, 4711])
def test_labels_that_are_no_class_are_refused_before_anything_is_counted(wrong: int) -> None:
    """Class 3 of 3 would silently be counted as class 0 of the next cell."""
    rows = world("mixed")
    labels = np.zeros(300, np.int32)
    labels[17] = wrong
    with pytest.raises(GuaranteeBroken, match="class numbers from 0 to 2") as refused:
        cells_of("mixed").counts(rows.private, labels, 3)
    assert str(wrong) not in str(refused.value)
    assert "17" not in str(refused.value)
    with pytest.raises(GuaranteeBroken, match="one label"):
        cells_of("mixed").counts(rows.private, np.zeros(299, np.int32), 3)


def test_nobody_to_count() -> None:
    rows = world("wide")
    cells = cells_of("wide")
    assert not cells.counts(rows.private[:0], np.zeros(0, np.int32), 2).any()


def test_a_partition_that_loses_a_row_is_refused() -> None:
    @dataclass(frozen=True)
    class Lossy:
        n_cells: int = 2
        far: int | None = None

        def of(self, points: Any) -> Any:
            return np.full(len(points), 2)

    cells = Cells(cells_of("wide").space, Lossy(), np.zeros(3, np.int64))
    with pytest.raises(GuaranteeBroken, match="no cell"):
        cells.counts(world("wide").private, np.zeros(300, np.int32), 2)


def test_rows_far_out_of_the_public_range_are_in_the_far_cell() -> None:
    """The grid ends a few spreads away, so the distance on it cannot tell how far they are."""
    draw = np.random.default_rng(5)
    public, private = (
        pa.table({"glucose": draw.normal(100, 10, 500), "age": draw.normal(50, 9, 500)}) for _ in "12"
    )
    shifted = public.set_column(0, "glucose", pa.array(np.asarray(public["glucose"]) + 300))
    for rows, expected in ((public, 0.0), (shifted, 1.0)):
        cells = Cells.of_public(rows, CellSpace.fit(rows, draft_schema(rows)), 100)
        assert np.mean(cells.of(private) == cells.partition.far) == pytest.approx(expected, abs=0.01)
        assert not (cells.of(rows) == cells.partition.far).any()
