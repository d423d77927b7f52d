"""The sparse vector and its three faces: printed constants, exact privacy, halting, batch against online."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.btt18 import BTT18
from mapl.mechanisms.papers.lzcw21_sparse import LZCW21Sparse
from mapl.mechanisms.papers.sparse_vector import SparseVector, first_at_most, tail
from mapl.mechanisms.papers.stable_once import StableOnce
from mapl.mechanisms.stable_queries import StableQueries
from mapl.mechanisms.tables.noise_law import masses
from mapl.mechanisms.votes.ladder import Ladder
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.types import ABSTAIN, Budget, Secret, StableAnswers, State, Tallies

Floats = NDArray[np.float64]
FACES = (BTT18, LZCW21Sparse, StableQueries)
SURE, HOPELESS = 10**6, 0


def task(epsilon: float = 1.0, delta: float = 1e-6, n_queries: int = 1000) -> Task:
    return Task(Budget(epsilon, delta), n_teachers=250, n_classes=10, n_queries=n_queries)


def at(*distances: int) -> StableAnswers:
    return StableAnswers(np.ones(len(distances), dtype=np.int32), np.array(distances, dtype=np.int64))


def tallies_at(distances: range) -> Tallies:
    """Binary tallies whose first class wins by exactly these distances."""
    return Tallies(np.array([[2 * d, 0] for d in distances]))


def answer_stable_queries(
    mechanism: SparseVector | Ladder | StableOnce,
    data: Any,
    queries: Iterable[Callable[[Any], tuple[Any, int]]],
    coins: Coins,
) -> Iterator[Any]:
    """Ask one query at a time and yield its value, None for an abstention, until the halt."""
    state, pending = mechanism.start(coins), iter(queries)
    while not state.halted and (query := next(pending, None)) is not None:
        value, distance = query(data)
        outcome = mechanism.release(state, at(distance), coins)
        state = outcome.state
        yield None if outcome.labels[0] == ABSTAIN else value


class TestPrintedConstants:
    def test_btt18(self) -> None:
        found = BTT18.for_task(task(), max_abstentions=10)
        assert found.parameters["lambda"] == pytest.approx(68.14, abs=0.005)
        assert found.parameters["k"] == pytest.approx(79_981, rel=1e-3)
        assert found.parameters["w"] == math.ceil(2 * found.scale * math.log(2000 / 1e-6))
        assert found.parameters["epochs"] == 11
        assert found.parameters["max_abstentions"] == 10

    def test_btt18_asks_for_more_teachers_when_it_may_fail_less(self) -> None:
        usual = BTT18.for_task(task(), max_abstentions=10)
        surer = BTT18.for_task(task(), max_abstentions=10, beta=1e-9)
        assert surer.printed_teachers > usual.printed_teachers
        assert surer.threshold == usual.threshold
        with pytest.raises(InvalidParameter, match="beta is 2"):
            BTT18.for_task(task(), max_abstentions=10, beta=2.0)

    def test_lzcw21_solves_its_equation(self) -> None:
        found = LZCW21Sparse.for_task(task(), max_abstentions=10)
        rho = 2 * 10 / found.scale**2
        assert rho + 2 * math.sqrt(rho * math.log(2e6)) == pytest.approx(1.0)
        assert found.threshold == math.ceil(3 * found.scale * math.log(2 * 1010 / 1e-6))
        assert found.parameters["epochs"] == 10

    def test_stable_queries_need_no_number_of_questions(self) -> None:
        few, many = (StableQueries.for_task(task(n_queries=n), max_abstentions=10) for n in (10, 10**6))
        assert few == many
        assert few.threshold == math.ceil(2 * few.scale * math.log(40 / 3e-6))
        assert few.failure.delta <= 0.5e-6


class TestClosedForm:
    @pytest.mark.parametrize("scale", [0.3, 1.0, 2.7, 6.0])
    def test_tail_equals_the_convolution(self, scale: float) -> None:
        reach = int(80 * scale) + 5
        k = np.arange(-reach, reach + 1)
        wide, narrow = np.exp(-np.abs(k) / (2 * scale)), np.exp(-np.abs(k) / scale)
        law = np.convolve(wide / wide.sum(), narrow / narrow.sum())
        for cut in range(-30, 31):
            assert tail(cut, scale) == pytest.approx(law[2 * reach + cut + 1 :].sum(), rel=1e-9, abs=1e-13)

    def test_discrete_noise_passes_less_often_than_the_continuous_noise_of_the_papers(self) -> None:
        for scale, w in itertools.product((0.5, 3.0, 68.0), (0, 5, 300)):
            printed = (4 * math.exp(-w / (2 * scale)) - math.exp(-w / scale)) / 6
            assert tail(w, scale) <= printed

    def test_chances_average_to_the_closed_form(self) -> None:
        found = SparseVector(scale=2.5, threshold=9, epochs=1, max_questions=10, order=2.0)
        block = tallies_at(range(25))
        averaged = pass_chances(found, block).T @ masses(found.threshold_noise)
        fresh = found.chances(block, State())[:, 0]
        assert averaged == pytest.approx([found.chance_at(d) for d in range(25)], rel=1e-12)
        assert fresh == pytest.approx(averaged, rel=1e-12)

    @pytest.mark.parametrize("face", FACES)
    def test_required_distance_is_the_smallest(self, face: type[BTT18 | LZCW21Sparse | StableQueries]) -> None:
        found = face.for_task(task(2.0, 1e-5), max_abstentions=10)
        for probability in (1e-9, 0.5, 0.99, 0.999999):
            distance = found.required_distance(probability)
            assert distance is not None
            assert found.chance_at(distance) >= probability
            assert distance == 0 or found.chance_at(distance - 1) < probability


class TestPrice:
    @pytest.mark.parametrize("face", FACES)
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
    @pytest.mark.parametrize(("delta", "limit"), [(1e-6, 1), (1e-5, 10), (1e-9, 100), (1e-3, 1000)])
    def test_the_papers_claims_hold(
        self, face: type[BTT18 | LZCW21Sparse | StableQueries], epsilon: float, delta: float, limit: int
    ) -> None:
        found = face.for_task(task(epsilon, delta), max_abstentions=limit)
        assert 0 < found.total.epsilon(delta) <= epsilon
        assert found.total.delta <= delta

    def test_a_small_budget_is_read_at_a_large_order(self) -> None:
        for face in FACES:
            assert face.for_task(task(0.01), max_abstentions=1).total.epsilon(1e-6) <= 0.01

    def test_noise_without_a_table_is_refused_at_once(self) -> None:
        with pytest.raises(CannotCalibrate, match="tables reach"):
            LZCW21Sparse.for_task(task(0.01, 1e-6), max_abstentions=1000)

    def test_settings_that_the_constants_do_not_cover_are_refused(self) -> None:
        with pytest.raises(CannotCalibrate, match="above the budget of 40"):
            BTT18.for_task(task(40.0, 0.1, n_queries=2000), max_abstentions=1000)
        with pytest.raises(CannotCalibrate, match="protects nobody"):
            BTT18.for_task(task(1e4), max_abstentions=1)

    def test_delta_zero_is_refused(self) -> None:
        with pytest.raises(InvalidParameter, match="delta is 0"):
            BTT18.for_task(task(delta=0.0), max_abstentions=1)

    def test_spent_counts_the_open_epoch_and_ends_at_the_total(self) -> None:
        found = BTT18.for_task(task(), max_abstentions=3)
        spent = [found.epsilon(State(answered=5, abstained=t), 1e-6) for t in range(5)]
        assert spent[0] == pytest.approx(found.per_epoch.at(math.inf))
        assert spent == sorted(spent)
        assert spent[3] == spent[4] == found.epsilon(None, 1e-6)


def pass_chances(mechanism: SparseVector, block: Tallies) -> Floats:
    """Pass probability by threshold (rows, all values that it can take) and question (columns)."""
    width = mechanism.threshold_noise.half_width
    rows = [
        mechanism.chances(block, State(secret=Secret(mechanism.threshold + z)))[:, 0]
        for z in range(-width, width + 1)
    ]
    return np.array(rows)


def one_epoch(passing: Floats, weights: Floats, distances: tuple[int, ...]) -> Floats:
    """Law of the first abstention's place among the questions (the last entry: none abstains)."""
    chances = passing[:, distances]
    survives = np.cumprod(chances, axis=1)
    before = np.column_stack([np.ones(len(chances)), survives[:, :-1]])
    return np.append(weights @ (before * (1 - chances)), weights @ survives[:, -1])


