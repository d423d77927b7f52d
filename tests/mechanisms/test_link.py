"""The link against its reference table, brute force over all neighbouring votes, and broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.accounting import ORDERS
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.offset_table import OffsetTable, bernoulli_divergence
from mapl.mechanisms.votes.lattice_link import WHOLE, GapWeights, LatticeLink, LinkByClasses, build
from mapl.mechanisms.votes.link import Link, build_certified_table, climb, design, lowest_step
from mapl.noise import ONE, SeededCoins
from mapl.types import Budget, State, Tallies

AnyLink = Link | LatticeLink


def task(epsilon: float, delta: float, m: int, *, teachers: int, classes: int = 2) -> Task:
    return Task(Budget(epsilon, delta), teachers, classes, m)


def histograms(teachers: int, classes: int) -> list[tuple[int, ...]]:
    return [n for n in product(range(teachers + 1), repeat=classes) if sum(n) == teachers]


def neighbours(n: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for giver, taker in permutations(range(len(n)), 2):
        if n[giver]:
            moved = list(n)
            moved[giver] -= 1
            moved[taker] += 1
            yield tuple(moved)


def laws(link: AnyLink, teachers: int, classes: int) -> dict[tuple[int, ...], np.ndarray]:
    every = histograms(teachers, classes)
    chances = link.chances(Tallies(np.array(every)), State())
    assert chances.shape == (len(every), classes + 1)
    assert (chances[:, -1] == 0).all()
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-12)
    return {n: row[:-1] for n, row in zip(every, chances, strict=True)}


def neighbouring_laws(by_votes: dict[tuple[int, ...], np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return ((by_votes[n], by_votes[other]) for n in by_votes for other in neighbours(n))


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    seen = p > 0
    if (q[seen] == 0).any():
        return math.inf
    terms = order * np.log(p[seen]) + (1 - order) * np.log(q[seen])
    return float(np.logaddexp.reduce(terms)) / (order - 1)


def worst(by_votes: dict[tuple[int, ...], np.ndarray], order: float) -> float:
    return max(renyi(p, q, order) for p, q in neighbouring_laws(by_votes))


def offset_for(table: OffsetTable, error: float) -> float:
    """The offset from the tie, log-interpolated, at which the table errs with this probability."""
    logs, goal = np.log(table.errors()), math.log(error)
    i = int(np.argmax(logs <= goal))
    return i - 1 + 0.5 * table.odd + (logs[i - 1] - goal) / (logs[i - 1] - logs[i])


# ---------------------------------------------------------------- reference values


@pytest.mark.parametrize("teachers", [9000, 9001])
@pytest.mark.parametrize(
    ("epsilon", "m", "delta", "one_percent", "one_in_thousand"),
    [
        (0.5, 100, 1e-5, 119.5, 140.0),
        (0.5, 10_000, 1e-6, 1210.1, 1344.1),
        (1, 100, 1e-6, 71.7, 84.6),
        (1, 1000, 1e-5, 184.3, 207.9),
        (1, 1000, 1e-6, 207.4, 234.5),
        (2, 1000, 1e-5, 98.2, 110.9),
        (4, 100_000, 1e-5, 504.7, 557.0),
        (8, 100, 1e-6, 11.1, 13.3),
    ],
)
def test_the_reference_table_is_reproduced(
    epsilon: float, m: int, delta: float, one_percent: float, one_in_thousand: float, teachers: int
) -> None:
    link = Link.for_task(task(epsilon, delta, m, teachers=teachers))
    for error, printed in ((0.01, one_percent), (0.001, one_in_thousand)):
        assert offset_for(link.table, error) == pytest.approx(printed, abs=max(0.6, 0.01 * printed))


def test_the_lattice_reference_is_reproduced() -> None:
    link = LatticeLink.for_task(task(1, 1e-6, 1000, teachers=2000, classes=3))
    weights = link.weights.weights / WHOLE
    two_tied, one = (np.argmax(1 / (1 + k * weights) >= 0.99) / 2 for k in (2, 1))
    assert two_tied == pytest.approx(237, abs=2)
    assert one == pytest.approx(226, abs=2)
    assert link.required_distance(0.99) == pytest.approx(237, abs=2)


def test_many_questions_stay_quick_and_private() -> None:
    link = Link.for_task(task(0.5, 1e-6, 100_000, teachers=1000))
    assert len(link.table) == 501
    assert link.certify(Budget(0.5, 1e-6))
    assert link.epsilon(None, 1e-6) <= 0.5


# ---------------------------------------------------------------- brute force


@pytest.mark.parametrize("teachers", range(1, 10))
@pytest.mark.parametrize(("epsilon", "m"), [(1.0, 100), (4.0, 3), (8.0, 1)])
def test_no_neighbouring_votes_diverge_by_more_than_the_price(teachers: int, epsilon: float, m: int) -> None:
    link = Link.for_task(task(epsilon, 1e-5, m, teachers=teachers))
    found = worst(laws(link, teachers, 2), link.order)
    assert found <= link.divergence * (1 + 1e-9)
    assert found >= link.divergence * 0.999  # the price is not only safe but reached
    assert link.epsilon(None, 1e-5) <= epsilon


@pytest.mark.parametrize("teachers", range(1, 10))
@pytest.mark.parametrize(("epsilon", "m"), [(1.0, 100), (4.0, 3), (8.0, 1)])
def test_no_neighbouring_three_class_votes_diverge_by_more_than_the_price(
    teachers: int, epsilon: float, m: int
) -> None:
    link = LatticeLink.for_task(task(epsilon, 1e-5, m, teachers=teachers, classes=3))
    found = worst(laws(link, teachers, 3), link.order)
    assert found <= link.divergence * (1 + 1e-9)
    assert link.certify(Budget(epsilon, 1e-5))
    assert link.epsilon(None, 1e-5) <= epsilon


@pytest.mark.parametrize(("teachers", "classes"), [(6, 2), (7, 2), (6, 3), (8, 3)])
def test_the_loss_covers_every_common_order(teachers: int, classes: int) -> None:
    link = LinkByClasses.for_task(task(2, 1e-5, 5, teachers=teachers, classes=classes))
    by_votes = laws(link, teachers, classes)
    for order in ORDERS:
        exact = worst(by_votes, order)
        assert exact <= link.per_answer.at(order) * (1 + 1e-12)
        assert link.per_answer.at(order) <= exact * 1.001 + 1e-9


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 14),
    st.lists(st.integers(WHOLE >> 20, WHOLE), min_size=1, max_size=7),
    st.sampled_from([1.5, 4.0, 30.0]),
)
def test_the_enumeration_of_gaps_misses_no_neighbouring_histograms(
    teachers: int, drawn: list[int], order: float
) -> None:
    weights = GapWeights(np.array([WHOLE, *sorted(drawn, reverse=True)]))
    link = LatticeLink(weights, teachers, 1, order, 1.0)
    exact = worst(laws(link, teachers, 3), order)
    [claimed] = weights.worst((order,), teachers)
    assert claimed >= exact - 1e-11
    if teachers <= len(weights) + 1:
        # No gaps are merged. Three more teachers see the same gaps with no class empty, hence every move.
        wider = LatticeLink(weights, teachers + 3, 1, order, 1.0)
        assert claimed <= worst(laws(wider, teachers + 3, 3), order) + 1e-10


@settings(max_examples=200, deadline=None)
@given(st.integers(1, ONE // 2), st.integers(1, ONE // 2), st.floats(1.01, 200))
def test_float_divergences_never_fall_below_the_exact_ones(p: int, q: int, order: float) -> None:
    with ctx.workprec(200):
        a = arb(order)
        moment = sum(
            (
                (a * arb(fmpq(x, ONE)).log() + (1 - a) * arb(fmpq(y, ONE)).log()).exp()
                for x, y in ((p, q), (ONE - p, ONE - q))
            ),
            arb(0),
        )
        exact = float((moment.log() / (a - 1)).lower())
    claimed = float(bernoulli_divergence(np.array([p]), np.array([q]), order)[0])
    assert exact * (1 - 1e-13) <= claimed


# ---------------------------------------------------------------- m questions against an optimal adversary


def hockey_stick(by_votes: dict[tuple[int, ...], np.ndarray], m: int, epsilon: float) -> float:
    """The exact delta of m questions when an adversary chooses every neighbouring pair adaptively."""
    pairs = {
        tuple(sorted(zip(p.tolist(), q.tolist(), strict=True)))
        for p, q in neighbouring_laws(by_votes)
        if not np.array_equal(p, q)
    }

    def best(left: int, log_ratio: np.ndarray) -> np.ndarray:
        if left == 0:
            return np.maximum(np.exp(log_ratio) - math.exp(epsilon), 0)
        values = [sum(q * best(left - 1, log_ratio + math.log(p / q)) for p, q in pair) for pair in pairs]
        return np.max(values, axis=0)

    return float(best(m, np.zeros(1))[0])


@pytest.mark.parametrize(("teachers", "classes", "m"), [(4, 2, 4), (5, 2, 3), (8, 2, 3), (6, 3, 2), (3, 3, 3)])
def test_an_optimal_adaptive_adversary_stays_below_delta(teachers: int, classes: int, m: int) -> None:
    epsilon, delta = 1.0, 0.02
    link = LinkByClasses.for_task(task(epsilon, delta, m, teachers=teachers, classes=classes), order=6.0)
    found = hockey_stick(laws(link, teachers, classes), m, epsilon)
    assert 0.5 * delta < found <= delta


# ---------------------------------------------------------------- broken twins


def test_a_table_for_a_quarter_of_the_questions_is_caught() -> None:
    budget = Budget(1.0, 0.02)
    link = Link.for_task(Task(budget, 5, 2, 1), order=6.0)
    twin = replace(link, n_queries=4)
    assert not twin.certify(budget)
    assert hockey_stick(laws(twin, 5, 2), 4, budget.epsilon) > budget.delta
    honest = Link.for_task(Task(budget, 5, 2, 4), order=link.order)
    assert worst(laws(twin, 5, 2), link.order) > 3.9 * honest.divergence


@pytest.mark.parametrize("odd", [False, True])
def test_a_table_that_respects_one_order_only_is_caught(odd: bool) -> None:
    claim = design(Budget(4.0, 1e-5), 10, odd=odd, longest=40)
    honest = build_certified_table(claim, odd=odd, longest=40)
    losing = [int(honest.losing[0])]
    for _ in range(6):  # the least z with D(z || x) within the claim, whatever D(x || z) is
        low, high = 1, losing[-1]
        while high - low > 1:
            middle = (low + high) // 2
            x, z = np.array([losing[-1]]), np.array([middle])
            private = bernoulli_divergence(z, x, claim.order)[0] <= claim.divergence
            low, high = (low, middle) if private else (middle, high)
        losing.append(high)
    twin = OffsetTable(np.array(losing), odd)
    assert not twin.certified(claim)
    link = Link(twin, 10, claim.order, claim.divergence)
    teachers = 8 + odd
    assert worst(laws(link, teachers, 2), claim.order) > claim.divergence * 1.01


def test_every_entry_of_a_table_is_checked() -> None:
    claim = design(Budget(2.0, 1e-5), 20, odd=True, longest=30)
    table = build_certified_table(claim, odd=True, longest=30)
    for i in range(len(table) - 1):  # the last one was raised to the floor, so it has room
        bent = table.losing.copy()
        bent[i] = int(bent[i]) * 97 // 100
        assert not OffsetTable(bent, True).certified(claim)
    assert not OffsetTable(np.array([ONE // 2 + 1]), False).certified(claim)
    assert not OffsetTable(np.array([ONE // 2, 0]), False).certified(claim)
    assert not OffsetTable(np.array([ONE // 4]), False).certified(claim)  # a tie must be a fair coin


def test_unshrunk_three_class_weights_are_caught() -> None:
    claim = design(Budget(2.0, 1e-5), 100, odd=False, longest=80)
    twin = build(claim, 80)
    assert not twin.certified(claim, 150)
    assert twin.worst((claim.order,), 150)[0] > 1.05 * claim.divergence
    small = LatticeLink(build(claim, 5), 9, 100, claim.order, claim.divergence)
    exact = worst(laws(small, 9, 3), claim.order)
    assert small.weights.worst((claim.order,), 9)[0] == pytest.approx(exact, abs=1e-11)


def test_answering_only_between_the_two_leading_classes_is_caught() -> None:
    teachers = 8
    tables = {
        odd: build_certified_table(design(Budget(2.0, 1e-5), 5, odd=odd, longest=20), odd=odd, longest=20)
        for odd in (False, True)
    }

    def top_two(n: tuple[int, ...]) -> np.ndarray:
        first, second, _ = sorted(range(3), key=lambda y: (-n[y], y))
        lead = n[first] - n[second]
        losing = tables[lead % 2 == 1].at(np.array([lead]))[0] / ONE
        law = np.zeros(3)
        law[[first, second]] = 1 - losing, losing
        return law

    by_votes = {n: top_two(n) for n in histograms(teachers, 3)}
    assert worst(by_votes, 8.0) == math.inf


def test_votes_of_another_parity_are_refused_because_they_would_leak() -> None:
    link = Link.for_task(task(1, 1e-5, 10, teachers=9))
    even = Tallies(np.array([[4, 4]]))
    for call in (lambda: link.release(State(), even, SeededCoins(0)), lambda: link.chances(even, State())):
        with pytest.raises(GuaranteeBroken, match="odd number of teachers"):
            call()
    # What the refusal prevents: read as an odd table, a tie would always favour one class.
    tie, lead = 1 - link.table.losing[0] / ONE, link.table.losing[1] / ONE
    assert renyi(np.array([tie, 1 - tie]), np.array([lead, 1 - lead]), link.order) > link.divergence


def test_the_lattice_link_refuses_another_number_of_teachers() -> None:
    link = LatticeLink.for_task(task(1, 1e-5, 10, teachers=9, classes=3))
    with pytest.raises(GuaranteeBroken, match="certified for 9 teachers") as refusal:
        link.release(State(), Tallies(np.array([[7, 3, 4]])), SeededCoins(0))
    assert "7" not in str(refusal.value)


# ---------------------------------------------------------------- the greedy step


def test_the_other_order_is_the_smaller_one_below_one_half() -> None:
    generator = np.random.default_rng(5)
    x = generator.uniform(0.001, 0.5, 2000)
    z = x * generator.uniform(0.01, 0.99, 2000)
    p, q = ((v * ONE).astype(np.int64) for v in (x, z))
    for order in (1.5, 4.0, 20.0):
        assert (bernoulli_divergence(p, q, order) >= bernoulli_divergence(q, p, order) * (1 - 1e-9)).all()


def test_a_step_uses_the_whole_divergence() -> None:
    order, divergence = np.array([3.0, 20.0]), np.array([0.3, 1e-4])
    x = np.log(np.array([0.5, 0.2]))
    z = lowest_step(x, order, divergence, x - 0.01)
    for k in range(2):
        p, q = (np.array([int(math.exp(v[k]) * ONE)]) for v in (x, z))
        assert bernoulli_divergence(p, q, float(order[k]))[0] == pytest.approx(divergence[k], rel=1e-6)
    errors = climb(order, divergence, x, 5, 1e-7)
    assert len(errors) == 5
    assert (np.diff(np.stack(errors), axis=0) < 0).all()


# ---------------------------------------------------------------- releasing


def votes(rows: int, teachers: int, classes: int, seed: int = 1) -> Tallies:
    generator = np.random.default_rng(seed)
    return Tallies.checked(generator.multinomial(teachers, np.ones(classes) / classes, size=rows))


@pytest.mark.parametrize(("classes", "teachers"), [(2, 31), (2, 30), (3, 30)])
def test_batch_and_online_agree_and_halt_after_the_last_question(classes: int, teachers: int) -> None:
    link = LinkByClasses.for_task(task(2, 1e-5, 50, teachers=teachers, classes=classes))
    block = votes(60, teachers, classes)
    batch = link.release(link.start(SeededCoins(3)), block, SeededCoins(3))
    assert len(batch.labels) == 50
    assert batch.state == State(answered=50, halted=True)
    assert batch.labels.dtype == np.int32
    assert set(batch.labels.tolist()) <= set(range(classes))

    coins, state, labels = SeededCoins(3), State(), []
    for row in block.counts:
        outcome = link.release(state, Tallies(row[None]), coins)
        state = outcome.state
        labels.extend(outcome.labels.tolist())
    assert labels == batch.labels.tolist()
    assert state == batch.state
    assert link.spent(state) == link.total
    assert link.spent(State(answered=20)).at(link.order) < link.total.at(link.order)
    assert len(link.release(state, block, coins).labels) == 0


def test_small_unsigned_counts_do_not_wrap_around() -> None:
    link = Link.for_task(task(8, 1e-5, 10, teachers=200))
    few = Tallies(np.array([[200, 0], [0, 200]], dtype=np.uint8))
    assert link.chances(few, State()) == pytest.approx(np.array([[1, 0, 0], [0, 1, 0]]), abs=1e-3)


@pytest.mark.statistical
@pytest.mark.parametrize(("row", "teachers"), [((10, 10), 20), ((12, 8), 20), ((8, 13), 21), ((9, 5, 6), 20)])
def test_frequencies_follow_the_law(row: tuple[int, ...], teachers: int) -> None:
    """False-alarm rate below 1e-6 per label for a fresh seed: a five-sigma band."""
    n = 200_000
    link = LinkByClasses.for_task(task(40, 1e-5, n, teachers=teachers, classes=len(row)))
    steep = LinkByClasses.for_task(task(4, 1e-5, 3, teachers=teachers, classes=len(row)))
    for made in (link, replace(steep, n_queries=n)):
        block = Tallies(np.tile(np.array(row), (n, 1)))
        labels = made.release(State(), block, SeededCoins(11)).labels
        law = made.chances(block.first(1), State())[0, :-1]
        seen = np.bincount(labels, minlength=len(row)) / n
        assert (np.abs(seen - law) <= 5 * np.sqrt(law * (1 - law) / n)).all()


# ---------------------------------------------------------------- forecasts


@pytest.mark.parametrize(("classes", "teachers"), [(2, 40), (2, 41), (3, 40)])
def test_the_required_distance_is_sufficient_and_smallest(classes: int, teachers: int) -> None:
    link = LinkByClasses.for_task(task(8, 1e-5, 20, teachers=teachers, classes=classes))
    block = Tallies(np.array(histograms(teachers, classes)))
    chances = link.chances(block, State())[np.arange(len(block)), block.values]
    for probability in (0.6, 0.9, 0.99):
        needed = link.required_distance(probability)
        assert needed is not None
        assert (chances[block.distances >= needed] >= probability).all()
        if classes == 2:  # with three classes the worst tie may not exist for this number of teachers
            assert (chances[block.distances == needed - 1] < probability).any()
    assert link.required_distance(1.0) is None
    unanimous = np.zeros((1, classes), dtype=np.int64)
    unanimous[0, 0] = teachers
    expected = link.chances(Tallies(unanimous), State())[0, 0]
    assert link.chance_if_unanimous(teachers, classes) == pytest.approx(expected)


def test_too_few_teachers_have_no_required_distance() -> None:
    assert Link.for_task(task(1, 1e-6, 1000, teachers=50)).required_distance(0.99) is None
    assert LatticeLink.for_task(task(1, 1e-6, 1000, teachers=50, classes=3)).required_distance(0.99) is None


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("make", [Link.for_task, LatticeLink.for_task, LinkByClasses.for_task])
def test_ten_classes_are_refused(make: Callable[[Task], AnyLink]) -> None:
    with pytest.raises(InvalidParameter, match="10 classes"):
        make(task(1, 1e-5, 10, teachers=50, classes=10))


@pytest.mark.parametrize("order", [1.0, 0.5, math.nan, math.inf])
def test_orders_that_price_nothing_are_refused(order: float) -> None:
    with pytest.raises(InvalidParameter, match="above 1"):
        Link.for_task(task(1, 1e-5, 10, teachers=50), order=order)


def test_budgets_that_pay_nothing_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="delta is 0"):
        Link.for_task(task(1, 0.0, 10, teachers=50))
    with pytest.raises(CannotCalibrate, match="raise the budget"):
        Link.for_task(task(0.1, 1e-9, 10, teachers=50), order=1.5)
    for classes in (2, 3):
        with pytest.raises(CannotCalibrate, match="ask fewer questions"):
            LinkByClasses.for_task(task(1, 1e-6, 10**12, teachers=50, classes=classes))


@pytest.mark.parametrize("classes", [2, 3])
def test_votes_with_other_classes_are_refused(classes: int) -> None:
    link = LinkByClasses.for_task(task(1, 1e-5, 10, teachers=50, classes=classes))
    with pytest.raises(InvalidData, match="4 classes"):
        link.release(State(), Tallies(np.array([[20, 10, 10, 10]])), SeededCoins(0))


def test_a_claim_beyond_the_budget_is_not_certified() -> None:
    budget = Budget(1.0, 1e-5)
    for link in (Link.for_task(Task(budget, 21, 2, 10)), LatticeLink.for_task(Task(budget, 21, 3, 10))):
        assert link.certify(budget)
        assert not link.certify(Budget(0.99, 1e-5))
        assert not replace(link, divergence=link.divergence * 0.9).certify(budget)
