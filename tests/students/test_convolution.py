"""The convolutional student: trained with torch, stored as arrays, used without torch, within limits."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.students import Student, check_storable, load, save, train_student
from mapl.students.file.student_file import dumps, loads
from mapl.students.images import convolution as module
from mapl.students.images import network_training as training
from mapl.students.images.convolution import ConvolutionStudent
from mapl.students.images.network import LAYERS, scores, shapes, work
from mapl.students.images.network_training import BATCH, Course, Motion, as_arrays, make_network, move_images
from mapl.teachers import as_learner

torch = pytest.importorskip("torch", reason="needs torch: pip install torch==2.13.0")

TEN = Classes(tuple("0123456789"))
Images = NDArray[np.float64]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the rounds is enough for what is tested here."""
    monkeypatch.setattr(training, "MOST_ROUNDS", 12)


@cache
def digits() -> tuple[Images, NDArray[np.int64], Images, NDArray[np.int64]]:
    """Images of 8 x 8 pixels and their classes, to learn from and others."""
    pixels, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(pixels))
    seen, unseen = order[:600], order[600:1200]
    return pixels[seen], truth[seen], pixels[unseen], truth[unseen]


@cache
def of_digits() -> ConvolutionStudent:
    pixels, truth, _, _ = digits()
    return ConvolutionStudent(random_state=0).fit(pixels, truth)


def table(pixels: Images) -> pa.Table:
    return pa.table({"image": pa.FixedSizeListArray.from_arrays(pa.array(pixels.ravel()), pixels.shape[1])})


@cache
def published() -> Student:
    pixels, truth, _, _ = digits()
    return train_student(table(pixels[:200]), truth[:200], classes=TEN, learner="cnn")


def test_it_learns_digits() -> None:
    _, _, others, their = digits()
    model = of_digits()
    assert (model.predict(others) == their).mean() > 0.95
    shares = model.predict_proba(others)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(others))


@pytest.mark.parametrize(("side", "channels"), [(3, 1), (7, 3), (28, 1), (31, 3), (32, 1)])
def test_arrays_answer_as_torch_does(side: int, channels: int) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = make_network(side, channels, (4, 5, 6), 3)
        images = torch.rand(20, channels, side, side)
        for _ in range(3):
            network(images)  # so that there is something to normalise by
        for part in network:
            if isinstance(part, torch.nn.BatchNorm2d):
                torch.nn.init.normal_(part.weight)
                torch.nn.init.normal_(part.bias)
        with torch.no_grad():
            expected = network.eval()(images).numpy()
    arrays = as_arrays(network)
    assert [array.shape for array in arrays] == shapes(side, channels, (4, 5, 6), 3)
    found = scores(np.ascontiguousarray(images.numpy().transpose(0, 2, 3, 1)), arrays)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, others, _ = digits()
    expected = of_digits().predict_proba(others)
    monkeypatch.setattr("mapl.students.images.network.FLOATS_AT_ONCE", 1 << 14)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(of_digits().predict_proba(others), expected, atol=1e-5)


def test_the_seed_decides_and_torch_is_left_as_it_was() -> None:
    pixels, truth, _, _ = digits()
    before, n_threads = torch.random.get_rng_state(), torch.get_num_threads()
    first, again, other = (
        ConvolutionStudent(widths=(4, 4, 4), random_state=seed).fit(pixels[:80], truth[:80]) for seed in (1, 1, 2)
    )
    assert all(np.array_equal(one, two) for one, two in zip(first.arrays_, again.arrays_, strict=True))
    assert not np.array_equal(first.arrays_[0], other.arrays_[0])
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == n_threads


def test_rows_of_any_kind_are_the_same_images() -> None:
    _, _, others, _ = digits()
    some = others[:20]
    expected = of_digits().predict_proba(some)
    for rows in (table(some), pd.DataFrame({"image": list(some)}), some.reshape(-1, 8, 8), some.tolist()):
        np.testing.assert_array_equal(of_digits().predict_proba(rows), expected)


def test_weights_count_and_classes_keep_their_names() -> None:
    pixels, truth, others, their = digits()
    names = np.array(["even", "odd"])
    doubtful = np.arange(600) % 2 == 0
    labels = names[np.where(doubtful, 1 - truth % 2, truth % 2)]
    model = ConvolutionStudent(random_state=0).fit(pixels, labels, sample_weight=np.where(doubtful, 0.0, 3.0))
    assert (model.predict(others) == names[their % 2]).mean() > 0.85