def worst_ratio(passing: Floats, weights: Floats, moves: tuple[int, ...], most: int, questions: int) -> float:
    """Largest log-ratio of one epoch over all distances below `most` and all neighbouring distances."""
    laws = {d: one_epoch(passing, weights, d) for d in itertools.product(range(most), repeat=questions)}
    worst = 0.0
    for d, law in laws.items():
        for move in itertools.product(moves, repeat=questions):
            other = laws.get(tuple(x + y for x, y in zip(d, move, strict=True)))
            if other is not None:
                worst = max(worst, float(np.log(law / other).max()))
    return worst


SMALL = SparseVector(scale=2.0, threshold=4, epochs=2, max_questions=4, order=2.0)
MOST = 9


@pytest.fixture(scope="module")
def passing() -> Floats:
    return pass_chances(SMALL, tallies_at(range(MOST + 1)))


@pytest.fixture(scope="module")
def weights() -> Floats:
    return masses(SMALL.threshold_noise)


class TestExactPrivacy:
    def test_an_epoch_keeps_two_over_lambda(self, passing: Floats, weights: Floats) -> None:
        worst = worst_ratio(passing, weights, (-1, 0, 1), MOST, 3)
        assert 0.7 * 2 / SMALL.scale < worst <= 2 / SMALL.scale + 1e-9

    def test_a_distance_of_gap_minus_one_breaks_it(self, passing: Floats, weights: Floats) -> None:
        assert worst_ratio(passing, weights, (-2, 0, 2), MOST, 3) > 1.2 * 2 / SMALL.scale

    def test_a_threshold_without_noise_breaks_it(self, passing: Floats) -> None:
        bare = np.array([1.0])
        middle = passing[[SMALL.threshold_noise.half_width]]
        up, down = (6,) * 9 + (2,), (5,) * 9 + (3,)
        ratio = np.log(one_epoch(middle, bare, down) / one_epoch(middle, bare, up))
        assert np.abs(ratio).max() > 2 / SMALL.scale

    def test_whole_runs_stay_below_the_claim(self, passing: Floats, weights: Floats) -> None:
        """Two epochs, bad questions included: the exact hockey-stick divergence against `total`."""
        laws = cache(partial(self.transcripts, passing, weights))  # adversaries meet at few distances
        for delta in (SMALL.total.delta + 0.001, SMALL.total.delta + 0.1):
            epsilon = SMALL.total.epsilon(delta)
            assert math.isfinite(epsilon)
            for d, move, bad in adversaries():
                there = tuple(0 if b else x + y for x, y, b in zip(d, move, bad, strict=True))
                here = tuple(0 if b else x for x, b in zip(d, bad, strict=True))
                p, q = laws(here), laws(there)
                exact = 0.0
                for bits, chance in p.items():
                    leaks = any(b and bit for b, bit in zip(bad, bits, strict=False))
                    exact += chance if leaks else max(0.0, chance - math.exp(epsilon) * q[bits])
                assert exact <= delta

    def transcripts(
        self, passing: Floats, weights: Floats, distances: tuple[int, ...]
    ) -> dict[tuple[bool, ...], float]:
        """Law of the published bits of a run that halts at the second abstention."""
        law: dict[tuple[bool, ...], float] = {}
        n = len(distances)
        for place, chance in enumerate(one_epoch(passing, weights, distances)):
            first = (True,) * min(place, n) + (False,) * (place < n)
            if len(first) == n:
                law[first] = float(chance)
                continue
            rest = distances[place + 1 :]
            for second_place, second in enumerate(one_epoch(passing, weights, rest)):
                bits = first + (True,) * min(second_place, len(rest)) + (False,) * (second_place < len(rest))
                law[bits] = float(chance * second)
        return law

    def test_the_chance_of_a_bad_pass_is_in_delta(self, passing: Floats, weights: Floats) -> None:
        assert weights @ passing[:, 0] == pytest.approx(tail(SMALL.threshold, SMALL.scale), rel=1e-12)
        assert SMALL.failure.delta >= 2 * float(weights @ passing[:, 0])


