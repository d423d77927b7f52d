"""Teachers that are trained together: scikit-learn's own votes, and no bit that depends on another shard."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.classes import Classes
from mapl.data.tables.column import Column
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.schema import Schema
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import GuaranteeBroken
from mapl.teachers import FALLBACK, Ballot, as_learner, fit_teachers, poll
from mapl.teachers.engine import _parcel
from mapl.teachers.learners.spelling import natural
from mapl.teachers.panel.keeping import Keeping, as_it_is, as_weights
from mapl.teachers.panel.linear_weights import Weights
from mapl.teachers.together import polling
from mapl.teachers.together.family import Stack
from mapl.teachers.together.logistic import Logistic
from mapl.teachers.together.multinomial_newton import fit_multinomial
from mapl.teachers.together.recognition import syllabus_of, syllabus_to_keep
from mapl.teachers.together.training import TrainedTogether, train_together
from mapl.teachers.workers.dispatch import bench, replies
from mapl.teachers.workers.worker import VOTE

CLASSES = Classes(("b", "c", "a"))
KEY = ShardKey(bytes(range(32)))
N_TEACHERS, WIDTH = 7, 5
QUESTIONS = np.random.default_rng(3).normal(size=(60, WIDTH))

MODELS: dict[str, Any] = {
    "ridge": RidgeClassifier(alpha=0.5),
    "ridge, balanced": RidgeClassifier(alpha=2.0, class_weight="balanced"),
    "ridge, no intercept": RidgeClassifier(fit_intercept=False),
    "ridge, scaled": make_pipeline(StandardScaler(), RidgeClassifier()),
    "ridge, scaled in place": make_pipeline(StandardScaler(with_mean=False), RidgeClassifier()),
    "logistic": LogisticRegression(C=3.0, tol=1e-9, max_iter=5000),
    "logistic, balanced": LogisticRegression(class_weight="balanced", tol=1e-9, max_iter=5000),
    "logistic, no intercept": LogisticRegression(fit_intercept=False, solver="newton-cholesky", tol=1e-9),
    "logistic, scaled": make_pipeline(StandardScaler(), LogisticRegression(C=0.1, tol=1e-9, max_iter=5000)),
    "gaussian": GaussianNB(),
    "bernoulli": BernoulliNB(alpha=0.5),
    "bernoulli, no prior": BernoulliNB(fit_prior=False, binarize=0.3),
    "centroids": NearestCentroid(),
    "centroids, scaled": make_pipeline(StandardScaler(), NearestCentroid()),
}


def sharded_world(seed: int, n: int = 150, width: int = WIDTH, n_classes: int = 3, changed: Any = ()) -> Sharded:
    """Rows of people with ids; `changed` maps the number of a person to another row, None for one who left."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, width)) * generator.uniform(0.5, 2, size=width)
    scores = rows[:, :1] * np.linspace(-1, 1, n_classes) + generator.normal(size=(n, n_classes)) / 2
    labels = scores.argmax(axis=1).astype(np.int32)
    kept = np.ones(n, dtype=np.bool_)
    for place, row in dict(changed).items():
        if row is None:
            kept[place] = False
        else:
            rows[place] = row
    ids = [str(i).encode() for i in np.flatnonzero(kept)]
    return Sharded(PrivateRows(rows[kept]), labels[kept], ids, Shards(KEY, N_TEACHERS))


def trained(model: Any, sharded: Sharded, classes: Classes = CLASSES, held_out: Any = None) -> TrainedTogether:
    syllabus = syllabus_of(as_learner(model, classes), np.zeros((1, sharded.rows.open().shape[1])))
    assert syllabus is not None
    return train_together(syllabus, sharded, held_out, range(sharded.n_teachers))


def bits(one: Any) -> Any:
    return None if one is None else (one.coef.tobytes(), one.intercept.tobytes(), one.codes.tobytes())