def test_colours_tell_what_grey_does_not() -> None:
    draws = np.random.default_rng(0)
    truth = draws.integers(3, size=300)
    images = draws.uniform(0, 100, size=(300, 6, 6, 3))
    images[np.arange(300), 2:4, 2:4, truth] += 120
    model = ConvolutionStudent(widths=(4, 4, 4), random_state=0).fit(images[:200], truth[:200])
    assert model.channels_ == 3
    assert (model.predict(images[200:]) == truth[200:]).mean() > 0.9


def test_large_images_are_shrunk_and_single_ones_learned() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(2, 70, 70)).astype(np.uint8)
    model = ConvolutionStudent(widths=(2, 2, 2), random_state=0).fit(images, ["a", "b"])
    assert model.arrays_[-2].shape == shapes(24, 1, (2, 2, 2), 2)[-2]
    assert model.predict_proba(images).shape == (2, 2)
    one = ConvolutionStudent(widths=(2, 2, 2), random_state=0).fit(images[:1], ["a"])
    assert one.predict(images).tolist() == ["a", "a"]


def test_images_move_a_little_and_are_never_mirrored() -> None:
    image = torch.zeros(200, 1, 28, 28)
    image[:, :, 8:20, 8] = 1  # an L
    image[:, :, 19, 8:16] = 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        still = move_images(image, Motion(0, 0, 0, 0), plain=True)
        moved = move_images(image, Motion(), plain=True)
        mirrored = move_images(1 - image, Motion(), plain=False)
    torch.testing.assert_close(still, image, atol=1e-4, rtol=0)
    places = torch.arange(28.0)
    middles = [(one.sum(dim=2) * places).sum(dim=2) / one.sum(dim=(2, 3)) for one in (image, moved)]
    gaps = (middles[1] - middles[0]).abs()
    assert 0.3 < gaps.mean() < gaps.max() < 4
    stroke, mirror = moved[..., :11].sum(dim=(1, 2, 3)), moved[..., 15:].sum(dim=(1, 2, 3))
    assert (stroke > mirror).all()
    assert mirrored.min(dim=0).values[0, 0, 0] > 0.99  # what comes in from outside is not black here


@pytest.mark.parametrize("n", [10, 5000, 1_000_000])
@pytest.mark.parametrize("side", [8, 28])
def test_work_is_limited_whatever_the_number_of_images(n: int, side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "MOST_ROUNDS", 40)
    images = np.broadcast_to(np.float32(0), (n, side, side, 1))
    course = Course(images, np.zeros(n, np.int64), np.ones(n, np.float32), 2, (16, 32, 64), plain=True, seed=0)
    shown = course.n_batches * BATCH
    assert shown * work(side, 1, (16, 32, 64)) <= training.MOST_WORK
    assert shown <= min(40 * n, training.MOST_SHOWN)
    assert (n, side) != (5000, 28) or 14 <= shown / n <= 16


def test_of_very_many_images_some_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    courses: list[Course] = []

    def noted(course: Course) -> Any:
        courses.append(course)
        return []

    pixels, truth, _, _ = digits()
    monkeypatch.setattr(training, "MOST_WORK", 64 * work(8, 1, module.WIDTHS))
    monkeypatch.setattr(module, "train_network", noted)
    ConvolutionStudent(random_state=0).fit(pixels, truth, sample_weight=np.arange(600) % 2)
    (course,) = courses
    assert course.images.shape == (64, 8, 8, 1)
    assert course.n_batches == 2


def test_what_it_cannot_use() -> None:
    pixels, truth, _, _ = digits()
    some = pixels[:20]
    for rows, words in (
        (some[:, :60], "60 numbers each; expected squares"),
        (some[:, :4], "4 numbers each; expected squares of at least 3 x 3"),
        (pa.table({"a": [1.0] * 20, "b": [2.0] * 20}), "2 columns; a convolutional network sees one column"),
        (pa.table({"a": [1.0] * 20}), "'a' is of kind 'number'; a convolutional network needs the kind 'image'"),
    ):
        with pytest.raises(InvalidData, match=words):
            ConvolutionStudent().fit(rows, truth[:20])
    with pytest.raises(InvalidData, match="have 36 numbers each; the student was trained on 64"):
        of_digits().predict(some[:, :36])
    with pytest.raises(InvalidParameter, match="All weights are zero"):
        ConvolutionStudent().fit(some, truth[:20], sample_weight=np.zeros(20))
    for widths in ((16, 32), (16, 32, 0), (16, 32, 1000), (1.5, 2, 3)):
        with pytest.raises(InvalidParameter, match="give 3 whole numbers from 1 to 512"):
            ConvolutionStudent(widths=widths).fit(some, truth[:20])  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        clone(of_digits()).predict(some)