def adversaries() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]]]:
    for d in itertools.product((1, 3, 5, 7), repeat=4):
        for move in itertools.product((-1, 1), repeat=4):
            yield d, move, (False,) * 4
    for d in itertools.product((1, 5), repeat=4):
        for bad in itertools.product((False, True), repeat=4):
            yield d, (1, -1, 1, -1), bad


class TestRelease:
    @pytest.mark.parametrize(("face", "halts_at"), [(BTT18, 6), (LZCW21Sparse, 5), (StableQueries, 5)])
    def test_halts_right_after_the_last_abstention(
        self, face: type[BTT18 | LZCW21Sparse | StableQueries], halts_at: int
    ) -> None:
        found = face.for_task(task(), max_abstentions=5)
        outcome = found.release(found.start(SystemCoins()), at(*[SURE, HOPELESS] * 20), SystemCoins())
        assert outcome.labels.tolist() == [1, ABSTAIN] * halts_at
        assert outcome.state == State(answered=halts_at, abstained=halts_at, halted=True)
        assert found.max_abstentions == halts_at
        again = found.release(outcome.state, at(SURE), SystemCoins())
        assert len(again.labels) == 0
        assert again.state == outcome.state

    def test_halts_after_the_papers_number_of_questions(self) -> None:
        found = LZCW21Sparse.for_task(task(n_queries=7), max_abstentions=5)
        outcome = found.release(found.start(SystemCoins()), at(*[SURE] * 20), SystemCoins())
        assert len(outcome.labels) == 7
        assert outcome.state == State(answered=7, halted=True)

    def test_batch_and_online_count_the_same(self) -> None:
        found = BTT18.for_task(task(), max_abstentions=10)
        questions = ([SURE] * 300 + [HOPELESS] * 2) * 3 + [SURE] * 50
        batch = found.release(found.start(SeededCoins(1)), at(*questions), SeededCoins(2))
        state, labels, coins = found.start(SeededCoins(3)), [], SeededCoins(4)
        for question in questions:
            outcome = found.release(state, at(question), coins)
            state = outcome.state
            labels += outcome.labels.tolist()
        assert labels == batch.labels.tolist()
        assert (state.answered, state.abstained, state.halted) == (950, 6, False)
        assert (batch.state.answered, batch.state.abstained, batch.state.halted) == (950, 6, False)

    def test_the_threshold_lives_exactly_until_an_abstention(self) -> None:
        found = LZCW21Sparse.for_task(task(), max_abstentions=10)
        coins = SeededCoins(5)
        start = found.start(coins)
        passed = found.release(start, at(SURE, SURE), coins).state
        refreshed = found.release(passed, at(HOPELESS), coins).state
        assert passed.secret == start.secret
        assert refreshed.secret is not None
        assert refreshed.secret != start.secret

    def test_an_empty_block_changes_nothing(self) -> None:
        found = LZCW21Sparse.for_task(task(), max_abstentions=1)
        start = found.start(SystemCoins())
        assert found.release(start, at(), SystemCoins()).state == start

    def test_the_secret_is_never_shown(self) -> None:
        found = LZCW21Sparse.for_task(task(), max_abstentions=10)
        state = found.start(SystemCoins())
        assert state.secret is not None
        assert str(state.secret.value) not in repr(state)
        with pytest.raises(GuaranteeBroken, match="holds no threshold"):
            found.release(State(), at(SURE), SystemCoins())

    def test_first_at_most_looks_through_windows_of_any_size(self) -> None:
        noisy = np.full(10_000, 9)
        noisy[[5000, 9999]] = 3
        assert [first_at_most(noisy, 3, start) for start in (0, 5000, 5001, 10_000)] == [5000, 5000, 9999, 10_000]
        assert first_at_most(noisy, 2, 0) == 10_000

    @pytest.mark.statistical
    def test_frequencies_match_the_chances(self) -> None:
        """2,000 first questions at each of eight distances, twice; false alarm 6e-7 (5.5 deviations, 16 tests)."""
        found = SparseVector(scale=2.0, threshold=6, epochs=1, max_questions=1, order=2.0)
        coins, n = SeededCoins(6), 2000
        fixed = State(secret=Secret(5))
        for d in range(0, 16, 2):
            block = tallies_at(range(d, d + 1))
            for state, chance in (
                (fixed, found.chances(block, fixed)[0, 0]),
                (None, found.chances(block, State())[0, 0]),
            ):
                passed = sum(
                    found.release(found.start(coins) if state is None else state, block, coins).state.answered
                    for _ in range(n)
                )
                deviation = math.sqrt(n * chance * (1 - chance))
                assert abs(passed - n * chance) <= 5.5 * deviation + 1


