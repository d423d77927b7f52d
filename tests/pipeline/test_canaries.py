"""Nothing private is public: marks that stand in private rows only are looked for in every public byte."""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.data.synthetic import LABEL, UNIT

Mapl = Callable[..., Any]

WORDS = ("capybara", "numbat", "zorilla", "okapi")
RARE = 31337.625
"""A number that float32 and float64 hold exactly, so that its bytes and digits are known."""

MARKS = (
    *(word.encode() for word in WORDS),
    *(word.encode("utf-16-le") for word in WORDS),
    b"31337.6",
    b"31337,6",
    b"3.13376",
    *(struct.pack(form, RARE) for form in ("<f", ">f", "<d", ">d")),
)


def marked(table: pa.Table) -> pa.Table:
    """Plant categories, a word in free text and an id that nobody else has, and a number far from all others."""
    rows = np.arange(table.num_rows)
    chosen = np.isin(rows, (3, 500, 501, 1200))

    def put(column: str, cell: Any) -> Any:
        return pa.array(
            [cell if here else one for here, one in zip(chosen, table[column].to_pylist(), strict=True)]
        )

    for column, cell in (
        ("smoking", "capybara"),
        ("note", "seen with a numbat today"),
        (UNIT, "zorilla-4711"),
        ("region", "okapi"),
        ("glucose", RARE),
    ):
        table = table.set_column(table.column_names.index(column), column, put(column, cell))
    return table


def with_notes(table: pa.Table) -> pa.Table:
    notes = [
        f"patient {i * 7919 % 1000} felt {('well', 'tired', 'dizzy')[i % 3]} again" for i in range(table.num_rows)
    ]
    return table.add_column(1, "note", pa.array(notes))


@pytest.fixture
def world(mapl: Mapl, clinic: Any) -> Any:
    """Write the clinic's tables with free text in them, and with marks in the private one."""
    for name in ("private", "public", "test"):
        table = with_notes(pa.parquet.read_table(getattr(clinic, name)))
        pa.parquet.write_table(marked(table) if name == "private" else table, f"{name}.parquet")
    more = ("--public", "public.parquet", "--test", "test.parquet")
    return lambda *rest: clinic.arguments(*more, *rest, private=Path("private.parquet"))


