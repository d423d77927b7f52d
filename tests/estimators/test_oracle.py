"""The oracle: every new question is counted once, old ones are free, and nothing is answered past the budget."""

from __future__ import annotations

import copy
import pickle
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowd import crowd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from mapl import PrivateOracle, SqliteLedger
from mapl.errors import (
    BudgetExhausted,
    GuaranteeBroken,
    InvalidData,
    InvalidParameter,
    LedgerError,
    PlanMismatch,
)
from mapl.release.ledger.memory import MemoryLedger

SEVERAL_FITS = pytest.mark.filterwarnings("ignore:This is fit")
"""What several fits add up to is told elsewhere (`test_earlier_fits`)."""

SEED = 7


def agreeing(**settings: Any) -> PrivateOracle:
    """An oracle whose teachers all know the answer."""
    people = crowd()
    given = {"epsilon": 20.0, "delta": 1e-3, "classes": ("no", "yes"), "n_teachers": 40, "n_queries": 100}
    given |= {"mechanism": "ladder", "settings": {"max_abstentions": 2}, "n_jobs": 1}
    return PrivateOracle(**given | settings).fit(people.X, people.y, public=people.public)


def undecided(n_queries: int, max_abstentions: int, *, epsilon: float = 20.0, ledger: Any = None) -> PrivateOracle:
    """An oracle whose teachers disagree in the same way about every question, so that a coin decides."""

    def most_common(X: Any, y: Any) -> Callable[[Any], Any]:
        winner = Counter(y.tolist()).most_common(1)[0][0]
        return lambda questions: np.full(len(questions), winner)

    people = crowd()
    oracle = PrivateOracle(
        most_common,
        epsilon=epsilon,
        delta=1e-3,
        classes=("no", "yes"),
        n_teachers=20,
        mechanism="ladder",
        settings={"max_abstentions": max_abstentions},
        n_queries=n_queries,
        n_jobs=1,
        ledger=ledger,
        seed=SEED,
    )
    y = np.where(np.random.default_rng(SEED).random(len(people.y)) < 0.64, "yes", "no")
    return oracle.fit(people.X, y, public=people.public)


def questions(n: int, start: int = 0) -> Any:
    return np.column_stack([np.arange(start, start + n), np.ones(n)]).astype(np.float64)


def test_answers_are_right_in_the_order_asked() -> None:
    people, oracle = crowd(), agreeing()
    answers = oracle.answer(people.public)
    assert answers.dtype == object
    assert (answers == people.truth).mean() > 0.95
    backwards = oracle.answer(people.public[::-1])
    assert backwards.tolist() == answers[::-1].tolist()


def test_a_question_asked_again_is_free_and_has_the_same_answer() -> None:
    oracle = undecided(100, 50)
    first = oracle.answer(questions(20)).tolist()
    assert {None, "yes"} == set(first)
    before = oracle.statement_
    for _ in range(3):
        assert oracle.answer(questions(20)).tolist() == first
    assert [one for q in questions(20) for one in oracle.answer([q])] == first
    assert oracle.statement_ == before


def test_a_question_that_stands_twice_in_a_batch_counts_once() -> None:
    oracle = undecided(100, 50)
    twice = np.repeat(questions(10), 2, axis=0)
    answers = oracle.answer(twice)
    assert answers[::2].tolist() == answers[1::2].tolist()
    assert oracle.statement_.answered + oracle.statement_.abstained == 10


@pytest.mark.statistical
def test_batches_and_single_questions_follow_the_same_exact_law() -> None:
    n = 150
    batch, single = undecided(n, n), undecided(n, n)
    in_one = batch.answer(questions(n))
    one_by_one = np.array([single.answer([q])[0] for q in questions(n)])
    tallies = batch._waiting.teachers.votes(questions(1))
    chance = batch._waiting.mechanism.chances(tallies, batch._waiting.ledger.progress("labels").state)[0, 1]
    assert 0.2 < chance < 0.8
    # Five standard deviations: a false alarm in less than one of a million fresh seeds.
    allowed = 5 * np.sqrt(chance * (1 - chance) / n)
    for answers in (in_one, one_by_one):
        assert set(answers.tolist()) == {None, "yes"}
        assert abs((answers == "yes").mean() - chance) < allowed


def test_a_run_that_ends_inside_a_batch_keeps_what_was_answered() -> None:
    oracle = undecided(100, 4, epsilon=5.0)
    answers = oracle.answer(questions(60)).tolist()
    told = oracle.statement_
    last = [i for i, answer in enumerate(answers) if answer is None][3]
    assert told.abstained == 4
    assert told.answered == last + 1 - 4 == sum(answer is not None for answer in answers)
    assert answers[last + 1 :] == [None] * (59 - last)
    assert told.halted
    assert told.not_asked == 59 - last
    with pytest.raises(BudgetExhausted, match="4 abstentions were published"):
        oracle.answer(questions(1, start=59))
    with pytest.raises(BudgetExhausted):
        oracle.answer(questions(1, start=1000))
    assert oracle.answer(questions(last + 1)).tolist() == answers[: last + 1]
    assert oracle.statement_.not_asked == 59 - last + 1


def test_no_more_questions_are_answered_than_were_planned() -> None:
    oracle, people = agreeing(n_queries=5), crowd()
    answers = oracle.answer(people.public[:8])
    assert [answer is None for answer in answers] == [False] * 5 + [True] * 3
    assert (oracle.statement_.queries, oracle.statement_.not_asked) == (8, 3)
    with pytest.raises(BudgetExhausted, match="new ones need a new fit"):
        oracle.answer(people.public[8:9])
    with pytest.raises(BudgetExhausted):
        oracle.answer(people.public[:9])
    assert oracle.answer(people.public[:5]).tolist() == answers[:5].tolist()