def loop_votes(learner: Any, sharded: Sharded, questions: Any, n_classes: int, held_out: Any = None) -> Any:
    """The votes of every teacher, trained one by one by scikit-learn in a worker; None for one that fails."""
    with bench(learner, "vote", n_classes=n_classes, questions=questions) as job:
        came = dict(replies(job, partial(_parcel, sharded, held_out), range(sharded.n_teachers), 1))
    return [None if came[k] is None else np.frombuffer(came[k], VOTE) for k in range(sharded.n_teachers)]


def counted(votes: Any, n_questions: int, n_classes: int) -> Any:
    ballot = Ballot(n_questions, n_classes, len(votes))
    for k, cast in enumerate(votes):
        ballot.cast(k, None if cast is None else cast[:n_questions])
    return ballot.tallies().counts


# The votes are scikit-learn's


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("names", [("yes", "no"), ("10", "9", "2", "1")], ids=",".join)
def test_votes_are_those_of_scikit_learn(name: str, names: tuple[str, ...]) -> None:
    classes = Classes(names)
    for width in (3, 40):  # more columns than rows, too
        sharded = sharded_world(8, width=width, n_classes=len(names))
        questions = np.random.default_rng(4).normal(size=(80, width))
        learner = as_learner(MODELS[name], classes)
        syllabus = syllabus_of(learner, questions)
        assert syllabus is not None
        together = train_together(syllabus, sharded, None, range(N_TEACHERS))
        assert not together.left
        for k in range(N_TEACHERS):
            fitted = learner.train(*sharded.shard(k), n_classes=len(names), seed=k)
            alone = TrainedTogether({k: together.weights[k]})
            votes = polling.count_together(syllabus, alone, questions, len(names)).argmax(axis=1)
            expected = fitted(questions)
            for i in np.flatnonzero(votes != expected):
                assert is_tie(fitted, questions[[i]], (votes[i], expected[i]))


def is_tie(fitted: Any, question: Any, codes: tuple[int, int]) -> bool:
    """Say whether scikit-learn's own scores of two classes are equal but for rounding."""
    known = fitted.estimator.classes_.tolist()
    first, second = (known.index(natural(fitted.classes)[code]) for code in codes)
    scores = fitted.estimator.predict_joint_log_proba(question)[0]
    return bool(abs(scores[first] - scores[second]) < 1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if "ridge" in name or "logistic" in name])
def test_weights_are_those_of_scikit_learn(name: str) -> None:
    for n_classes, width in ((2, 4), (3, 4), (3, 40), (2, 40)):
        sharded, classes = sharded_world(9, width=width, n_classes=n_classes), Classes(("b", "c", "a")[:n_classes])
        learner = as_learner(MODELS[name], classes)
        questions = np.random.default_rng(4).normal(size=(20, width))
        for k, weights in trained(MODELS[name], sharded, classes).weights.items():
            fitted = learner.train(*sharded.shard(k), n_classes=n_classes, seed=k)
            assert weights is not None
            scores = questions @ weights.coef.T + weights.intercept
            expected = fitted.estimator.decision_function(questions)  # type: ignore[attr-defined]
            np.testing.assert_allclose(scores.squeeze(), expected, atol=1e-5)


def test_a_poll_counts_what_workers_count() -> None:
    sharded, learner = sharded_world(5), as_learner("ridge", CLASSES, schema(), Encoder.of(schema()))
    rows = pa.table({f"x{j}": sharded.rows.open()[:, j] for j in range(WIDTH)})
    sharded = Sharded(PrivateRows(rows), sharded.labels, sharded.ids, sharded.shards)
    questions = pa.table({f"x{j}": QUESTIONS[:, j] for j in range(WIDTH)})
    seen: list[int] = []
    ballot = poll(learner, sharded, questions, n_classes=3, n_jobs=1, on_progress=seen.append)
    assert seen == [N_TEACHERS]
    expected = counted(loop_votes(learner, sharded, questions, 3), len(QUESTIONS), 3)
    np.testing.assert_array_equal(ballot.tallies().counts, expected)


