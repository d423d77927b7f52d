"""A program that trains a student of every kind and tells the digests of their files.

    python all_students.py CLUTTER

Before each student it fills memory with CLUTTER arrays, of random content and odd sizes, and frees some of them:
what a process that has read much looks like inside.
"""

from __future__ import annotations

import importlib.util
import json
import secrets
import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from released_table import public_table
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, VotingClassifier
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.data.tables.classes import Classes
from mapl.students import train_student
from mapl.students.file.student_file import dumps
from mapl.students.images import network_training
from mapl.students.on_counts import train_on_counts
from mapl.students.soft.student import train_soft_student
from mapl.students.strategies.names import STRATEGIES
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.teachers.learners.presets import PRESETS

Train = Callable[[], Student]


def kinds() -> Iterator[tuple[str, Train]]:
    """Yield every kind of student under a name."""
    public = public_table(400)
    classes = public.classes
    for learner in ("auto", *PRESETS):
        yield learner, partial(train_student, public.rows, public.labels, classes=classes, learner=learner)
    for strategy in STRATEGIES:
        with_it = partial(train_student, public.rows, public.labels, classes=classes, strategy=strategy)
        # A vote holds ten of them, and would be ten times as large by forests, which the others have.
        yield f"strategy {strategy}", partial(with_it, learner="ridge" if strategy == "voting" else "forest")
    estimators = [BaggingClassifier(n_estimators=2), GradientBoostingClassifier(n_estimators=2)]
    estimators.append(VotingClassifier([(f"{i}", LogisticRegression(C=i)) for i in (1, 2)], flatten_transform=True))
    numbers = np.random.default_rng(0).normal(size=(120, 4))
    codes = (numbers[:, 0] > 0).astype(np.int32)
    for one in estimators:
        yield type(one).__name__, partial(train_student, numbers, codes, classes=classes, learner=one)
    yield "a set", partial(with_a_set, numbers, codes, classes)
    counts = np.random.default_rng(1).integers(-4, 9, (40, 2))
    cells = np.arange(400, dtype=np.int64) % 40
    taught = TaughtByCounts(public.rows, (Round(cells, counts, 1.0),))
    schema = draft_schema(public.rows, classes=classes.names)
    on_counts = partial(train_on_counts, taught, classes=classes, schema=schema)
    for learner in (None, "hgb"):
        yield f"counts, {learner}", partial(on_counts, learner=learner, encoder=encoder_for(schema, public.rows))
    soft = np.random.default_rng(2).normal(0.5, 1, 120)
    yield "soft", partial(train_soft_student, numbers, soft, classes=classes)
    softly = np.random.default_rng(2).normal(1 / 3, 1, (120, 3))
    yield "soft, three", partial(train_soft_student, numbers, softly, classes=Classes(tuple("abc")))
    pixels, truth = load_digits(return_X_y=True)
    images = pa.table({"image": pa.FixedSizeListArray.from_arrays(pa.array(pixels[:150].ravel()), 64)})
    learn_images = partial(train_student, images, truth[:150], classes=Classes(tuple("0123456789")))
    yield "images, auto", learn_images
    letters = np.random.default_rng(3).choice(list("abcd"), (150, 3))
    categories = pa.table({f"c{i}": letters[:, i] for i in range(3)})
    yield "categories, auto", partial(train_student, categories, (letters[:, 0] > "b").astype(int), classes=classes)
    if importlib.util.find_spec("torch") is not None:
        network_training.MOST_ROUNDS = 2
        yield "images, cnn", partial(learn_images, learner="cnn")


def with_a_set(numbers: Any, codes: Any, classes: Classes) -> Student:
    student = train_student(numbers, codes, classes=classes, learner="ridge")
    student.model.steps.append(("words", FunctionTransformer(kw_args={"words": set(ENGLISH_STOP_WORDS)})))
    return student


def clutter(n: int, draws: np.random.Generator) -> list[Any]:
    """Fill memory, and return what keeps half of it."""
    sizes = draws.integers(1, 5_000, n)
    filled = [secrets.token_bytes(int(size)) for size in sizes] + [[object()] * int(size % 97) for size in sizes]
    filled += [draws.integers(0, 255, 1 << 20, dtype=np.uint8) for _ in range(n // 1000)]
    return filled[::2]


def main(n: int) -> None:
    draws, kept, told = np.random.default_rng(), [], {}
    for name, train in kinds():
        kept.append(clutter(n, draws))
        told[name] = sha256(dumps(train(), statement="{}")).hexdigest()
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]))
