"""Students on images, and the strategy that cleans labels for any learner."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for, for_teachers
from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.data.tables.classes import Classes
from mapl.students import STRATEGIES, Strategy, Voting, check_storable, load, save, train_student
from mapl.teachers import PRESETS, as_learner, rehearse
from mapl.types import ABSTAIN

MNIST = Path(__file__).parents[2].parent / "shared" / "data" / "mnist.parquet"
TEN = Classes.numbered(10)


def pictures(images: NDArray[np.uint8]) -> pa.Table:
    return pa.table({"picture": pa.FixedSizeListArray.from_arrays(pa.array(images.ravel()), images.shape[1])})


def noisy(truth: NDArray[np.int64], right: float, *, n_classes: int = 10, seed: int = 0) -> NDArray[np.int32]:
    draws = np.random.default_rng(seed)
    wrong = (truth + draws.integers(1, n_classes, size=len(truth))) % n_classes
    return np.where(draws.random(len(truth)) < right, truth, wrong).astype(np.int32)


@cache
def digits() -> tuple[pa.Table, NDArray[np.int64], pa.Table, NDArray[np.int64]]:
    found = load_digits()
    images, truth = found.data.astype(np.uint8), found.target.astype(np.int64)
    return pictures(images[:900]), truth[:900], pictures(images[900:1400]), truth[900:1400]


@cache
def encoder() -> PublicEncoder:
    rows = digits()[0]
    fitted = encoder_for(draft_schema(rows), rows)
    assert isinstance(fitted, PublicEncoder)
    return fitted


def test_the_default_student_on_images_shrugs_noise_off() -> None:
    rows, truth, others, their = digits()
    labels = noisy(truth, 0.5)
    student = train_student(rows, labels, classes=TEN, encoder=encoder())
    assert student.learner == "auto: kernel on cleaned labels"
    accuracy = (student.predict(others) == their).mean()
    assert accuracy > 0.93
    simple = train_student(rows, labels, classes=TEN, learner="logistic", encoder=encoder())
    assert accuracy > (simple.predict(others) == their).mean() + 0.1


def test_an_encoder_is_made_where_none_is_given_and_the_file_holds_it(tmp_path: Path) -> None:
    rows, truth, others, _ = digits()
    few, labels = rows.slice(0, 200), noisy(truth[:200], 0.9)
    labels[::5] = ABSTAIN
    student = train_student(few, labels, classes=TEN)
    assert isinstance(student.model.steps[0][1], PublicEncoder)
    save(student, tmp_path / "student.skops")
    again = load(tmp_path / "student.skops")
    assert np.array_equal(again.predict(others), student.predict(others))
    check_storable(None, few, TEN, encoder=encoder())


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_every_strategy_takes_images(strategy: Strategy) -> None:
    rows, truth, others, their = digits()
    labels = noisy(truth, 0.9)
    strategy = Voting(3) if strategy.name == "voting" else strategy
    labels[::4] = ABSTAIN
    student = train_student(rows, labels, classes=TEN, learner="ridge", strategy=strategy, encoder=encoder())
    # Labelling a quarter of the rows arbitrarily has its price, as the papers know.
    assert (student.predict(others) == their).mean() > (0.7 if strategy.name == "imputed" else 0.8)


def test_cleaning_helps_any_learner_on_images() -> None:
    rows, truth, others, their = digits()
    labels = noisy(truth, 0.5)
    plain, clean = (
        train_student(rows, labels, classes=TEN, learner="logistic", strategy=strategy, encoder=encoder())
        for strategy in ("plain", "cleaned")
    )
    assert clean.strategy == "cleaned"
    assert (clean.predict(others) == their).mean() > (plain.predict(others) == their).mean() + 0.1


@pytest.mark.parametrize("learner", ["logistic", LogisticRegression()], ids=["preset", "own"])
def test_cleaning_takes_tables(learner: object) -> None:
    draws = np.random.default_rng(1)
    truth = draws.integers(2, size=600)
    rows = pa.table({"x": 6 * truth + draws.normal(size=600), "y": draws.normal(size=600)})
    labels = noisy(truth, 0.75, n_classes=2)
    labels[:300] = ABSTAIN
    student = train_student(rows, labels, classes=Classes(("0", "1")), learner=learner, strategy="cleaned")
    assert (student.predict(rows) == truth).mean() > 0.97
    assert student.n_labels == 300


def test_cleaning_takes_text_and_very_few_rows() -> None:
    rows = pa.table(
        {"note": [f"a long note about {'cats' if i % 2 else 'dogs'} and number {i}" for i in range(120)]}
    )
    truth = np.arange(120) % 2
    student = train_student(rows, truth, classes=Classes(("0", "1")), learner="logistic", strategy="cleaned")
    assert (student.predict(rows) == truth).mean() > 0.9
    for n in (2, 3, 5):
        train_student(rows.slice(0, n), truth[:n], classes=Classes(("0", "1")), learner="ridge", strategy="cleaned")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_teaches_images(name: str) -> None:
    rows, truth, others, their = digits()
    narrow = for_teachers(encoder())
    learner = as_learner(name, TEN, draft_schema(rows), narrow)
    shard = np.arange(300)
    teacher = learner.train(rows.take(shard), truth[shard].astype(np.int32), n_classes=10, seed=0)
    assert (teacher(learner.prepare(others)) == their).mean() > 0.7


def test_a_teacher_of_images_is_rehearsed_like_any_other() -> None:
    rows = digits()[0]
    rehearse(as_learner("image", TEN, draft_schema(rows), for_teachers(encoder())), rows, 10, n_jobs=1)


@pytest.mark.skipif(not MNIST.exists(), reason="needs ../shared/data/mnist.parquet")
def test_handwritten_digits_with_half_of_the_labels_wrong() -> None:
    with pyarrow.parquet.ParquetFile(MNIST) as stored:
        table = pa.Table.from_batches([next(stored.iter_batches(2000, columns=["pixels", "label"]))])
    public, others = table.slice(0, 1500), table.slice(1500)
    truth, their = (one.column("label").to_numpy().astype(np.int64) for one in (public, others))
    student = train_student(public.select(["pixels"]), noisy(truth, 0.5), classes=TEN)
    assert (student.predict(others.select(["pixels"])) == their).mean() > 0.94