def schema() -> Schema:
    columns = tuple(Column(f"x{j}", "number", centre=0.25, spread=1.5) for j in range(WIDTH))
    return Schema(columns, label="label", classes=CLASSES.names)


def test_rows_that_are_held_out_test_their_teacher_as_workers_do() -> None:
    sharded, learner = sharded_world(6), as_learner(RidgeClassifier(), CLASSES)
    held_out = np.arange(len(sharded.ids)) % 3 == 0
    held_out[sharded.members(2)] = True
    ballot = poll(learner, sharded, QUESTIONS, n_classes=3, n_jobs=1, held_out=held_out)
    one_by_one = loop_votes(learner, sharded, QUESTIONS, 3, held_out)
    assert one_by_one[2] is None
    for k in set(range(N_TEACHERS)) - {2}:
        assert ballot.own_errors()[k].tolist() == one_by_one[k][len(QUESTIONS) :].tolist()
    np.testing.assert_array_equal(ballot.tallies().counts, counted(one_by_one, len(QUESTIONS), 3))


# No bit depends on another shard


@pytest.mark.parametrize("name", MODELS)
@given(
    seed=st.integers(0, 2**32 - 1),
    person=st.integers(0, 149),
    change=st.sampled_from(["leaves", "moves", "is extreme", "is no number"]),
    width=st.sampled_from([1, 3, 30]),
    n_classes=st.sampled_from([2, 3]),
)
@settings(max_examples=12, deadline=None)
def test_one_person_changes_the_weights_of_one_teacher(
    name: str, seed: int, person: int, change: str, width: int, n_classes: int
) -> None:
    new = {"leaves": None, "moves": 0.5, "is extreme": 1e300, "is no number": np.nan}[change]
    classes = Classes(("a", "b", "c")[:n_classes])
    before, after = (
        trained(MODELS[name], sharded_world(seed, width=width, n_classes=n_classes, changed=each), classes)
        for each in ((), {person: new})
    )
    home = int(Shards(KEY, N_TEACHERS).of([str(person).encode()])[0])
    for k in set(range(N_TEACHERS)) - {home}:
        assert bits(before.weights.get(k)) == bits(after.weights.get(k))
        assert (k in before.left) == (k in after.left)


@pytest.mark.parametrize("name", MODELS)
def test_a_teacher_that_is_trained_alone_has_the_same_bits(name: str) -> None:
    sharded = sharded_world(1, n=400)
    syllabus = syllabus_of(as_learner(MODELS[name], CLASSES), QUESTIONS)
    assert syllabus is not None
    together = train_together(syllabus, sharded, None, range(N_TEACHERS))
    backwards = train_together(syllabus, sharded, None, range(N_TEACHERS)[::-1])
    for k in range(N_TEACHERS):
        alone = train_together(syllabus, sharded, None, [k])
        assert bits(alone.weights[k]) == bits(together.weights[k]) == bits(backwards.weights[k])


def shards_of_one_size(n: int = 20, size: int = 17, width: int = 9) -> Sharded:
    generator, shards = np.random.default_rng(0), Shards(KEY, n)
    ids: dict[int, list[bytes]] = {k: [] for k in range(n)}
    number = 0
    while min(map(len, ids.values())) < size:
        one = str(number).encode()
        home = int(shards.of([one])[0])
        if len(ids[home]) < size:
            ids[home].append(one)
        number += 1
    rows, labels = generator.normal(size=(n * size, width)), generator.integers(0, 3, size=n * size)
    return Sharded(PrivateRows(rows), labels.astype(np.int32), [one for k in range(n) for one in ids[k]], shards)