@pytest.mark.parametrize("strategy", ["auto", "cleaned"])
def test_a_student_by_name(strategy: str) -> None:
    pixels, truth, others, their = digits()
    draws = np.random.default_rng(1)
    labels = np.where(draws.random(600) < 0.3, draws.integers(10, size=600), truth)
    labels[500:] = -1
    student = train_student(table(pixels), labels, classes=TEN, learner="cnn", strategy=strategy)
    assert (student.learner, student.n_labels) == ("cnn", 500)
    assert isinstance(student.model, ConvolutionStudent)
    assert (student.predict(table(others)) == their).mean() > 0.9


def test_it_comes_back_bit_for_bit_and_needs_no_torch(tmp_path: Path) -> None:
    student, rows = published(), table(digits()[2])
    save(student, tmp_path / "student.skops")
    again = load(tmp_path / "student.skops")
    np.testing.assert_array_equal(again.predict_proba(rows), student.predict_proba(rows))
    np.testing.assert_array_equal(again.predict(digits()[2]), student.predict(rows))
    np.save(tmp_path / "images.npy", digits()[2])
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import numpy as np; from pathlib import Path; from mapl.students import load\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "found = load(folder / 'student.skops').predict_proba(np.load(folder / 'images.npy'))\n"
        "np.save(folder / 'found.npy', found)\n"
        "print('torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "False"
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), student.predict_proba(rows), atol=1e-12)


def test_torch_is_imported_by_nothing_but_training() -> None:
    parts = "mapl.students.images.convolution, mapl.students.file.student_file"
    code = f"import sys, {parts}; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "False"


def test_without_torch_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, truth, _, _ = digits()
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    for attempt in (
        lambda: ConvolutionStudent().fit(pixels, truth),
        lambda: check_storable("cnn", table(pixels), TEN),
        lambda: train_student(table(pixels), truth, classes=TEN, learner="cnn"),
    ):
        with pytest.raises(InvalidParameter, match=r"not installed; .*pip install torch==2\.13\.0"):
            attempt()


def test_it_is_for_students_on_images_only() -> None:
    pixels, truth, _, _ = digits()
    with pytest.raises(InvalidParameter, match=r"There is no learner 'cnn'.*it is for students only"):
        as_learner("cnn", TEN, draft_schema(table(pixels)))
    beside = table(pixels).append_column("age", pa.array(np.arange(600.0)))
    with pytest.raises(
        InvalidParameter, match="one column of images and nothing else; the schema declares image, n"
    ):
        train_student(beside, truth, classes=TEN, learner="cnn")


def changed(**attributes: Any) -> bytes:
    """Return the file of a network in which some attributes are others; arrays are given by their place."""
    student = loads(dumps(published()))
    for name, value in attributes.items():
        if name[-1].isdecimal():
            student.model.arrays_[int(name.removeprefix("array"))] = value
        else:
            setattr(student.model, name, value)
    return dumps(student)


def test_networks_that_do_not_add_up_are_refused() -> None:
    model: Any = published().model
    lens, arrays = model.lens_, model.arrays_
    assert len(arrays) == 2 * len(LAYERS) + 2
    million = 10**6
    changes: list[dict[str, Any]] = [
        {"arrays_": []},
        {"arrays_": tuple(arrays)},
        {"arrays_": [*arrays[:-1], "words"]},
        {"array0": np.zeros((5, 5, 1, million), np.float32), "array1": np.zeros(million, np.float32)},
        {"array0": np.zeros((5, 5, 0, 16), np.float32)},
        {"array1": np.zeros((4, 4), np.float32)},
        {"array2": np.zeros((301, 301, 16, 1), np.float32), "array3": np.zeros(1, np.float32)},
        {"array5": arrays[5].astype(np.float64)},
        {"array5": np.full_like(arrays[5], np.nan)},
        {"array6": np.zeros((million, 0), np.float32)},
        {"array7": np.zeros(9, np.float32)},
        {"classes_": model.classes_[:-1]},
        {"classes_": model.classes_.reshape(-1, 1)},
        {"channels_": 3},
        {"channels_": 10**9, "n_pixels_": 10**9 * 64},
        {"n_pixels_": 65},
        {"lens_": lens | {"side": 10**9}, "n_pixels_": 10**18},
        {"lens_": lens | {"side": 8.0}},
        {"lens_": lens | {"darkest": float("nan")}},
        {"lens_": lens | {"more": 1.0}},
        {"lens_": None},
    ]
    for change in changes:
        with pytest.raises(InvalidData, match="holds a network that does not add up"):
            loads(changed(**change))
    assert loads(changed()).model.n_pixels_ == 64
