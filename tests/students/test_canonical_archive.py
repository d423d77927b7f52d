"""Student files are functions of the student: no address, clock, hash order or leftover of memory is in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import skops.io
from released_table import public_table
from sklearn.ensemble import RandomForestClassifier

from mapl.__main__ import RESTFUL
from mapl.students.file.canonical_archive import EARLIEST, PLAN, model_archive, pack, without_gaps
from mapl.students.file.model_file import model_bytes, model_from
from mapl.students.file.student_file import dumps, loads
from mapl.students.strategies.names import STRATEGIES
from mapl.students.student import Student, train_student
from mapl.teachers.learners.presets import PRESETS

RECORDS = np.dtype({"names": ["leaf", "value"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 24})


def told(hash_seed: int, clutter: int) -> dict[str, str]:
    """Let another process train a student of every kind, and return the digests of their files."""
    # How many threads a machine has may show in the last bits of a model; that it is busy may not.
    threads = {**dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2"), **RESTFUL}
    told = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).with_name("all_students.py"), str(clutter)],
        env={**os.environ, **threads, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    digests: dict[str, str] = json.loads(told.stdout)
    return digests


def test_a_student_of_any_kind_has_the_same_bytes_in_every_process() -> None:
    one, other = told(1, clutter=0), told(2, clutter=3000)
    assert set(one) >= {"auto", *PRESETS, *(f"strategy {name}" for name in STRATEGIES), "counts, None", "soft"}
    assert {name for name in one if one[name] != other[name]} == set()


def a_student() -> Student:
    public = public_table(120)
    return train_student(public.rows, public.labels, classes=public.classes, learner="forest")


def test_what_skops_writes_differs_and_what_mapl_writes_does_not() -> None:
    student, twin = a_student(), a_student()
    assert skops.io.dumps(student.model) != skops.io.dumps(twin.model)
    assert model_bytes(student.model) == model_bytes(twin.model)
    assert dumps(student) == dumps(twin) == dumps(loads(dumps(student)))


def test_no_address_and_no_date_is_in_a_student_file() -> None:
    student = a_student()
    with ZipFile(BytesIO(dumps(student))) as archive:
        members = archive.infolist()
        plan = archive.read(PLAN).decode()
    assert {member.date_time for member in members} == {EARLIEST}
    assert {(member.create_system, member.external_attr, member.extra) for member in members} == {
        (3, 0o100600 << 16, b"")
    }
    numbers = sorted(_numbers(json.loads(plan)))
    assert 1 == numbers[0] <= numbers[-1] <= len(numbers)
    assert not any(str(id(one)) in plan for one in (student.model, *student.model.steps[1][1].estimators_))
    arrays = [member.filename for member in members[1:-1]]
    assert [name.split(".")[0] for name in arrays] == [str(i) for i in range(len(arrays))]


def _numbers(part: Any) -> list[int]:
    if isinstance(part, list):
        return [number for one in part for number in _numbers(one)]
    if not isinstance(part, dict):
        return []
    own = [part["__id__"]] if "__id__" in part else []
    return own + [number for one in part.values() for number in _numbers(one)]


def test_skops_reads_what_mapl_writes() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    forest = RandomForestClassifier(3, random_state=0).fit(rows, rows[:, 0] > 0)
    content = model_archive(forest)
    for again in (
        skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content)),
        model_from(content, "The forest", most_bytes=1 << 24),
    ):
        np.testing.assert_array_equal(again.predict_proba(rows), forest.predict_proba(rows))


def test_an_object_that_stands_in_two_places_is_one_object_again() -> None:
    shared = np.arange(3.0)
    once = {"a": shared, "b": shared, "c": shared.copy()}
    again = skops.io.loads(model_archive(once))
    assert again["a"] is again["b"]
    assert again["a"] is not again["c"]


def test_equal_values_are_equal_however_they_came_about() -> None:
    word = "a word"
    shared, apart = [word, word, 1234.5], ["".join(["a", " word"]), "a word ".strip(), float("1234.5")]
    assert apart[0] is not apart[1]
    assert model_archive(shared) == model_archive(apart)


def test_sets_and_bytes_have_one_order_and_one_name() -> None:
    numbers = [2**61 - 1, 0, 5, 2**62 - 2]  # which collide, so that their order is that of insertion
    one, other = set(numbers), {2**62 - 2, 5, 0, 2**61 - 1}
    assert list(one) != list(other)
    assert model_archive({"set": one, "bytes": b"x"}) == model_archive({"set": other, "bytes": b"x"})
    assert skops.io.loads(model_archive({"set": one, "bytes": b"x"})) == {"set": one, "bytes": b"x"}


def test_what_lay_between_the_fields_of_records_is_not_written() -> None:
    def stored(leftover: int) -> bytes:
        records = np.full(5 * RECORDS.itemsize, leftover, np.uint8).view(RECORDS)
        records["leaf"], records["value"] = 1, 2.5
        sink = BytesIO()
        np.save(sink, records)
        return sink.getvalue()

    assert stored(7) != stored(9)
    assert without_gaps(stored(7)) == without_gaps(stored(9)) == stored(0)
    nested = np.dtype([("inner", RECORDS), ("last", "u1")])
    one, other = (np.full(nested.itemsize, fill, np.uint8).view(nested) for fill in (7, 9))
    for records in (one, other):
        records["inner"]["leaf"], records["inner"]["value"], records["last"] = 1, 2.5, 3
    assert model_archive(one) == model_archive(other)
    assert skops.io.loads(model_archive(one))["inner"]["value"].tolist() == [2.5]


def test_an_archive_is_a_function_of_its_members() -> None:
    members = [("b", b"2"), ("a", b"1")]
    assert pack(members) == pack(iter(members))
    with ZipFile(BytesIO(pack(members, ZIP_STORED))) as archive:
        assert [(one.filename, one.date_time) for one in archive.infolist()] == [("b", EARLIEST), ("a", EARLIEST)]
        assert archive.read("a") == b"1"
