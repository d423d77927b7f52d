"""Options are calibrated, honest about what they expect, and in the right order."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, MaplError
from mapl.mechanisms import Task, make
from mapl.planning import Agreement, choose
from mapl.planning.choosing.candidates import exactly
from mapl.planning.choosing.expectation import count_asked, expect, fidelity
from mapl.planning.choosing.options import FLOOR, ROUNDING, options
from mapl.planning.votes.sample import VoteSample
from mapl.types import Budget

VOTES = Path(__file__).parents[3] / "shared" / "data" / "votes"
DISCORD = Agreement.parse("0.9:0.5,0.55:0.5")


def task(epsilon: float = 2.0, teachers: int = 250, classes: int = 2, queries: int = 2000) -> Task:
    return Task(Budget(epsilon, 1e-5), teachers, classes, queries)


def sample(teachers: int = 250, classes: int = 2, spread: float = 3.0) -> VoteSample:
    rng = np.random.default_rng(2)
    chances = rng.dirichlet(np.full(classes, spread / classes / 3), 4000)
    return VoteSample.of(rng.multinomial(teachers, chances))


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_those_that_keep_the_floor_come_first_by_answers(classes: int) -> None:
    facts, votes = task(classes=classes), sample(classes=classes)
    found = options(facts, votes, must_answer=False)
    kept = [fidelity(o.forecast, facts, votes) >= FLOOR - ROUNDING for o in found]
    assert kept[0]
    assert kept == sorted(kept, reverse=True)
    answers = [o.forecast.answered for o, keeps in zip(found, kept, strict=True) if keeps]
    assert answers[0] >= 0.98 * max(answers)
    assert len({o.name for o in found}) == len(found)
    for option in found:
        assert option.name == option.mechanism.name
        assert option.n_queries == count_asked(option.mechanism, facts.n_queries)
        assert option.forecast == expect(option.mechanism, facts, votes)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_every_option_priced_exactly_stays_within_the_budget(classes: int) -> None:
    facts = task(classes=classes, epsilon=1.0)
    for option in options(facts, sample(classes=classes), must_answer=False):
        priced = exactly(option.mechanism, facts)
        assert priced.epsilon(None, 1e-5) <= 1.0
        told, got = option.forecast.answered, expect(priced, facts, sample(classes=classes)).answered
        assert got == pytest.approx(told, rel=0.12, abs=4)


def test_fewer_questions_are_asked_where_that_gives_more_good_labels() -> None:
    facts, votes = task(queries=100_000), sample()
    found = {o.name: o for o in options(facts, votes, must_answer=False)}
    link = found["link"]
    assert link.n_queries < facts.n_queries
    assert fidelity(link.forecast, facts, votes) >= FLOOR
    more = make("link", Task(facts.budget, 250, 2, round(1.1 * link.n_queries)))
    assert fidelity(expect(more, facts, votes), facts, votes) < FLOOR
    choice = choose("auto", facts, agreement=votes, must_answer=False, settings={})
    if count_asked(choice.mechanism, facts.n_queries) < facts.n_queries:
        assert "the rest stay without an answer" in choice.why


def test_a_lower_floor_never_answers_less() -> None:
    facts, votes = task(), sample()
    strict, lax = (options(facts, votes, must_answer=False, floor=f)[0].forecast.answered for f in (0.99, 0.95))
    assert lax >= strict * 0.98


def test_must_answer_asks_every_question_and_sorts_by_winners() -> None:
    for classes in (2, 3, 6):
        found = options(task(classes=classes, queries=300), DISCORD, must_answer=True)
        assert all(o.n_queries == 300 for o in found)
        winners = [o.forecast.winners for o in found]
        assert winners == sorted(winners, reverse=True)
        assert found[0].forecast.abstained == pytest.approx(0, abs=1e-9)


def test_a_search_over_teachers_is_quick_once_tables_are_there() -> None:
    for teachers in (200, 250):
        options(task(teachers=teachers), DISCORD, must_answer=False)
    start = time.process_time()
    options(task(teachers=240), DISCORD, must_answer=False)
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize("queries", [1, 2, 10**12])
def test_extreme_numbers_of_questions_neither_hang_nor_fail(queries: int) -> None:
    found = options(task(queries=queries), DISCORD, must_answer=False)
    assert 0 < found[0].forecast.answered <= queries


def test_what_no_mechanism_can_do_is_refused_with_the_reason() -> None:
    with pytest.raises(MaplError, match="delta is 0"):
        options(Task(Budget(1.0, 0.0), 250, 2, 10), DISCORD, must_answer=False)
    with pytest.raises(CannotCalibrate, match="ask fewer questions or raise the budget"):
        options(task(epsilon=0.1, queries=10**12), DISCORD, must_answer=True)


@pytest.mark.skipif(not VOTES.exists(), reason="real votes are not here: ../shared/data/votes")
@pytest.mark.parametrize("name", ["adult", "mnist"])
def test_one_half_of_real_votes_tells_how_much_of_the_other_is_answered(name: str) -> None:
    counts = np.load(VOTES / f"{name}_250_teachers.npy").astype(np.int64)
    truth = np.load(VOTES / f"{name}_labels.npy").astype(np.int64)
    order = np.random.default_rng(11).permutation(len(counts))
    first, second = np.array_split(order, 2)
    public, other = (VoteSample.of(counts[half], truth=truth[half]) for half in (first, second))
    facts = Task(Budget(2.0, 1e-5), 250, counts.shape[1], len(second))
    for option in options(facts, public, must_answer=False):
        seen = expect(option.mechanism, facts, other)
        assert option.forecast.answered == pytest.approx(seen.answered, rel=0.1)
        assert fidelity(seen, facts, other) >= FLOOR - 0.005
