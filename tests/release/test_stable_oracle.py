"""Any stable query through the one loop: answers, declines, records, resumes; and queries of some use."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from mapl.data.units.bags import Bagged
from mapl.data.units.shards import ShardKey
from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidData, InvalidParameter, PlanMismatch
from mapl.noise import SeededCoins
from mapl.release import Aggregated, MemoryLedger, MostRight, Named, StableOracle, TopCategory, answer, each_of
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.queries.leader import leader

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
KEY = ShardKey(bytes(32))


def far(name: str, value: Any = "yes") -> Named:
    return Named(name, lambda data: (value, 10_000))


def near(name: str, value: Any = "secret") -> Named:
    return Named(name, lambda data: (value, 0))


@settings(max_examples=200, deadline=None)
@given(
    counts=st.lists(st.integers(0, 30), min_size=1, max_size=4),
    steps=st.lists(st.integers(-3, 3), min_size=4, max_size=4),
)
@example(counts=[2, 4], steps=[1, -1, 0, 0])  # a gap that is a multiple of what somebody moves
def test_leaders_keep_the_contract_for_whatever_moves_them(counts: list[int], steps: list[int]) -> None:
    before = dict(enumerate(counts))
    after = {value: max(0, count + step) for (value, count), step in zip(before.items(), steps, strict=False)}
    changes = [after[value] - before[value] for value in before] + [0]  # somebody absent does not move
    moves = max(1, max(changes) - min(changes))
    (one, distance), (other, its_distance) = leader(before, moves=moves), leader(after, moves=moves)
    assert abs(distance - its_distance) <= 1
    assert one == other or distance == its_distance == 0


def test_the_formula_of_the_leader() -> None:
    for gap in range(30):
        for s in (1, 2, 5):
            _, distance = leader({"a": 100 + gap, "b": 100}, moves=2 * s)
            assert distance == max(0, -(-gap // (2 * s)) - 1)
    assert leader({}, moves=1) == (None, 0)
    assert leader({"only": 7}, moves=1) == ("only", 6)


def test_one_question_takes_the_mechanism_for_one() -> None:
    told = answer(far("q"), None, **BUDGET)
    assert told.value == "yes"
    assert told.statement.mechanism == "stable-once"
    assert told.statement.guaranteed_epsilon <= 1.0
    assert told.statement.private
    assert "answered exactly or not at all" in told.statement.in_plain_words
    assert "teachers" not in told.statement.in_plain_words


def test_answers_are_free_and_declines_are_counted() -> None:
    oracle = StableOracle(None, **BUDGET, n_queries=500, max_abstentions=3, mechanism="ladder")
    assert oracle.answer(*(far(f"q{i}", i) for i in range(300))) == list(range(300))
    assert oracle.statement.epsilon < 1e-3
    assert oracle.answer(near("bad"), far("good")) == [None, "yes"]
    assert (oracle.statement.answered, oracle.statement.abstained) == (301, 1)
    assert oracle.answer(near("b2"), near("b3"), far("late")) == [None, None, None]
    assert oracle.statement.halted
    with pytest.raises(BudgetExhausted, match="301 questions were answered and 3 declined"):
        oracle.answer(far("later"))
    assert oracle.answer(far("q7", "another value")) == [7]  # what was asked is told again
    assert oracle.statement.guaranteed_epsilon <= 1.0
    assert oracle.statement.not_asked == 2


def test_no_more_questions_than_planned() -> None:
    oracle = StableOracle(None, **BUDGET, n_queries=2, max_abstentions=1)
    assert oracle.answer(far("a"), far("b"), far("c")) == ["yes", "yes", None]
    with pytest.raises(BudgetExhausted):
        oracle.answer(far("d"))


def test_queries_may_depend_on_answers() -> None:
    data = {"colour": "red", "red": ["rose"] * 400, "blue": ["sky"] * 400}
    oracle = StableOracle(data, **BUDGET, n_queries=2, max_abstentions=1)
    (colour,) = oracle.answer(Named("colour", lambda d: (d["colour"], 9000)))
    assert oracle.answer(Named(f"thing in {colour}", lambda d: (d[colour][0], 9000))) == ["rose"]


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryLedger()
    else:
        with SqliteLedger(tmp_path / "ledger.sqlite") as opened:
            yield opened


def test_a_resumed_run_tells_again_and_asks_nothing(ledger: Any) -> None:
    plan = {**BUDGET, "n_queries": 5, "max_abstentions": 2, "ledger": ledger}
    StableOracle(None, **plan).answer(far("a", [1, 2]), near("b"), far("c", {"deep": None}))

    def never(data: Any) -> tuple[Any, int]:
        raise AssertionError("the data was asked again")

    again = StableOracle(None, **plan)
    assert again.answer(Named("a", never), Named("b", never), Named("c", never)) == [[1, 2], None, {"deep": None}]
    assert again.answer(near("d"), far("e")) == [None, None]  # the second decline ends it
    assert (again.statement.answered, again.statement.abstained) == (2, 2)
    ledger.verify()
    with pytest.raises(PlanMismatch):
        StableOracle(None, **{**plan, "epsilon": 2.0})


def test_nothing_of_a_declined_question_is_recorded(ledger: Any) -> None:
    oracle = StableOracle(None, **BUDGET, n_queries=2, max_abstentions=1, ledger=ledger)
    oracle.answer(near("bad", "a private value"))
    assert "a private value" not in str(ledger.export())
    assert "private value" not in repr(oracle)
    with pytest.raises(GuaranteeBroken):
        copy.copy(oracle)


@pytest.mark.parametrize("distance", [True, 1.0, -1, None, "3"])
def test_other_distances_are_refused_unquoted(distance: Any) -> None:
    with pytest.raises(InvalidData, match=r"'q' returned a distance") as refusal:
        answer(Named("q", lambda data: ("a private value", distance)), None, **BUDGET)
    assert "a private" not in str(refusal.value)


def test_a_query_that_fails_says_nothing_about_the_data() -> None:
    with pytest.raises(InvalidData, match="'q' failed on the data;") as refusal:
        answer(Named("q", lambda data: {}["a private value"]), None, **BUDGET)
    assert "private value" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_other_values_and_names_are_refused() -> None:
    with pytest.raises(InvalidData, match="cannot be recorded"):
        answer(Named("q", lambda data: ({1, 2}, 5)), None, **BUDGET)
    with pytest.raises(InvalidParameter, match="needs a name"):
        answer(lambda data: (1, 5), None, **BUDGET)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="choose auto, stable-once"):
        answer(far("q"), None, **BUDGET, mechanism="noisy-max")
    with pytest.raises(InvalidParameter, match="answers one question"):
        answer([far("q"), far("r")], None, **BUDGET, mechanism="stable-once")


@pytest.mark.parametrize("mechanism", ["stable-once", "ladder", "threshold-ladder", "stable-queries"])
def test_every_mechanism_for_distances_answers_and_declines(mechanism: str) -> None:
    plan = {**BUDGET, "mechanism": mechanism}
    assert answer(far("q"), None, **plan).value == "yes"
    assert answer(near("q"), None, **plan).value is None
    assert not answer(far("q"), None, **plan, coins=SeededCoins(1)).statement.private


def test_passing_is_as_likely_as_the_table_says() -> None:
    oracle = StableOracle(None, **BUDGET, n_queries=20_000, max_abstentions=10_000, coins=SeededCoins(3))
    distance = oracle._mechanism.required_distance(0.5)
    assert distance is not None
    chance = float(oracle._mechanism.rungs.at(np.array([distance]))[0]) / 2**62  # type: ignore[attr-defined]
    told = oracle.answer(*(Named(f"q{i}", lambda data: (1, distance)) for i in range(10_000)))
    # Five standard deviations; the coins are always the same ones.
    assert np.mean([one == 1 for one in told]) == pytest.approx(chance, abs=5 * 0.005)


# Worked examples.


def test_top_category_of_a_column_counts_every_person_once() -> None:
    people = np.repeat(np.arange(200), 2).tolist() + [999] * 500
    drinks = ["tea"] * 240 + ["milk"] * 160 + ["gin"] * 500
    table = pa.table({"person": people, "drink": drinks})
    assert TopCategory("drink")(table) == ("gin", 259)
    assert TopCategory("drink", unit="person")(table) == ("tea", 39)  # 120 against 80, and 1
    assert TopCategory("drink", unit="person", adjacency="replace-one")(table) == ("tea", 19)
    told = answer(TopCategory("drink", unit="person"), table, **BUDGET, unit="person")
    assert told.value == "tea"
    assert "all records with one value of the column person" in told.statement.unit


def test_a_category_that_nobody_declared_is_found_and_a_close_race_is_declined() -> None:
    cells = ["unheard of"] * 60 + ["other", None, " "]
    assert answer(TopCategory("x"), pa.table({"x": cells}), **BUDGET).value == "unheard of"
    close = pa.table({"x": ["a"] * 501 + ["b"] * 500})
    assert answer(TopCategory("x"), close, **BUDGET).value is None


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=12))
def test_top_category_keeps_its_contract_person_by_person(rows: list[tuple[int, str | None]]) -> None:
    query = TopCategory("value", unit="person")

    def of(some: list[tuple[int, str | None]]) -> tuple[Any, int]:
        who, what = [person for person, _ in some], [value for _, value in some]
        return query(pa.table({"person": pa.array(who, pa.int64()), "value": pa.array(what, pa.string())}))

    value, distance = of(rows)
    for person in {one for one, _ in rows}:
        other, its_distance = of([row for row in rows if row[0] != person])
        assert abs(distance - its_distance) <= 1
        assert other == value or distance == its_distance == 0


def test_best_of_some_models_by_private_records() -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    labels = rows[:, 0] > 0
    models = {f"column {j} above {c}": _threshold(j, c) for j in range(3) for c in (-0.5, 0.0, 0.5)}
    query = MostRight("the best rule", models)
    assert answer(query, (rows, labels), **BUDGET).value == "column 0 above 0.0"
    value, distance = query((rows, labels))
    for i in range(50):
        other, its_distance = query((np.delete(rows, i, axis=0), np.delete(labels, i)))
        assert (other, abs(distance - its_distance) <= 1) == (value, True)


def _threshold(j: int, c: float) -> Any:
    return lambda rows: rows[:, j] > c


@pytest.fixture(scope="module")
def tumours() -> tuple[np.ndarray, np.ndarray, list[str]]:
    found = load_breast_cancer()
    return found.data, found.target, [str(name) for name in found.feature_names]


def test_feature_selection_by_bags(tumours: tuple[np.ndarray, np.ndarray, list[str]]) -> None:
    rows, labels, names = tumours

    def ten_best(X: np.ndarray, y: np.ndarray) -> list[str]:
        apart = abs(X[y == 0].mean(axis=0) - X[y == 1].mean(axis=0)) / (X.std(axis=0) + 1e-12)
        return [names[j] for j in np.argsort(-apart)[:10]]

    bagged = Bagged.of(rows, labels, n_bags=60, key=KEY)
    plan = {"epsilon": 8.0, "delta": 1e-5, "max_abstentions": 12}
    told = answer(each_of(names, ten_best, bagged), bagged, **plan)
    kept = {name for name, value in zip(names, told.values, strict=True) if value}
    clear = set(ten_best(rows, labels))
    assert kept
    assert kept <= clear
    assert told.statement.guaranteed_epsilon <= 8.0


def test_any_function_by_bags_and_failing_bags_have_a_value_too(
    tumours: tuple[np.ndarray, np.ndarray, list[str]],
) -> None:
    rows, labels, _ = tumours

    def sign(X: np.ndarray, y: np.ndarray) -> str:
        return "larger" if X[y == 0, 0].mean() > X[y == 1, 0].mean() else "smaller"

    bagged = Bagged.of(rows, labels, n_bags=50, key=KEY)
    assert answer(Aggregated("malignant radius", sign), bagged, **BUDGET).value == "larger"
    value, distance = Aggregated("malignant radius", sign)(bagged)
    assert (value, distance) == ("larger", 23)  # 49 of 50 bags agree
    twice = Bagged.of(rows, labels, n_bags=50, occurrences=5, key=KEY)
    assert Aggregated("malignant radius", sign)(twice) == ("larger", 4)

    def fails(X: np.ndarray, y: np.ndarray) -> str:
        raise RuntimeError(f"a private row: {X[0]}")

    assert Aggregated("fails", fails)(bagged) == (None, 24)


def test_items_are_listed_once() -> None:
    bagged = Bagged.of(np.zeros((4, 1)), n_bags=2)
    with pytest.raises(InvalidParameter, match="listed twice"):
        each_of(["a", "a"], lambda X: ["a"], bagged)