@pytest.mark.parametrize("name", MODELS)
def test_shards_of_one_size_share_a_stack_and_nothing_else(name: str) -> None:
    whole = shards_of_one_size()
    syllabus = syllabus_of(as_learner(MODELS[name], CLASSES), np.zeros((1, 9)))
    assert syllabus is not None
    together = train_together(syllabus, whole, None, range(20))
    for k in (0, 7, 19):
        alone = train_together(syllabus, whole, None, [k])
        assert bits(alone.weights[k]) == bits(together.weights[k])


def test_what_is_unusual_in_a_shard_is_its_own_affair() -> None:
    """A shard that no step of refinement confirms, among others of its size, is left to a worker; it alone."""
    whole = shards_of_one_size()
    rows = whole.rows.open().copy()
    rows[whole.members(7)] *= 1e7
    rows[whole.members(7), 1] = rows[whole.members(7), 0] + 1e-6
    found = trained(RidgeClassifier(alpha=1e-12), Sharded(PrivateRows(rows), whole.labels, whole.ids, whole.shards))
    assert found.left == [7]


def test_the_weights_do_move_where_a_person_moves() -> None:
    """The control: teachers react enough for the property above to mean something."""
    for name, model in MODELS.items():
        before, after = (trained(model, sharded_world(2, changed=each)) for each in ((), {4: 3.0}))
        moved = [k for k in range(N_TEACHERS) if bits(before.weights[k]) != bits(after.weights[k])]
        assert moved == [int(Shards(KEY, N_TEACHERS).of([b"4"])[0])], name


# Whatever is wrong with a shard


def spoiled(how: str) -> Sharded:
    world = sharded_world(7)
    rows, labels = world.rows.open().copy(), world.labels.copy()
    bad = world.members(3)
    if how == "one class":
        labels[bad] = 2
    elif how == "empty":
        kept = np.setdiff1d(np.arange(len(labels)), bad)
        return Sharded(PrivateRows(rows[kept]), labels[kept], [world.ids[i] for i in kept], world.shards)
    else:
        rows[bad[0], 1] = {"NaN": np.nan, "infinite": np.inf, "huge": 1e200, "large": 1e30}[how]
        if how == "large":
            rows[bad] = 1e30
    return Sharded(PrivateRows(rows), labels, world.ids, world.shards)


@pytest.mark.parametrize("how", ["one class", "empty", "NaN", "infinite", "huge", "large"])
def test_a_spoiled_shard_votes_as_workers_have_it(how: str) -> None:
    sharded, learner = spoiled(how), as_learner(RidgeClassifier(), CLASSES)
    one_by_one = loop_votes(learner, sharded, QUESTIONS, 3)
    if how not in ("large", "huge"):
        assert [k for k, cast in enumerate(one_by_one) if cast is None] == [3]
    ballot = poll(learner, sharded, QUESTIONS, n_classes=3, n_jobs=1)
    np.testing.assert_array_equal(ballot.tallies().counts, counted(one_by_one, len(QUESTIONS), 3))


@pytest.mark.parametrize("name", MODELS)
def test_one_extreme_person_leaves_all_others_trained(name: str) -> None:
    for how in ("NaN", "infinite", "huge", "large"):
        found = trained(MODELS[name], spoiled(how))
        assert found.left == [3]
        assert sorted(found.weights) == [0, 1, 2, 4, 5, 6]
    for how in ("one class", "empty"):
        assert trained(MODELS[name], spoiled(how)).weights[3] is None


def test_a_teacher_with_nothing_to_learn_casts_the_fixed_vote() -> None:
    learner = as_learner(RidgeClassifier(), CLASSES)
    syllabus = syllabus_of(learner, QUESTIONS)
    assert syllabus is not None
    sure = Weights(np.zeros((3, QUESTIONS.shape[1])), np.array([0.0, 0.0, 1.0]), np.arange(3))  # of the last class
    counts = polling.count_together(syllabus, TrainedTogether({0: None, 1: None, 2: sure}), QUESTIONS, 3)
    assert counts[:, FALLBACK].tolist() == [2] * len(QUESTIONS)
    assert counts[:, 2].tolist() == [1] * len(QUESTIONS)
    assert counts.sum() == 3 * len(QUESTIONS)