def test_the_statement_follows_every_answer() -> None:
    ledger = MemoryLedger()
    oracle = undecided(100, 50, ledger=ledger)
    untouched = oracle.statement_
    assert (untouched.queries, untouched.answered, untouched.abstained, untouched.halted) == (0, 0, 0, False)
    spent = [untouched.epsilon]
    seen: list[Any] = []
    for i, size in enumerate((1, 5, 1, 13)):
        seen += oracle.answer(questions(size, start=100 * i)).tolist()
        told = oracle.statement_
        assert told.queries == len(seen) == told.answered + told.abstained
        assert told.abstained == seen.count(None) == told.usage["abstained"]
        assert (told.planned_queries, told.halted, told.not_asked) == (100, False, 0)
        assert told.ledger_head == ledger.head
        assert told.plan_digest == oracle.plan_.digest
        spent.append(told.epsilon)
    assert spent == sorted(spent)
    assert spent[0] < spent[-1] <= told.guaranteed_epsilon <= 20.0
    assert not told.private
    assert "NOT PRIVATE" in told.noise  # it is seeded


def test_without_a_seed_the_statement_promises_what_was_asked_for() -> None:
    told = agreeing(delta=1e-6).statement_
    assert told.private
    assert told.guaranteed_epsilon <= 20.0
    assert told.delta <= 1e-6
    assert told.unit == "one record, that is one row of the private table"


def test_nobody_spends_by_surprise() -> None:
    oracle = agreeing()
    for name in ("predict", "predict_proba", "score", "decision_function", "transform"):
        assert not hasattr(oracle, name)
    assert oracle.statement_.queries == 0


def test_an_oracle_asks_to_be_fitted_first() -> None:
    with pytest.raises(NotFittedError):
        PrivateOracle().answer([[1.0]])
    with pytest.raises(NotFittedError):
        _ = PrivateOracle().statement_


def test_a_fitted_oracle_is_private_and_cannot_be_copied() -> None:
    oracle = agreeing()
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GuaranteeBroken, match="never copied or pickled: it holds models"):
            copied(oracle)
    assert set(re.findall(r"(\w+)=", repr(oracle))) <= set(oracle.get_params())
    assert repr(oracle._waiting.teachers) == "Teachers(40 teachers, private)"
    unfitted = clone(oracle)
    assert not hasattr(unfitted, "classes_")
    assert pickle.loads(pickle.dumps(unfitted)).epsilon == 20.0


def test_a_ledger_serves_one_fit(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    oracle, people = agreeing(ledger=ledger), crowd()
    oracle.answer(people.public[:3])
    ledger.verify()
    assert ledger.progress("labels").state.answered == 3
    with pytest.raises(PlanMismatch, match="belongs to an earlier run"):
        agreeing(ledger=ledger)
    with pytest.raises(GuaranteeBroken, match="A ledger is never copied"):
        clone(oracle)
    assert ledger.progress("labels").state.answered == 3


def test_without_its_ledger_it_says_nothing(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    oracle, people = agreeing(ledger=ledger), crowd()
    known = oracle.answer(people.public[:2])
    ledger.close()
    with pytest.raises(LedgerError, match="nothing was released"):
        oracle.answer(people.public[2:4])
    assert len(oracle._said) == 2
    assert oracle.answer(people.public[:2]).tolist() == known.tolist()


def test_a_question_that_models_fail_on_is_refused_before_anything_is_spent() -> None:
    people, oracle = crowd(), agreeing(learner=LogisticRegression())
    with_a_gap = people.public[:4].copy()
    with_a_gap[2, 1] = np.nan
    with pytest.raises(InvalidData, match="LogisticRegression cannot answer these questions"):
        oracle.answer(with_a_gap)
    assert oracle.statement_.queries == 0
    assert oracle.answer(with_a_gap[:2]).tolist() == people.truth[:2].tolist()


@SEVERAL_FITS
def test_questions_come_in_the_form_of_the_fit() -> None:
    people = crowd()
    frame, public = (pd.DataFrame(rows, columns=["a", "b"]) for rows in (people.X, people.public))
    oracle = PrivateOracle(**agreeing().get_params()).fit(frame, people.y.copy(), public=public)
    assert oracle.feature_names_in_.tolist() == ["a", "b"]
    assert oracle.answer(public[:3]).tolist() == people.truth[:3].tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        oracle.answer(public[["b", "a"]])
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(InvalidData, match="numpy ndarray"):
        oracle.answer(people.public)
    with pytest.raises(ValueError, match="expecting 2 features"):
        agreeing().answer([[1.0, 2.0, 3.0]])
    assert oracle.statement_.queries == 3


def test_settings_that_an_oracle_cannot_keep_are_refused() -> None:
    people = crowd()
    with pytest.raises(InvalidParameter, match="An oracle protects whole rows"):
        PrivateOracle(adjacency="labels", classes=("no", "yes")).fit(people.X, people.y)
    with pytest.raises(InvalidParameter, match="Public rows are needed"):
        PrivateOracle(classes=("no", "yes")).fit(people.X, people.y)
    with pytest.raises(InvalidParameter, match="Replace-one"):
        agreeing(adjacency="replace-one")


def test_groups_are_the_unit() -> None:
    people = crowd()
    oracle = PrivateOracle(epsilon=5.0, classes=("no", "yes"), adjacency="replace-one", n_jobs=1, n_queries=10)
    oracle.fit(people.X, people.y, public=people.public, groups=np.arange(len(people.y)) // 2)
    assert oracle.plan_.unit == "group"
    assert oracle.plan_.n_teachers == 29  # by the public rule, for 300 groups
    assert oracle.statement_.unit.startswith("one group")