def contents(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a file and whatever is packed in it: members of archives, cells and metadata of tables."""
    yield name, content
    if is_zipfile(BytesIO(content)):
        with ZipFile(BytesIO(content)) as archive:
            for member in archive.namelist():
                yield from contents(f"{name}/{member}", archive.read(member))
    if content[:4] == b"PAR1":
        table = pa.parquet.read_table(BytesIO(content))
        yield f"{name} cells", repr(table.to_pylist()).encode()
        yield f"{name} metadata", repr((table.schema.metadata, str(table.schema))).encode()
    if content[:6] == b"\x93NUMPY":
        array = np.load(BytesIO(content), allow_pickle=False)
        yield f"{name} numbers", repr(array.tolist()).encode()


def check_clean(ran: Any, public: Path) -> int:
    """Look for every mark in what was printed and in every public file; return how many pieces were searched."""
    searched = 0
    for place in (*public.rglob("*"), "stdout", "stderr"):
        raw = place.read_bytes() if isinstance(place, Path) else getattr(ran, place).encode()
        for name, content in contents(str(place), raw):
            searched += 1
            found = [mark for mark in MARKS if mark in content]
            assert not found, f"{name} holds {found}"
    return searched


def test_the_search_finds_marks(world: Any, tmp_path: Path) -> None:
    """The search itself works: the private table is full of marks."""
    with pytest.raises(AssertionError, match=r"private\.parquet"):
        check_clean(None, tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--student", "auto", "--group", "smoking", "--json"),
        ("--error-share", 0.2, "--strategy", "self-training"),
        ("--mechanism", "ladder", "--max-abstentions", 2, "--adjacency", "replace-one", "--time-limit", 20),
        ("--teachers", "auto", "--method", "cells", "--student", "auto", "--group", "smoking", "--json"),
        ("--teachers", "auto", "--partition", "leaves", "--rounds", 2, "--per-unit", "latest:glucose"),
    ],
    ids=["plain", "groups", "error", "halting", "cells", "two rounds"],
)
def test_nothing_private_is_published(mapl: Mapl, world: Any, more: tuple[Any, ...]) -> None:
    ran = mapl(*world(*more))
    assert ran.code in (0, 3), ran.stderr
    assert check_clean(ran, Path("run/public")) > 15
    again = mapl("report", "run", "--test", "test.parquet")
    check_clean(again, Path("run/public"))
    check_clean(mapl("predict", "run/public/student.skops", "test.parquet"), Path("run/public"))


def test_a_chatty_learner_is_silenced(
    mapl: Mapl, world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A learner that prints, warns and fails with its rows says nothing; it votes or falls back."""
    (tmp_path / "chatty.py").write_text(
        "import sys, warnings, os\n"
        "def train(X, y):\n"
        "    words = X.to_string()\n"
        "    print(words); print(words, file=sys.stderr); os.write(2, words.encode())\n"
        "    warnings.warn(words)\n"
        "    if (X['glucose'] > 1000).any():\n"
        "        raise RuntimeError(words)\n"
        "    return lambda rows: ['no'] * len(rows)\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    ran = mapl(*world("--learner", "chatty:train"))
    assert ran.code == 0, ran.stderr
    check_clean(ran, Path("run/public"))
    written = "".join(capfd.readouterr())
    assert not any(word in written for word in WORDS)


def test_a_command_leaves_nothing_behind(
    mapl: Mapl, world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards are handed to programs as files; they are gone afterwards."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "fit.py").write_text(
        "import sys\n"
        "shard, queries, votes = sys.argv[1:]\n"
        "print(open(shard).read())\n"
        "n = len(open(queries).read().splitlines()) - 1\n"
        "open(votes, 'w').write('no\\n' * n)\n"
    )
    command = f"{sys.executable} -S {tmp_path / 'fit.py'} {{shard}} {{queries}} {{votes}}"
    ran = mapl(*world("--learner-command", command, "--teachers", 6))
    assert ran.code == 0, ran.stderr
    check_clean(ran, Path("run/public"))
    check_clean(ran, scratch)
    assert not [one for one in scratch.rglob("*") if one.suffix == ".csv"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "cell"),
    [(LABEL, "numbat"), (UNIT, None), ("age", "capybara"), ("age", "31337.625x"), ("bmi", "okapi")],
)
def test_odd_cells_refuse_nothing_and_are_quoted_nowhere(
    mapl: Mapl, world: Any, column: str, cell: str | None, kind: str
) -> None:
    table = pa.parquet.read_table("private.parquet")
    cells = [cell, *map(str, table[column].to_pylist()[1:])]
    table = table.set_column(table.column_names.index(column), column, pa.array(cells))
    private = f"broken.{kind}"
    (pa.csv.write_csv if kind == "csv" else pa.parquet.write_table)(table, private)
    command = world()
    command[1] = private
    ran = mapl(*command)
    assert ran.code == 0, ran.stderr
    check_clean(ran, Path("run/public"))


def test_not_a_word_is_said_about_units_with_contradictory_records(mapl: Mapl, world: Any) -> None:
    ran = mapl(*world("--teachers", "auto", "--per-unit", "only"))
    assert ran.code == 0, ran.stderr
    check_clean(ran, Path("run/public"))


def test_labels_decide_nothing_but_votes_in_label_private_runs(mapl: Mapl, world: Any) -> None:
    """With every label turned around, all that is public before the release is the same."""
    table = pa.parquet.read_table("private.parquet")
    turned = [{"no": "yes", "yes": "no"}[one] for one in table[LABEL].to_pylist()]
    pa.parquet.write_table(
        table.set_column(table.column_names.index(LABEL), LABEL, pa.array(turned)), "turned.parquet"
    )
    public = []
    for name in ("private", "turned"):
        ran = mapl(
            *(
                "learn",
                f"{name}.parquet",
                "--label-private",
                "--label",
                LABEL,
                "--classes",
                "no,yes",
                "--unit",
                UNIT,
            ),
            *("--epsilon", 20, "--delta", 1e-5, "--teachers", 20, "--queries", 150, "--student", "ridge"),
            *("--jobs", 1, "--out", name),
        )
        assert ran.code == 0, ran.stderr
        public.append(
            [Path(name, "public", f"{file}.json").read_bytes() for file in ("plan", "schema", "settings")]
        )
    assert public[0] == public[1]