def test_a_constant_shard_is_left_to_scikit_learn() -> None:
    world = sharded_world(7)
    rows = world.rows.open().copy()
    rows[world.members(3)] = 1.0
    same = Sharded(PrivateRows(rows), world.labels, world.ids, world.shards)
    assert trained(NearestCentroid(), same).left == [3]
    assert trained(GaussianNB(), same).left == [3]


# Which learners are meant


class OwnRidge(RidgeClassifier):  # type: ignore[misc]
    """A class of a user's own, which may do anything."""


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        OwnRidge(),
        RidgeClassifier(solver="sag"),
        RidgeClassifier(positive=True),
        RidgeClassifier(alpha=0.0),
        RidgeClassifier(alpha=np.ones(3)),
        RidgeClassifier(class_weight={"a": 2.0}),
        LogisticRegression(solver="liblinear"),
        LogisticRegression(C=np.inf),
        LogisticRegression(max_iter=5),
        LogisticRegression(l1_ratio=0.5, solver="saga"),
        GaussianNB(priors=[0.2, 0.3, 0.5]),
        BernoulliNB(binarize=None),
        BernoulliNB(class_prior=[0.2, 0.3, 0.5]),
        NearestCentroid(metric="manhattan"),
        NearestCentroid(shrink_threshold=0.1),
        make_pipeline(MinMaxScaler(), RidgeClassifier()),
        make_pipeline(StandardScaler(), BernoulliNB()),
        make_pipeline(StandardScaler(), StandardScaler(), RidgeClassifier()),
    ],
    ids=repr,
)
def test_what_is_not_known_in_every_setting_is_trained_one_by_one(model: Any) -> None:
    assert syllabus_of(as_learner(model, CLASSES), QUESTIONS) is None


def test_questions_that_cannot_be_computed_with_leave_it_to_scikit_learn() -> None:
    learner = as_learner(RidgeClassifier(), CLASSES)
    for odd in (np.full((2, 3), np.nan), np.full((2, 3), 1e200), np.array([["a", "b"]])):
        assert syllabus_of(learner, odd) is None
    assert syllabus_of(learner, pa.table({"a": [1.0]})) is None


# Batches


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "TEACHERS_AT_ONCE", 3)


@pytest.mark.usefixtures("small_batches")
def test_a_poll_in_batches_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    sharded, learner, path = spoiled("NaN"), as_learner(RidgeClassifier(), CLASSES), tmp_path / "ballot.npz"

    def stop(done: int) -> None:
        if done == 3:
            raise RuntimeError("the power fails")

    with pytest.raises(RuntimeError, match="the power fails"):
        poll(learner, sharded, QUESTIONS, n_classes=3, n_jobs=1, checkpoint=path, on_progress=stop)
    resumed = Ballot.load(path)
    assert resumed.missing() == [3, 4, 5, 6]
    seen: list[int] = []
    poll(learner, sharded, QUESTIONS, n_classes=3, ballot=resumed, n_jobs=1, on_progress=seen.append)
    assert seen == [6, 7]  # where progress is told hangs on no shard, though one of them is left to a worker
    whole = poll(learner, sharded, QUESTIONS, n_classes=3, n_jobs=1)
    np.testing.assert_array_equal(resumed.tallies().counts, whole.tallies().counts)


