"""Small networks that are trained together: scikit-learn's own bits, whoever else is in the stack."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.teachers import Ballot, as_learner, poll
from mapl.teachers.engine import _parcel
from mapl.teachers.panel.keeping import Keeping, as_weights
from mapl.teachers.together.networks import Network, Networks
from mapl.teachers.together.polling import worth_it
from mapl.teachers.together.recognition import syllabus_of, syllabus_to_keep
from mapl.teachers.together.training import TrainedTogether, train_together
from mapl.teachers.workers.dispatch import bench, replies
from mapl.teachers.workers.worker import VOTE

N_TEACHERS, WIDTH = 6, 5
QUESTIONS = np.random.default_rng(3).normal(size=(70, WIDTH))

MODELS: dict[str, Any] = {
    "plain": MLPClassifier((8,), max_iter=30),
    "two layers, one seed": MLPClassifier((7, 4), max_iter=30, random_state=5),
    "ends early": MLPClassifier((6,), max_iter=300, tol=0.01, n_iter_no_change=3, learning_rate_init=0.02),
    "batches": MLPClassifier(5, max_iter=12, batch_size=16, alpha=0.1),
    "in order": MLPClassifier((5,), max_iter=12, batch_size=9, shuffle=False),
    "scaled": make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=30)),
}


def world(n_classes: int, width: Any = np.float64, changed: int | None = None) -> Sharded:
    generator = np.random.default_rng(12)
    rows = generator.normal(size=(260, WIDTH))
    labels = (rows[:, :n_classes] * 2 + generator.normal(size=(260, n_classes))).argmax(axis=1).astype(np.int32)
    if changed is not None:
        rows[changed] += 1.5
    ids = [str(i).encode() for i in range(260)]
    return Sharded(PrivateRows(rows.astype(width)), labels, ids, Shards(ShardKey(bytes(32)), N_TEACHERS))


def trained(model: Any, sharded: Sharded, teachers: Any = range(N_TEACHERS), n_classes: int = 3) -> TrainedTogether:
    syllabus = syllabus_of(as_learner(model, Classes(("b", "c", "a")[:n_classes])), QUESTIONS)
    assert syllabus is not None
    return train_together(syllabus, sharded, None, teachers)


def bits(one: Any) -> list[bytes]:
    return [part.tobytes() for part in (*one.coefs, *one.intercepts)]


@pytest.mark.parametrize("width", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_weights_and_votes_are_those_of_scikit_learn(name: str, n_classes: int, width: Any) -> None:
    sharded = world(n_classes, width)
    learner = as_learner(MODELS[name], Classes(("b", "c", "a")[:n_classes]))
    questions = QUESTIONS.astype(width)
    found = trained(MODELS[name], sharded, n_classes=n_classes)
    assert not found.left
    ends = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k, own in found.weights.items():
            fitted: Any = learner.train(*sharded.shard(k), n_classes=n_classes, seed=k)
            model = fitted.estimator[-1] if name == "scaled" else fitted.estimator
            ends.add(model.n_iter_)
            assert isinstance(own, Network)
            assert bits(own) == [part.tobytes() for part in (*model.coefs_, *model.intercepts_)]
            np.testing.assert_array_equal(own.votes(questions), fitted(questions))
    assert (len(ends) > 1) == (name == "ends early")


def same_size(n: int, size: int) -> Sharded:
    """Shards of one size, which share a stack."""
    shards, ids = Shards(ShardKey(bytes(32)), n), [[] for _ in range(n)]  # type: tuple[Shards, list[list[bytes]]]
    number = 0
    while min(map(len, ids)) < size:
        one = str(number).encode()
        home = int(shards.of([one])[0])
        ids[home] += [one] if len(ids[home]) < size else []
        number += 1
    generator = np.random.default_rng(0)
    rows, labels = generator.normal(size=(n * size, WIDTH)), generator.integers(0, 2, n * size).astype(np.int32)
    return Sharded(PrivateRows(rows), labels, [one for own in ids for one in own], shards)


@pytest.mark.parametrize("name", MODELS)
def test_no_bit_depends_on_who_else_is_in_the_stack(name: str) -> None:
    whole = same_size(9, 21)
    together = trained(MODELS[name], whole, range(9), 2)
    for k in (0, 4, 8):
        assert bits(trained(MODELS[name], whole, [k], 2).weights[k]) == bits(together.weights[k])


def test_one_person_changes_one_network() -> None:
    before, after = (trained(MODELS["plain"], world(3, changed=each)) for each in (None, 7))
    moved = [k for k in range(N_TEACHERS) if bits(before.weights[k]) != bits(after.weights[k])]
    assert moved == [int(Shards(ShardKey(bytes(32)), N_TEACHERS).of([b"7"])[0])]


def test_a_poll_counts_what_workers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    sharded, learner = world(3), as_learner(MODELS["plain"], Classes(("b", "c", "a")))
    held_out = np.arange(len(sharded.ids)) % 4 == 0
    with bench(learner, "vote", n_classes=3, questions=QUESTIONS) as job:
        came = dict(replies(job, partial(_parcel, sharded, held_out), range(N_TEACHERS), 1))
    expected = Ballot(len(QUESTIONS), 3, N_TEACHERS)
    monkeypatch.setattr("mapl.teachers.engine.replies", lambda *_, **__: iter(()))  # no worker is needed
    ballot = poll(learner, sharded, QUESTIONS, n_classes=3, n_jobs=1, held_out=held_out)
    for k, reply in came.items():
        votes = np.frombuffer(reply or b"", VOTE)
        expected.cast(k, votes[: len(QUESTIONS)])
        assert ballot.own_errors()[k].tolist() == votes[len(QUESTIONS) :].tolist()
    np.testing.assert_array_equal(ballot.tallies().counts, expected.tallies().counts)


def test_a_network_that_leaves_all_bounds_is_left_to_a_worker() -> None:
    found = trained(MLPClassifier((3,), max_iter=5, learning_rate_init=1e308), world(3))
    assert found.left == list(range(N_TEACHERS))


def test_many_processes_train_networks_faster_than_stacks_do() -> None:
    syllabus = syllabus_of(as_learner(MODELS["plain"], Classes(("b", "c"))), QUESTIONS)
    assert syllabus is not None
    assert isinstance(syllabus.family, Networks)
    large = replace(syllabus, family=replace(syllabus.family, hidden=(100,)))
    assert worth_it(syllabus, 20, 4)
    assert not worth_it(syllabus, 20, 5)
    assert worth_it(large, 50, 2)
    assert not worth_it(large, 50, 3)
    assert not worth_it(large, 784, 1)
    assert not worth_it(syllabus, 20, None), "a cluster trains them"


def test_networks_are_kept_by_whoever_stores_models() -> None:
    learner: Any = as_learner(MODELS["plain"], Classes(("b", "c")))
    assert syllabus_to_keep(Keeping(learner, as_weights)) is None


class OwnNetwork(MLPClassifier):  # type: ignore[misc]
    """A class of a user's own, which may do anything."""


@pytest.mark.parametrize(
    "model",
    [
        OwnNetwork(),
        MLPClassifier(solver="lbfgs"),
        MLPClassifier(activation="tanh"),
        MLPClassifier(early_stopping=True),
        MLPClassifier(warm_start=True),
        MLPClassifier(random_state=np.random.RandomState(0)),
        MLPClassifier(()),
    ],
    ids=lambda model: str(model).split(" at 0x")[0],
)
def test_what_is_not_known_in_every_setting_is_trained_one_by_one(model: Any) -> None:
    assert syllabus_of(as_learner(model, Classes(("b", "c"))), QUESTIONS) is None