Rows = list[float]


def rounded_median(rows: Rows) -> tuple[int, int]:
    """Cell of the lower median on a grid of width 10, and how many rows may change without moving it."""
    s, middle = sorted(rows), (len(rows) + 1) // 2 - 1
    cell = int(s[middle] // 10)
    j = 0
    while middle - j - 1 >= 0 and middle + j + 1 < len(s):
        if not s[middle - j - 1] // 10 == s[middle + j + 1] // 10 == cell:
            break
        j += 1
    return cell, j


def more_than(bar: float) -> Callable[[Rows], tuple[str, int]]:
    """Say whether most rows exceed the bar; the distance is in rows that may change."""

    def query(rows: Rows) -> tuple[str, int]:
        over = sum(x > bar for x in rows)
        under = len(rows) - over
        return ("yes", (over - under - 1) // 2) if over > under else ("no", (under - over) // 2)

    return query


class TestGenericRelease:
    rows: ClassVar[Rows] = [float(x) for x in (41, 42, 43, 44, 45, 46, 47, 48, 49) for _ in range(900)]

    @pytest.mark.parametrize("query", [rounded_median, more_than(2.5)])
    def test_the_example_queries_are_stable(self, query: Callable[[Rows], tuple[object, int]]) -> None:
        """The contract, by brute force: every data set of four rows, every changed row."""
        domain = (0.0, 5.0, 11.0)
        for rows in itertools.product(domain, repeat=4):
            value, distance = query(list(rows))
            for i, x in itertools.product(range(4), domain):
                other_value, other_distance = query([*rows[:i], x, *rows[i + 1 :]])
                assert abs(distance - other_distance) <= 1
                assert value == other_value or distance == other_distance == 0

    @pytest.mark.parametrize(
        "mechanism",
        [
            StableQueries.for_task(task(), max_abstentions=2),
            LZCW21Sparse.for_task(task(), max_abstentions=2),
            Ladder.for_task(task(), max_abstentions=2),
        ],
        ids=lambda m: m.name,
    )
    def test_values_of_any_type_come_out_until_the_halt(self, mechanism: StableQueries | Ladder) -> None:
        """Coins are seeded: a ladder abstains now and then, however far from instability a query is."""
        coins = SeededCoins(7)
        queries = [rounded_median, more_than(0), more_than(45), more_than(100), more_than(45), more_than(0)]
        rows = [*self.rows, 45.0]
        released = list(answer_stable_queries(mechanism, rows[:1] + rows, queries, coins))
        assert released[:4] == [4, "yes", None, "no"] or released[:4] == [4, "yes", "no", "no"]
        halting = list(answer_stable_queries(mechanism, [1.0, 9.0], [more_than(5)] * 5, coins))
        assert halting == [None, None]

    def test_later_queries_may_depend_on_earlier_answers(self) -> None:
        mechanism = StableQueries.for_task(task(), max_abstentions=1)
        answers: list[str | None] = []

        def bisection() -> Iterator[Callable[[Rows], tuple[str, int]]]:
            low, high = 0.0, 80.0
            while high - low > 20:
                middle = (low + high) / 2
                yield more_than(middle)
                low, high = (middle, high) if answers[-1] == "yes" else (low, middle)

        for answer in answer_stable_queries(mechanism, self.rows, bisection(), SystemCoins()):
            answers.append(answer)
        assert answers == ["yes", "no"]

    def test_one_question_only(self) -> None:
        once = StableOnce.for_task(task())
        released = list(answer_stable_queries(once, self.rows, [more_than(0), more_than(0)], SystemCoins()))
        assert released == ["yes"]
