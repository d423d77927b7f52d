"""Readers take what others write, and refuse everything else without quoting it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mapl.data.tables.classes import UNKNOWN
from mapl.errors import InvalidData, InvalidParameter, MaplError
from mapl.release import Classes, read_counts, read_votes
from mapl.release.files.labels import read_truth

COUNTS = np.array([[7, 2, 1], [0, 10, 0], [3, 3, 4]])
VOTES = [["a", "a", "b", "c"], ["c", "c", "c", "c"], ["b", "a", "b", "a"]]
TALLIED = [[2, 1, 1], [0, 0, 4], [2, 2, 0]]
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "votes"


def counts_of(path: Path, **how: Any) -> list[list[int]]:
    counts: list[list[int]] = read_votes(path, **how).tallies.counts.tolist()
    return counts


@pytest.mark.parametrize("dtype", ["u1", "<i2", ">i4", "<i8", ">i8", "<u8", "<f2", "<f4", ">f4", "<f8", ">f8", "g"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_number_type_and_order(tmp_path: Path, dtype: str, order: Any) -> None:
    np.save(tmp_path / "v.npy", np.array(COUNTS, dtype=dtype, order=order))
    assert counts_of(tmp_path / "v.npy") == COUNTS.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "7,2,1\n0,10,0\n3,3,4\n",
        "7,2,1\r\n0,10,0\r\n3,3,4",
        "yes,no,maybe\n7,2,1\n0,10,0\n3,3,4\n",
        "0,1,2\n7,2,1\n0,10,0\n3,3,4\n",
        "\ufeffyes,no,maybe\n7.0,2.0,1.0\n0, 10 ,0\n3,3,4\n\n",
        '"yes","no","may,be"\n"7","2","1"\n"0","10","0"\n"3","3","4"\n',
        "7.000e+00,2.0e+00,1\n0,1e1,0\n3,3,4\n",
        "\n\na,b,c\n7,2,1\n0,10,0\n3,3,4\n",
    ],
)
def test_csv_with_and_without_header(tmp_path: Path, text: str) -> None:
    (tmp_path / "v.csv").write_text(text, encoding="utf-8", newline="")
    assert counts_of(tmp_path / "v.csv") == COUNTS.tolist()


def test_a_first_row_that_may_be_counts_is_counts(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("0,1,2\n1,1,1\n")
    assert counts_of(tmp_path / "v.csv") == [[0, 1, 2], [1, 1, 1]]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64()])
def test_parquet_of_counts(tmp_path: Path, kind: Any) -> None:
    columns = {name: pa.array(COUNTS[:, j]).cast(kind) for j, name in enumerate("xyz")}
    columns["__index_level_0__"] = pa.array([5, 6, 7])
    pa.parquet.write_table(pa.table(columns), tmp_path / "v.parquet")
    assert counts_of(tmp_path / "v.parquet") == COUNTS.tolist()


def write_single(path: Path, table: list[list[str]]) -> None:
    columns = {f"t{j}": [row[j] for row in table] for j in range(len(table[0]))}
    if path.suffix == ".npy":
        np.save(path, np.array(table))
    elif path.suffix == ".csv":
        pa.csv.write_csv(pa.table(columns), path)
    else:
        pa.parquet.write_table(pa.table(columns), path)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("coded", [False, True])
def test_single_votes_by_name_or_number(tmp_path: Path, suffix: str, coded: bool) -> None:
    table = [[str("abc".index(v)) if coded else v for v in row] for row in VOTES]
    path = tmp_path / f"v{suffix}"
    write_single(path, table)
    assert counts_of(path, classes=Classes.parse("a,b,c"), per_teacher=True) == TALLIED
    write_single(path, [list(column) for column in zip(*table, strict=True)])
    assert counts_of(path, classes=Classes.parse("a,b,c"), per_teacher=True, teachers_in="rows") == TALLIED


@pytest.mark.parametrize("dtype", ["i1", ">i4", "u8", "f8"])
def test_raw_predictions_of_pate(tmp_path: Path, dtype: str) -> None:
    # One row per teacher, one column per question, many blocks of rows.
    votes = np.random.default_rng(0).integers(0, 3, size=(250, 9_000))
    np.save(tmp_path / "v.npy", votes.astype(dtype))
    read = counts_of(tmp_path / "v.npy", classes=Classes.parse("0,1,2"), per_teacher=True, teachers_in="rows")
    assert read == np.stack([(votes == y).sum(axis=0) for y in range(3)], axis=1).tolist()
    np.save(tmp_path / "v.npy", votes.T.astype(dtype))
    assert counts_of(tmp_path / "v.npy", classes=Classes.parse("0,1,2"), per_teacher=True) == read


def test_parquet_of_categories_and_numbers(tmp_path: Path) -> None:
    columns = {
        "t0": pa.array(["a", "c", "b"]).dictionary_encode(),
        "t1": pa.array([0, 2, 0], pa.int8()),
        "t2": pa.array(["b", "c", "b"], pa.large_string()),
        "t3": pa.array([2.0, 2.0, 0.0]),
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "v.parquet")
    assert counts_of(tmp_path / "v.parquet", classes=Classes.parse("a,b,c"), per_teacher=True) == TALLIED


def test_a_number_never_has_two_meanings() -> None:
    by_name, by_place = Classes.parse("1,0"), Classes.parse("no,yes")
    assert by_name.codes(np.array([0, 1, 2])).tolist() == [1, 0, UNKNOWN]
    assert by_place.codes(np.array([0, 1, 2])).tolist() == [UNKNOWN] * 3
    assert by_place.codes(np.array([0, 1, 2]), by_position=True).tolist() == [0, 1, UNKNOWN]
    assert by_name.codes(np.array([0, 1, 2]), by_position=True).tolist() == [1, 0, UNKNOWN]
    assert by_name.codes(np.array(["0", " 1", "1.0", "x"])).tolist() == [1, 0, 0, UNKNOWN]
    assert by_place.codes(np.array([b"no", b"1"]), by_position=True).tolist() == [0, 1]
    strange = np.array([np.nan, np.inf, -np.inf, 0.5, -1.0, 1e300, 1.0])
    assert by_place.codes(strange, by_position=True).tolist() == [UNKNOWN] * 6 + [1]


@pytest.mark.parametrize("text", ["", "a", "a,a", "a,,b", "a,"])
def test_classes_are_at_least_two_different_names(text: str) -> None:
    with pytest.raises(InvalidParameter, match="at least two different names"):
        Classes.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "no rows"),
        ("a,b,c\n", "no rows"),
        ("7;2;1\n", "separated by commas"),
        (",a,b\n0,4,6\n", "index=False"),
        ("a,b\n4,6\n4,\n", "empty cells"),
        ("4,6\n4,x\n", "cannot be read"),
        ("4,6\n4,6,1\n", "cannot be read"),
        ("4,6\n4,5.5\n", "fractions"),
        ("4,6\n-1,11\n", "negative"),
        ("4,6\nnan,6\n", "NaN or infinity"),
        ("4,6\n4,inf\n", "NaN or infinity"),
        ("4,6\n4,99999999999999999999\n", "exceed"),
        ("4,6\n4,7\n", "different totals"),
        ("5\n5\n", "one column"),
    ],
)
def test_bad_csv(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(InvalidData, match=message):
        read_votes(tmp_path / "v.csv")


def test_cut_off_files(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", COUNTS)
    pa.parquet.write_table(pa.table({"a": COUNTS[:, 0]}), tmp_path / "v.parquet")
    for name in ("v.npy", "v.parquet"):
        whole = (tmp_path / name).read_bytes()
        for end in (1, 6, 40, len(whole) // 2, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:end])
            with pytest.raises(InvalidData, match="damaged or cut off"):
                read_votes(tmp_path / name)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1, "x"], [None, 2]], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidData, match="cannot be read"):
        read_votes(tmp_path / "v.npy")


@pytest.mark.parametrize("name", ["v.txt", "v", "v.npz", "v.csv.gz"])
def test_other_kinds_of_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1,2\n")
    with pytest.raises(InvalidData, match=r"\.npy, \.csv or \.parquet"):
        read_votes(tmp_path / name)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="There is no file"):
        read_votes(tmp_path / "v.npy")
    (tmp_path / "v.csv").mkdir()
    with pytest.raises(InvalidData, match="not a folder"):
        read_votes(tmp_path / "v.csv")


def test_votes_must_be_declared_classes(tmp_path: Path) -> None:
    write_single(tmp_path / "v.csv", VOTES)
    with pytest.raises(InvalidParameter, match="must not be read off private votes"):
        read_votes(tmp_path / "v.csv", per_teacher=True)
    with pytest.raises(InvalidParameter, match="give per_teacher"):
        read_votes(tmp_path / "v.csv", teachers_in="rows")
    np.save(tmp_path / "v.npy", COUNTS)
    with pytest.raises(InvalidData, match="3 columns of counts and 2 classes"):
        read_votes(tmp_path / "v.npy", classes=Classes.parse("a,b"))


@pytest.mark.parametrize("odd", ["", "c", "7", "-1", "nan", "é"])
def test_a_vote_that_cannot_be_read_counts_for_the_first_class(tmp_path: Path, odd: str) -> None:
    """It refuses nothing: whether a file is taken must not tell what one teacher said."""
    (tmp_path / "v.csv").write_text(f"one,two,three\nb,{odd},b\nb,a,b\n", encoding="utf-8")
    read = read_votes(tmp_path / "v.csv", classes=Classes.parse("a,b"), per_teacher=True)
    assert read.tallies.counts.tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", "truth\nb\na\nc\n"), ("t.csv", "1\n0\n2\n"), ("t.npy", [1, 0, 2]), ("t.npy", [["b"], ["a"], ["c"]])],
)
def test_truth_by_name_or_number(tmp_path: Path, name: str, content: Any) -> None:
    if name == "t.csv":
        (tmp_path / name).write_text(content)
    else:
        np.save(tmp_path / name, np.array(content))
    assert read_truth(tmp_path / name, Classes.parse("a,b,c"), 3).tolist() == [1, 0, 2]


def test_truth_must_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([1, 0, 2]))
    with pytest.raises(InvalidData, match="3 labels and the votes have 4 questions"):
        read_truth(tmp_path / "t.npy", Classes.parse("a,b,c"), 4)
    with pytest.raises(InvalidData, match="none of the 2 classes"):
        read_truth(tmp_path / "t.npy", Classes.numbered(2), 3)
    np.save(tmp_path / "t.npy", np.eye(3))
    with pytest.raises(InvalidData, match="several columns"):
        read_truth(tmp_path / "t.npy", Classes.numbered(3), 3)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/votes")
@pytest.mark.parametrize(("name", "shape"), [("mnist", (9000, 10)), ("adult", (16281, 2))])
def test_published_vote_files_load_as_they_are(name: str, shape: tuple[int, int]) -> None:
    votes = read_votes(SHARED / f"{name}_250_teachers.npy")
    assert votes.tallies.counts.shape == shape
    assert votes.tallies.n_teachers == 250
    truth = read_truth(SHARED / f"{name}_labels.npy", votes.classes, shape[0])
    assert (votes.tallies.values == truth).mean() > 0.84


def refused_or_whole(path: Path, **how: Any) -> None:
    """Read a file of anything: either its votes are whole, or the refusal quotes nothing."""
    try:
        counts = read_votes(path, **how).tallies.counts
    except MaplError as error:
        refusal = error
    else:
        assert (counts.sum(axis=1, dtype=np.int64) == counts[0].sum()).all()
        assert (counts >= 0).all()
        return
    assert refusal.__cause__ is None
    assert len(str(refusal)) < 600


NUMBERS = st.one_of(st.integers(-2, 3), st.integers(), st.floats(width=64))
CELLS = st.one_of(NUMBERS.map(str), st.sampled_from(["a", "b", "", "NaN", "1e999", '"', "true", "\x00", "é"]))


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.lists(CELLS, max_size=4), max_size=5), per_teacher=st.booleans())
def test_any_text(rows: list[list[str]], per_teacher: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "v.csv"
        path.write_text("\n".join(map(",".join, rows)), encoding="utf-8")
        refused_or_whole(path, classes=Classes.parse("a,b") if per_teacher else None, per_teacher=per_teacher)


@settings(max_examples=150, deadline=None)
@given(
    array=hnp.arrays(
        st.one_of(hnp.scalar_dtypes(), hnp.byte_string_dtypes(max_len=3), hnp.unicode_string_dtypes(max_len=3)),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    per_teacher=st.booleans(),
)
def test_any_array(array: Any, per_teacher: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "v.npy"
        np.save(path, array)
        refused_or_whole(path, classes=Classes.parse("a,b") if per_teacher else None, per_teacher=per_teacher)


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200), kind=st.sampled_from([".npy", ".csv", ".parquet"]), magic=st.booleans())
def test_any_bytes(content: bytes, kind: str, magic: bool) -> None:
    start = {".npy": b"\x93NUMPY\x01\x00", ".csv": b"1,2\n", ".parquet": b"PAR1"}[kind] if magic else b""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"v{kind}"
        path.write_bytes(start + content)
        refused_or_whole(path)


def test_planted_values_are_never_quoted(tmp_path: Path) -> None:
    secret = "8675309"
    for text in (f"{secret},x\n1,2\n", f"1,2\n{secret}.5,2\n", f"1,2\n1,2,{secret}\n", f"1,2\n-{secret},2\n"):
        (tmp_path / "v.csv").write_text(text)
        with pytest.raises(InvalidData) as refusal:
            read_votes(tmp_path / "v.csv")
        assert secret not in str(refusal.value)


def test_counts_are_read_once(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", COUNTS)
    read = read_counts(tmp_path / "v.npy")
    (tmp_path / "v.npy").write_bytes(b"")
    assert read.tolist() == COUNTS.tolist()


def test_a_first_row_of_undeclared_votes_is_no_header(tmp_path: Path) -> None:
    """Names of teachers differ; taking a row of votes for them would shift every label by one question."""
    votes = tmp_path / "votes.csv"
    votes.write_text("maybe,maybe,maybe\n" + "yes,no,yes\n" * 5)
    read = read_votes(votes, classes=Classes.parse("no,yes"), per_teacher=True, teachers_in="columns")
    assert read.tallies.counts.tolist() == [[3, 0], *[[1, 2]] * 5]
    votes.write_text("anna,bert,carl\n" + "yes,no,yes\n" * 5)
    read = read_votes(votes, classes=Classes.parse("no,yes"), per_teacher=True, teachers_in="columns")
    assert len(read.tallies) == 5
