"""PrivateRegressor: numbers of a declared range, from rows in any container, and words where it cannot go on."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mapl import GuaranteeBroken, InvalidData, InvalidParameter, PrivateRegressor
from mapl.data import Column, Schema, draft_schema
from mapl.students.file.student_file import dumps, loads


def world(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"age": 40 + 10 * rng.normal(size=n), "ward": rng.choice(["north", "south"], n)})
    return rows, 50 + rows["age"].to_numpy() - 40 + 5 * (rows["ward"] == "north") + 2 * rng.normal(size=n)


X, Y = world(3000, 0)
PUBLIC, _ = world(300, 1)
TEST, TRUTH = world(500, 2)
USUAL: dict[str, Any] = {"low": 0, "high": 100, "epsilon": 2.0, "delta": 1e-5, "seed": 3}


def fitted(**more: Any) -> PrivateRegressor:
    return PrivateRegressor(**{**USUAL, **more}).fit(X, Y, public=PUBLIC)


def test_it_learns_and_says_what_it_promises() -> None:
    model = fitted()
    assert model.score(TEST, TRUTH) > 0.8
    assert model.statement_.mechanism == "moment-sums"
    assert model.statement_.guaranteed_epsilon <= 2.0
    assert any("the range of the label, 0 to 100" in one for one in model.statement_.assumptions)
    assert model.plan_.stages[0].parameters["highest label"] == 100.0
    assert "cut to 0 to 100" in model.plan_.why


@pytest.mark.parametrize("n_public", [100, 400, 1500])
@pytest.mark.parametrize("epsilon", [4.0, 20.0])
def test_labels_at_one_end_of_a_far_wider_range_are_learned_as_well(n_public: int, epsilon: float) -> None:
    """A level beyond the range was believed, where predictions stay inside, and public means beside it."""
    rng = np.random.default_rng(3)
    rows = np.exp(rng.normal(size=(8000, 10)))
    labels = 60 + 10 * np.log(rows[:, 0]) - 8 * (rows[:, 1] > 1) + np.minimum(rows[:, 2], 5) + rng.normal(size=8000)
    model = PrivateRegressor(low=0, high=5000, epsilon=epsilon, delta=1e-5, seed=0, n_rows=5000)
    model.fit(rows[:5000], labels[:5000], public=rows[5000 : 5000 + n_public])
    assert model.score(rows[7000:], labels[7000:]) > 0.75


def test_a_far_wider_range_costs_little() -> None:
    assert fitted(low=-500, high=1000).score(TEST, TRUTH) > 0.75


@pytest.mark.parametrize("n_public", [8, 30, 100])
def test_few_public_rows_do_not_lead_astray_and_more_budget_does_no_harm(n_public: int) -> None:
    """Columns of long tails, of which few public rows show little; before, R² was -0.5 at epsilon 8."""
    rng = np.random.default_rng(0)
    rows = np.exp(rng.normal(size=(9000, 12)))
    labels = rows[:, 0] - rows[:, 1] + np.minimum(rows[:, 2], 2) + rng.normal(size=9000)
    private, public, test = rows[:6000], rows[6000 : 6000 + n_public], rows[7000:]
    scores = []
    for epsilon in (0.5, 8.0):
        model = PrivateRegressor(low=-20, high=20, epsilon=epsilon, delta=1e-5, seed=0, n_rows=6000)
        scores.append(model.fit(private, labels[:6000], public=public).score(test, labels[7000:]))
    assert scores[0] > 0.3
    assert scores[1] > scores[0] - 0.02


def test_a_plan_says_that_the_number_of_units_would_help() -> None:
    words = "a map for 3,000 units, a guess; to know of more would make it finer"
    assert words in fitted(epsilon=0.1).plan_.why
    assert words not in fitted(epsilon=0.1, n_rows=3000).plan_.why


def test_predictions_stay_in_the_range_and_the_student_can_be_read_again() -> None:
    model = fitted(low=45, high=55)
    predicted = model.predict(TEST)
    assert 45 <= predicted.min() < predicted.max() <= 55
    again = loads(dumps(model.student_))
    np.testing.assert_array_equal(again.predict(TEST), predicted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(TEST), predicted)
    for ask in (again.predict_codes, again.predict_proba):
        with pytest.raises(InvalidParameter, match="predicts numbers, 45 to 55"):
            ask(TEST)


def test_fits_with_one_seed_are_equal_and_others_differ() -> None:
    one, same, other = (fitted(seed=seed).predict(TEST) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_labels_beyond_the_range_count_as_its_ends() -> None:
    wild = Y.copy()
    wild[:50], wild[50:100] = np.inf, -np.inf
    tame = Y.copy()
    tame[:50], tame[50:100] = 100.0, 0.0
    predicted = [PrivateRegressor(**USUAL).fit(X, y, public=PUBLIC).predict(TEST) for y in (wild, tame)]
    np.testing.assert_array_equal(*predicted)


@pytest.mark.parametrize("nothing", [None, "much", np.nan])
def test_rows_whose_label_is_no_number_are_left_out(nothing: Any) -> None:
    odd = np.array(Y, dtype=object)
    odd[::3] = nothing
    kept = np.arange(len(Y)) % 3 != 0
    with_gaps = PrivateRegressor(**USUAL).fit(X, odd, public=PUBLIC)
    without = PrivateRegressor(**USUAL).fit(X[kept], Y[kept], public=PUBLIC)
    np.testing.assert_array_equal(with_gaps.predict(TEST), without.predict(TEST))


def test_groups_are_people_and_one_with_most_rows_is_no_more_than_one() -> None:
    who = np.arange(len(Y)) // 2
    model = PrivateRegressor(**USUAL).fit(X, Y, public=PUBLIC, groups=who)
    assert model.statement_.unit.startswith("one group")
    crowd, greedy = np.concatenate([Y, np.full(3000, 100.0)]), np.concatenate([who, np.full(3000, -1)])
    more = PrivateRegressor(**USUAL).fit(pd.concat([X, X]), crowd, public=PUBLIC, groups=greedy)
    assert np.abs(more.predict(TEST) - model.predict(TEST)).max() < 10


@pytest.mark.parametrize("adjacency", ["replace-one", "labels"])
def test_other_adjacencies_have_twice_the_noise(adjacency: str) -> None:
    model = PrivateRegressor(**USUAL, adjacency=adjacency, n_rows=3000)
    given = {} if adjacency == "labels" else {"public": PUBLIC}
    model.fit(X, Y, groups=np.arange(len(Y)), **given)
    assert model.statement_.parameters["changes"] == 2
    assert model.score(TEST, TRUTH) > 0.7


def test_without_public_rows_a_schema_is_enough() -> None:
    columns = (
        Column.from_dict({"name": "age", "kind": "number", "range": [0, 100]}),
        Column("ward", "category", categories=("north", "south")),
    )
    model = PrivateRegressor(**{**USUAL, "epsilon": 8.0}, schema=Schema(columns)).fit(X, Y)
    assert model.statement_.parameters["first round"] == "products"
    assert model.score(TEST, TRUTH) > 0.5


def test_texts_are_read_too() -> None:
    rng = np.random.default_rng(5)
    warm = rng.random(4000) < 0.5
    words = np.array(
        [f"{'warm sunny' if one else 'cold dark'} day number {i} of them" for i, one in enumerate(warm)]
    )
    degrees = np.where(warm, 25.0, 5.0) + rng.normal(size=4000)
    rows = pa.table({"note": words})
    schema = Schema((Column("note", "text"),))
    model = PrivateRegressor(low=-20, high=50, epsilon=4.0, delta=1e-5, seed=1, schema=schema)
    model.fit(rows.slice(400), degrees[400:], public=rows.slice(0, 400))
    assert model.score(rows.slice(0, 400), degrees[:400]) > 0.6


def test_public_texts_without_a_word_cost_no_student() -> None:
    """After all was spent, the list of the strongest words had nothing to look up."""
    rows = pa.table({"note": ["?! ..."] * 500, "age": np.linspace(0, 50, 500)})
    schema = Schema((Column("note", "text"), Column("age", "number", cuts=(10.0, 20.0, 30.0, 40.0))))
    model = PrivateRegressor(low=0, high=50, epsilon=20.0, delta=1e-5, seed=1, schema=schema)
    with pytest.warns(UserWarning, match="All public rows have the same value in 'note'"):
        model.fit(rows, np.linspace(0, 50, 500), public=rows.slice(0, 100))
    assert np.isfinite(model.predict(rows)).all()


def test_a_constant_public_column_is_warned_of_and_does_no_harm() -> None:
    rows, asked = X.assign(country=1.0), PUBLIC.assign(country=1.0)
    with pytest.warns(match="country"):
        model = PrivateRegressor(**USUAL).fit(rows, Y, public=asked)
    assert model.score(TEST.assign(country=1.0), TRUTH) > 0.8


def test_features_that_are_no_numbers_do_no_harm() -> None:
    rows = X.copy()
    rows.loc[::50, "age"], rows.loc[1::50, "age"] = np.nan, np.inf
    model = PrivateRegressor(**USUAL).fit(rows, Y, public=PUBLIC)
    assert model.score(TEST, TRUTH) > 0.6


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"low": None}, "never reads it off private labels"),
        ({"high": None}, "Declare both"),
        ({"low": 100, "high": 0}, "goes from 100 to 0"),
        ({"low": 5, "high": 5}, "goes from 5 to 5"),
        ({"high": np.inf}, "two finite numbers"),
        ({"low": "a little"}, "two numbers"),
        ({"delta": 0.0}, "positive delta"),
        ({"adjacency": "replace-one"}, "groups=ids"),
    ],
)
def test_bad_settings_are_told_in_words_and_spend_nothing(settings: dict[str, Any], said: str) -> None:
    model = PrivateRegressor(**{**USUAL, **settings})
    with pytest.raises((InvalidParameter, InvalidData), match=said):
        model.fit(X, Y, public=PUBLIC)
    assert not hasattr(model, "statement_")


def test_nothing_public_is_told_in_words() -> None:
    with pytest.raises(InvalidParameter, match="Public rows are needed"):
        PrivateRegressor(**USUAL).fit(X, Y)


def test_a_classifier_names_the_regressor_where_labels_are_numbers() -> None:
    from mapl import PrivateClassifier

    with pytest.raises(InvalidData, match="PrivateRegressor"):
        PrivateClassifier(classes="labels").fit(X, Y, public=PUBLIC)


def test_a_clone_without_a_seed_refuses_to_be_fitted() -> None:
    from sklearn.model_selection import cross_val_score

    with pytest.raises((GuaranteeBroken, ValueError), match=r"clone|fits failed"):
        cross_val_score(PrivateRegressor(low=0, high=100), X, Y, params={"public": PUBLIC}, error_score="raise")


def test_a_drafted_schema_can_be_given() -> None:
    model = PrivateRegressor(**USUAL, schema=draft_schema(PUBLIC, drop=["ward"])).fit(
        X[["age"]], Y, public=PUBLIC[["age"]]
    )
    assert model.student_.schema.names == ("age",)


def test_public_rows_that_cancel_leave_a_level_that_is_a_number() -> None:
    """Of symmetric public rows nothing is known about a constant; the level was 0 / 0, and broke the promise."""
    half = np.linspace(0.5, 3, 25)
    public = np.repeat(np.concatenate([half, -half])[:, None], 8, axis=1)
    X = np.repeat(np.random.default_rng(0).normal(size=(300, 1)), 8, axis=1)
    model = PrivateRegressor(low=-1, high=1, epsilon=0.05, delta=1e-6, seed=1)
    model.fit(X, np.zeros(300), public=public, groups="none")
    assert np.isfinite(model.predict(public)).all()
    assert np.abs(model.predict(public)).max() <= 1
