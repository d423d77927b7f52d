"""The book of answers: every new question is recorded before it is told, old ones are free, and the limit holds."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidParameter, LedgerError
from mapl.noise import ONE, SeededCoins, SystemCoins
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.subset import FixedSize
from mapl.prediction.prices.offers import Wanted, best_offer
from mapl.prediction.spending.many_answers import STAGE, AnswerBook, Answering, plan_of
from mapl.prediction.spending.statement import state_answers
from mapl.release import Ledger, Limits, MemoryLedger
from mapl.release.ledger.chain import check_export
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import Budget

X = np.arange(300.0)[:, None]
Y = (X[:, 0] >= 100).astype(int)


def book_of(ledger: Ledger, *, n_questions: int = 5, epsilon: float = 2.0, seed: int | None = 3) -> AnswerBook:
    wanted = Wanted(Budget(epsilon, 0.0), n_questions, Thresholds(), "replace-one", len(X))
    offer = best_offer(wanted, "padded-stumps")
    answering = Answering.of(offer, wanted)
    plan = plan_of(answering, wanted, ("no", "yes"))
    ledger.open(plan.digest, Limits.of_plan(plan))
    coins = SystemCoins() if seed is None else SeededCoins(seed)
    return AnswerBook(offer.fit(X, Y, coins), answering, ledger, coins)


def questions(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_the_same_question_is_free_and_has_the_same_answer() -> None:
    book = book_of(MemoryLedger(), epsilon=0.5)  # answers are nearly coins, so that repeating would show
    first = book.ask(questions(90, 110, 90, 100)).tolist()
    assert first[0] == first[2]
    assert book.state.answered == 3
    for _ in range(5):
        assert book.ask(questions(90, 110, 90, 100)).tolist() == first
    assert book.state.answered == 3
    book.ask(questions(0.0, -0.0))
    assert book.state.answered == 4
    book.ask(questions(np.nan, -np.nan))
    assert book.state.answered == 5


def test_beyond_the_limit_nothing_is_spent_or_told() -> None:
    book = book_of(MemoryLedger())
    known = book.ask(questions(10, 20, 200)).tolist()
    with pytest.raises(BudgetExhausted, match="3 new questions and 2 of 5 answers left; nothing was spent"):
        book.ask(questions(10, 30, 40, 50))
    assert book.state.answered == 3
    book.ask(questions(30, 40))
    with pytest.raises(BudgetExhausted):
        book.ask(questions(50))
    assert book.ask(questions(10, 20, 200)).tolist() == known


def test_without_its_ledger_it_says_nothing(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    book = book_of(ledger)
    known = book.ask(questions(10, 250)).tolist()
    ledger.close()
    with pytest.raises(LedgerError):
        book.ask(questions(30))
    assert known == [0, 1]


class FullDisk(MemoryLedger):
    """Records nothing while it is full."""

    full = False

    def append(self, *entry: Any, **beside: Any) -> None:
        if self.full:
            raise LedgerError("The disk is full; nothing was recorded.")
        super().append(*entry, **beside)


def test_an_answer_that_was_not_recorded_is_not_known_either() -> None:
    """Otherwise whoever asks again is told for free what was never charged."""
    ledger = FullDisk()
    book = book_of(ledger)
    book.ask(questions(10))
    ledger.full = True
    with pytest.raises(LedgerError):
        book.ask(questions(30))
    ledger.full = False
    book.ask(questions(30))
    assert book.state.answered == 2


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "sys.path.insert(0, os.environ['HERE'])\n"
        "from test_spending import book_of, questions\n"
        "from mapl.release.ledger.sqlite import SqliteLedger\n"
        "book = book_of(SqliteLedger('ledger.sqlite'), seed=None)\n"
        "print(book.ask(questions(10, 90, 110)).tolist(), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    environment = {"HERE": str(Path(__file__).parent), "PATH": "", "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == -9, ended.stderr
    told = json.loads(ended.stdout)
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        book = book_of(ledger, seed=None)
        assert book.state.answered == 3
        book.recall(questions(10, 90, 110, 200))
        assert book.ask(questions(10, 90, 110)).tolist() == told
        book.ask(questions(10, 90, 110, 200))
        assert book.state.answered == 4
        ledger.verify()
        assert check_export(ledger.export()) == ledger.head
        with pytest.raises(InvalidParameter, match="more answers than there are questions"):
            book.recall(questions(10))


def test_a_predictor_that_is_dearer_than_the_plan_is_refused() -> None:
    wanted = Wanted(Budget(1.0, 0.0), 5, Thresholds(), "replace-one", len(X))
    offer = best_offer(wanted, "padded-stumps")
    answering = Answering.of(offer, wanted)
    plan = plan_of(answering, wanted, ("no", "yes"))
    dearer = best_offer(Wanted(Budget(1.0, 0.0), 4, Thresholds(), "replace-one", len(X)), "padded-stumps")
    only_stable = StablePredictor.fit(X, Y, Cover(Thresholds()), subset=FixedSize(1, len(X)), rate=0.01)
    flipped = StablePredictor.fit(X, Y, Cover(Thresholds()), subset=FixedSize(1, len(X)), rate=0.001, flip=ONE // 3)
    coins = SeededCoins(0)
    for predictor in (dearer.fit(X, Y, coins), only_stable):
        ledger = MemoryLedger()
        ledger.open(plan.digest, Limits.of_plan(plan))
        with pytest.raises(GuaranteeBroken, match="cost more than the plan says"):
            AnswerBook(predictor, answering, ledger, coins)
    assert flipped.epsilon is not None
    assert flipped.epsilon < answering.epsilon_each


def test_the_statement_counts_what_was_told() -> None:
    ledger = MemoryLedger()
    wanted = Wanted(Budget(2.0, 0.0), 4, Thresholds(), "replace-one", len(X))
    offer = best_offer(wanted, "padded-stumps")
    answering = Answering.of(offer, wanted)
    plan = plan_of(answering, wanted, ("no", "yes"))
    ledger.open(plan.digest, Limits.of_plan(plan))
    coins = SystemCoins()
    book = AnswerBook(offer.fit(X, Y, coins), answering, ledger, coins)
    spent = []
    for i in range(4):
        book.ask(questions(i))
        said = state_answers(answering, plan, book.state, coins, adjacency="replace-one", ledger_head=ledger.head)
        spent.append(said.epsilon)
    assert spent == pytest.approx([0.5, 1.0, 1.5, 2.0])
    assert said.guaranteed_epsilon <= 2.0
    assert (said.answered, said.delta, said.private) == (4, 0.0, True)
    assert said.unit.startswith("one record")
    assert "replaced" in said.adjacency
    assert "the rules themselves stay hidden" in said.in_plain_words
    assert json.loads(said.to_json())["parameters"]["n_queries"] == 4
    assert ledger.progress(STAGE).state.answered == 4


def test_a_book_is_never_copied_and_tells_nothing_of_itself() -> None:
    book = book_of(MemoryLedger())
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(GuaranteeBroken, match="never copied"):
            copied(book)
    assert repr(book) == "AnswerBook(padded-stumps, private)"
