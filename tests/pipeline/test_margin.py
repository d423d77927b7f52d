"""Measuring margins on public rows of worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.rehearsal.margin import MarginWish, measure
from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise, ThresholdWorld


def table(world: HalfspaceWorld | ThresholdWorld, n: int, seed: int = 1) -> pa.Table:
    X, y = world.sample(n, np.random.default_rng(seed))
    return pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])} | {"label": pa.array(y)})


def closure(X, y):  # type: ignore[no-untyped-def]
    """Say 1 from the lowest positive row on; a learner whose votes are known in closed form."""
    lowest = float(np.asarray(X)[np.asarray(y) == 1, 0].min())
    return lambda asked: (np.asarray(asked)[:, 0] >= lowest).astype(int)


def first_seen(X, y):  # type: ignore[no-untyped-def]
    """Say always what the first row was."""
    said = np.asarray(y)[0]
    return lambda asked: np.full(len(asked), said)


def test_the_measured_curve_is_the_true_one() -> None:
    measured = measure(
        table(ThresholdWorld(), 7000), MarginWish((10, 40), 120), label="label", learner=closure, n_jobs=1
    )
    assert (measured.n_teachers, measured.n_taught_from, measured.n_questions) == (120, 4900, 2100)
    assert [one.apart for one in measured.sizes] == [True, True]
    for one in measured.sizes:
        for margin in (0.2, 0.3, 0.4):
            exact = (0.5 + margin) ** (1 / one.size) - (0.5 - margin) ** (1 / one.size)
            assert one.curve.nu(margin) == pytest.approx(exact, abs=0.035)
        # One teacher errs on its gap, 1 / (n + 1) at most; the vote errs up to the median gap.
        assert one.teacher_error == pytest.approx((1 - 0.5 ** (one.size + 1)) / (one.size + 1), rel=0.15)
        assert one.vote_error < one.teacher_error
    # Labels are sure, and a model of r(x) notices.
    assert measured.sizes[1].curve.nu(0.4) < measured.sizes[0].curve.nu(0.4)


def test_the_tsybakov_parameter_of_a_world_is_found() -> None:
    measured = measure(
        table(HalfspaceWorld(noise=LabelNoise(0.5)), 9000),
        MarginWish((30,), 8),
        label="label",
        learner="ridge",
        n_jobs=1,
    )
    assert measured.tsybakov is not None
    assert measured.without_tau == ""
    assert measured.tsybakov.tau == pytest.approx(0.5, abs=0.1)
    assert measured.resolution is not None
    assert 0 < measured.resolution < 0.05


def test_few_rows_are_shared_and_tau_may_stay_unknown() -> None:
    world = ThresholdWorld(noise=LabelNoise.massart(0.45))
    measured = measure(table(world, 300), MarginWish((50,), 20), label="label", learner="logistic", n_jobs=1)
    assert not measured.sizes[0].apart
    assert measured.tsybakov is None
    assert "tau" in measured.without_tau


def test_three_classes_have_margins_and_no_tau() -> None:
    """Teachers that say the first label of their part: shares of votes are those of labels, 0.6, 0.3 and 0.1."""
    rng = np.random.default_rng(3)
    drawn = rng.choice(["c", "a", "b"], size=4000, p=[0.6, 0.3, 0.1])
    rows = pa.table({"x": rng.random(4000), "label": drawn})
    measured = measure(rows, MarginWish((10,), 200), label="label", learner=first_seen, n_jobs=1)
    assert measured.classes == ("a", "b", "c")
    assert (measured.tsybakov, measured.regression_by, measured.resolution) == (None, None, None)
    assert "two classes" in measured.without_tau
    (one,) = measured.sizes
    assert (one.curve.n_classes, one.apart) == (3, True)
    # All teachers answer all questions alike, so there is one margin, known but for the luck of 200 teachers.
    assert np.ptp(one.curve.margins) == 0
    assert one.curve.margins[0] == pytest.approx(0.15, abs=3 / (2 * np.sqrt(200)))
    assert one.vote_error == pytest.approx(0.4, abs=0.05)
    assert one.teacher_error == pytest.approx(1 - 0.36 - 0.09 - 0.01, abs=0.05)


def test_the_same_seed_gives_the_same_figures() -> None:
    rows = table(ThresholdWorld(noise=LabelNoise(0.5)), 600)
    first, again, other = (
        measure(rows, MarginWish((20,), 6), label="label", learner="ridge", seed=seed, n_jobs=1)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first.sizes[0].curve.margins, again.sizes[0].curve.margins)
    assert not np.array_equal(first.sizes[0].curve.margins, other.sizes[0].curve.margins)


def test_what_cannot_be_measured_is_refused() -> None:
    rows = table(ThresholdWorld(), 600)
    with pytest.raises(InvalidData, match="sizes of at most 105"):
        measure(rows, MarginWish((106,), 4), label="label", learner="ridge")
    with pytest.raises(InvalidData, match="no column 'income'"):
        measure(rows, MarginWish((10,), 4), label="income", learner="ridge")
    with pytest.raises(InvalidData, match="1 different values"):
        measure(
            rows.filter(pa.compute.equal(rows["label"], 1)), MarginWish((10,), 4), label="label", learner="ridge"
        )
    many = rows.set_column(1, "label", pa.array(np.arange(600) % 101))
    with pytest.raises(InvalidData, match="has 101 classes; margins are measured for 2 to 100"):
        measure(many, MarginWish((10,), 4), label="label", learner="ridge")
    for sizes, n_teachers in (("10", 3), ("10", 10**12), ("", 10), ("a", 10), ("1", 10), ("0,50", 10), ("-5", 10)):
        with pytest.raises(InvalidParameter, match=r"sizes|teachers"):
            MarginWish.parse(sizes, n_teachers)


def test_declared_classes_come_first_and_may_be_absent() -> None:
    """A class that no public row has gets no vote, so leads are as before; what it names is in its order."""
    rows = table(ThresholdWorld(), 600)
    said = rows.set_column(1, "label", pa.array(np.where(rows["label"].to_numpy() == 1, "yes", "no")))
    wish = MarginWish((20,), 6)
    drawn = measure(said, wish, label="label", learner="ridge", n_jobs=1)
    more = Classes(("yes", "no", "unknown"))
    declared = measure(said, wish, label="label", learner="ridge", classes=more, n_jobs=1)
    assert (drawn.classes, declared.classes) == (("no", "yes"), ("yes", "no", "unknown"))
    assert declared.sizes[0].curve.n_classes == 3
    assert declared.without_tau != ""
    with pytest.raises(InvalidData, match="yes"):
        measure(said, wish, label="label", learner="ridge", classes=Classes(("no", "maybe")), n_jobs=1)