def test_kept_weights_are_those_of_teachers_that_are_polled() -> None:
    sharded, learner = spoiled("NaN"), as_learner(RidgeClassifier(), CLASSES)
    seen: list[int] = []
    kept = fit_teachers(
        Keeping(learner, as_weights),  # type: ignore[arg-type]
        sharded,
        n_classes=3,
        n_jobs=1,
        on_progress=seen.append,
    )
    expected = trained(RidgeClassifier(), sharded)
    assert expected.left == [3]
    assert kept.models[3] is None  # scikit-learn refuses it, in a worker
    for k, weights in expected.weights.items():
        assert bits(pickle.loads(kept.models[k] or b"")) == bits(weights)
    assert seen == [N_TEACHERS]


def test_only_weights_are_kept_together() -> None:
    learner = as_learner(RidgeClassifier(), CLASSES)
    assert syllabus_to_keep(Keeping(learner, as_weights)) is not None  # type: ignore[arg-type]
    assert syllabus_to_keep(Keeping(learner, as_it_is)) is None  # type: ignore[arg-type]
    assert syllabus_to_keep(learner) is None


def test_no_foreign_row_is_handed_out() -> None:
    world = sharded_world(1)
    ids = list(world.ids)
    sharded = Sharded(world.rows, world.labels, ids, world.shards)
    rows, labels = sharded.shards_of([2, 5])
    members = np.concatenate([sharded.members(2), sharded.members(5)])
    np.testing.assert_array_equal(rows, world.rows.open()[members])
    np.testing.assert_array_equal(labels, world.labels[members])
    ids[int(sharded.members(5)[0])] = ids[int(sharded.members(0)[0])]
    with pytest.raises(GuaranteeBroken):
        sharded.shards_of([2, 5])


def test_a_teacher_is_counted_once() -> None:
    ballot = Ballot(4, 2, 3)
    ballot.cast_counted([0, 2], np.full((4, 2), 1, dtype=np.int32))
    for again in ([2], [1, 1]):
        with pytest.raises(GuaranteeBroken, match="voted twice"):
            ballot.cast_counted(again, np.full((4, 2), 1, dtype=np.int32))
    for odd in (np.zeros((4, 2), np.int32), np.full((3, 2), 1, np.int32), np.array([[2, -1]] * 4, np.int32)):
        with pytest.raises(GuaranteeBroken, match="exactly once"):
            ballot.cast_counted([1], odd)
    ballot.cast(1, None)
    assert ballot.tallies().counts.tolist() == [[2, 1]] * 4


@pytest.mark.parametrize("cell", [1e5, 9e7])
def test_a_stack_that_nobody_is_left_in_ends_and_stops_nobody(cell: float) -> None:
    """One person's large cell emptied a stack of three classes, whose next step raised for all teachers."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(300, 5)), rng.integers(0, 3, 300).astype(np.int32)
    rows[1, 1] = cell
    for n_shards in (1, 10):
        for stack in np.array_split(np.arange(300), n_shards):
            targets = np.eye(3)[labels[stack]][None]
            shard = np.column_stack([rows[stack], np.ones(len(stack))])[None]
            found, settled = fit_multinomial(shard, targets, np.ones((1, len(stack))), np.array([1.0] * 5 + [0.0]))
            assert found.shape == (1, 6, 3)
            assert settled.shape == (1,)


# Who is done waits in the stack


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("width", [6, 70])
def test_a_shard_that_waits_for_harder_ones_keeps_its_bits(n_classes: int, width: int) -> None:
    generator = np.random.default_rng(11)
    rows = generator.normal(size=(9, 40, width)) * np.geomspace(0.01, 30, 9)[:, None, None]  # easy to hard
    places = np.stack([generator.permutation(np.arange(40) % n_classes) for _ in range(9)])
    solved = Logistic(1.0).solve(Stack(rows, places, n_classes))
    assert solved.settled.all()
    for k in range(9):
        alone = Logistic(1.0).solve(Stack(rows[[k]], places[[k]], n_classes))
        assert alone.coef[0].tobytes() == solved.coef[k].tobytes()
        assert alone.intercept[0].tobytes() == solved.intercept[k].tobytes()
