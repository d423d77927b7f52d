"""Students of every kind that can be exported, small ones, and rows to ask them about."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from released_table import public_table
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.data.encoding.encoder import Encoder
from mapl.data.moments.feature_map import FeatureMap
from mapl.data.moments.row_map import RowMap
from mapl.data.tables.classes import Classes
from mapl.data.tables.column import Column
from mapl.data.tables.number_range import NumberRange, ends
from mapl.data.tables.schema import Schema
from mapl.students import Student, Voting, train_student
from mapl.students.moments.student import MomentsLesson, MomentsStudent
from mapl.students.on_counts import train_on_counts
from mapl.students.probabilities.scale import ScoreScale
from mapl.students.soft.student import train_soft_student
from mapl.students.taught_by_counts import Round, TaughtByCounts

THREE = Classes(("low", "middle", "high"))
PUBLIC = public_table(240)


def schema() -> Schema:
    """Numbers with gaps and bins, a category with a rest, a plain one, and a date."""
    return Schema(
        (
            Column("age", "number", centre=40.0, spread=10.0, cuts=(30.0, 40.0, 50.0), missing=True),
            Column("job", "category", ("baker", "clerk"), rest=True),
            Column("noise", "number", spread=1.0, cuts=(0.0,)),
            Column("town", "category", ("a", "ü")),
            Column("seen", "date", centre=18_000.0, spread=100.0),
        )
    )


def rows(n: int = 240, seed: int = 0) -> pa.Table:
    draws = np.random.default_rng(seed)
    age = draws.normal(40, 10, n)
    age[::17], age[5::29] = np.nan, 30.0  # no number, and right at a cut
    job = draws.choice(["baker", "clerk", "smith", "weaver"], n).astype(object)
    job[::13] = None
    days = draws.integers(17_800, 18_200, n)
    return pa.table(
        {
            "age": pa.array(age, from_pandas=True),
            "job": pa.array(job, pa.string()),
            "noise": np.where(np.arange(n) % 50 == 3, 1e9, draws.normal(size=n)),
            "town": pa.array(draws.choice(["a", "ü", "elsewhere"], n), pa.string()),
            "seen": pa.array(days.astype("datetime64[D]")),
        }
    )


def truth(table: pa.Table, n_classes: int = 2) -> Any:
    age = np.nan_to_num(table["age"].to_numpy(), nan=40.0)
    score = age + 8 * np.array([one == "clerk" for one in table["job"].to_pylist()])
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return np.searchsorted(cuts, score).astype(np.int32)


def on_table(learner: Any, classes: Classes = PUBLIC.classes, strategy: Any = "plain") -> Student:
    table = rows()
    codes = truth(table, len(classes))
    codes[::9] = (codes[::9] + 1) % len(classes)
    return train_student(table, codes, classes=classes, learner=learner, strategy=strategy, schema=schema())


def on_matrix(learner: Any) -> Student:
    numbers = np.random.default_rng(0).normal(size=(200, 4))
    return train_student(numbers, (numbers[:, 0] > 0).astype(np.int32), classes=PUBLIC.classes, learner=learner)


def of_moments(n_classes: int = 2, number_range: NumberRange | None = None) -> Student:
    table, encoder = rows(), Encoder.of(schema(), bins=True)
    features = FeatureMap.fit(encoder.transform(table), ridge=0.1)
    draws = np.random.default_rng(4)
    weights = draws.normal(0, 3, (features.width, 1 if number_range else n_classes))
    classes = ends() if number_range else Classes(tuple("abcd"[:n_classes]))
    lesson = MomentsLesson(RowMap(encoder, features), weights, 0.1 if number_range else 0.0)
    return MomentsStudent(classes, schema(), number_range=number_range).train(table, lesson)


def of_counts(learner: Any) -> Student:
    cells = np.arange(240, dtype=np.int64) % 40
    counts = np.random.default_rng(1).integers(-4, 9, (40, 2))
    taught = TaughtByCounts(PUBLIC.rows, (Round(cells, counts, 1.0),))
    known = draft_schema(PUBLIC.rows, classes=PUBLIC.classes.names)
    return train_on_counts(
        taught, classes=PUBLIC.classes, schema=known, learner=learner, encoder=encoder_for(known, PUBLIC.rows)
    )


def of_categories() -> Student:
    letters = letter_rows()
    known = (np.array(letters["c0"].to_pylist()) > "b").astype(np.int32)
    return train_student(letters, known, classes=PUBLIC.classes)


def letter_rows(seed: int = 3) -> pa.Table:
    letters = np.random.default_rng(seed).choice(list("abcd"), (150, 3))
    return pa.table({f"c{i}": letters[:, i] for i in range(3)})


def soft(learner: Any = None) -> Student:
    table = rows()
    values = np.clip(truth(table) + np.random.default_rng(2).normal(0, 0.3, 240), -0.5, 1.5)
    return train_soft_student(table, values, classes=PUBLIC.classes, schema=schema(), learner=learner)


def soft_of_three() -> Student:
    table = rows()
    clerks = np.array([one == "clerk" for one in table["job"].to_pylist()])
    values = np.eye(3)[np.where(clerks, 2, truth(table))] + np.random.default_rng(2).normal(0, 0.1, (240, 3))
    return train_soft_student(table, values, classes=THREE, schema=schema())


def with_a_scale(student: Student, weights: tuple[float, ...] | None = None) -> Student:
    from dataclasses import replace

    offsets = tuple(0.1 * j for j in range(len(student.classes)))
    return replace(student, scale=ScoreScale(1.4, offsets), class_weights=weights)


Make = Callable[[], Student]
PRESETS = ("logistic", "ridge", "ridge-bins", "hgb", "forest", "nb", "svm", "mlp", "text")

ALL: dict[str, Make] = {
    **{preset: partial(on_table, preset) for preset in PRESETS},
    **{
        f"{preset}, three": partial(on_table, preset, THREE)
        for preset in ("logistic", "ridge", "hgb", "forest", "nb")
    },
    "voting": partial(on_table, "logistic", THREE, Voting(3)),
    "voting trees": partial(on_table, "hgb", PUBLIC.classes, Voting(3)),
    "matrix": partial(on_matrix, "ridge"),
    "own estimator": partial(on_matrix, LogisticRegression()),
    "moments": of_moments,
    "moments, four": partial(of_moments, 4),
    "moments, numbers": partial(of_moments, number_range=NumberRange(0, 5)),
    "counts": partial(of_counts, "logistic"),
    "counts, hgb": partial(of_counts, "hgb"),
    "categories": of_categories,
    "soft": soft,
    "soft, three": soft_of_three,
    "soft, boosted": partial(soft, HistGradientBoostingRegressor(max_iter=5)),
    "scaled": lambda: with_a_scale(on_table("logistic", THREE)),
    "weighed": lambda: with_a_scale(on_table("forest", THREE), (1.0, 3.0, 0.5)),
    "one class": lambda: train_student(rows(), np.ones(240, np.int32), classes=PUBLIC.classes, schema=schema()),
}


@cache
def student_of(name: str) -> Student:
    return ALL[name]()


def questions_of(student: Student) -> Any:
    """Rows that a student did not learn from."""
    if student.on_matrix:
        return np.random.default_rng(9).normal(size=(200, 4))
    if student.columns == ("c0", "c1", "c2"):
        return letter_rows(8)
    return public_table(200, seed=5).rows if list(student.columns) == PUBLIC.rows.column_names else rows(300, 7)


def cells_of(student: Student, questions: Any) -> dict[str, list[Any]]:
    """The same rows as exports take them: by column, days for dates, empty text and NaN for what is missing."""
    if student.on_matrix:
        return {name: questions[:, j].tolist() for j, name in enumerate(student.columns)}
    cells = {}
    for one in student.schema.columns:
        told = questions[one.name].to_pylist()
        if one.kind == "date":
            told = [float((day - np.datetime64("1970-01-01").item()).days) for day in told]
        missing = "" if one.kind == "category" else float("nan")
        cells[one.name] = [missing if cell is None else cell for cell in told]
    return cells
