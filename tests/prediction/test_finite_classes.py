from itertools import combinations, product

import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.hypotheses import Finite, conjunctions, decision_lists
from mapl.prediction.hypotheses.conjunctions import Conjunction
from mapl.prediction.hypotheses.finite import sauer


def cube(n_features):
    return np.array(list(product((0.0, 1.0), repeat=n_features)))


def test_of_equal_labelings_the_first_of_the_list_stays():
    rules = [lambda X: X[:, 0] > 5, lambda X: X[:, 0] > 2, lambda X: X[:, 0] > 3, lambda X: X[:, 0] > -1]
    patterns = Finite.of(rules, n_features=1).patterns(np.array([[0.0], [4.0]]))
    assert [h.model.rule for h in patterns] == [rules[0], rules[1], rules[3]]


def test_fitted_models_are_hypotheses():
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[:40], y[:40]) for d in range(1, 6)]
    patterns = Finite.of(trees, n_features=3).patterns(X[:40])
    errors = patterns.errors(X, y)
    assert errors.counts.tolist() == [(tree.predict(X) != y).sum() for tree in patterns]
    assert errors.draw(5.0, SeededCoins(1)).model in trees
    assert Finite.of(trees, n_features=3).n_patterns(100) == 5


def test_a_model_that_does_not_answer_0_or_1_says_0():
    for rule in (lambda X: X[:, 0] * 3, lambda X: np.array(1), lambda X: X, lambda X: X[:, 99]):
        (found,) = Finite.of([rule], n_features=2).patterns(np.full((3, 2), 4.0))
        assert found.predict(np.full((3, 2), 4.0)).tolist() == [0, 0, 0]
    with pytest.raises(InvalidParameter, match="empty"):
        Finite.of([], n_features=1)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_all_conjunctions_are_different_and_shatter_no_more_than_they_say(n_features):
    family = conjunctions(n_features, max_literals=n_features)
    points = cube(n_features)
    assert len(family.patterns(points)) == len(family.hypotheses) == 3**n_features + 1
    shattered = max(
        d
        for d in range(len(points) + 1)
        if any(len(family.patterns(points[list(rows)])) == 2**d for rows in combinations(range(len(points)), d))
    )
    assert shattered == family.vc == max(n_features, 2)


def test_the_empty_conjunction_comes_first_and_holds_everywhere():
    family = conjunctions(4, max_literals=1)
    assert family.hypotheses[0] == Conjunction(())
    assert family.hypotheses[0].predict(cube(4)).all()
    assert not family.hypotheses[-1].predict(cube(4)).any()
    assert len(family.hypotheses) == 1 + 8 + 1


def test_decision_lists_on_two_features_are_all_functions_but_parity():
    family = decision_lists(2, max_rules=2)
    assert {h.predict(cube(2)).tobytes() for h in family.patterns(cube(2))} == {
        np.array(y, dtype=np.int32).tobytes()
        for y in product((0, 1), repeat=4)
        if y not in {(0, 1, 1, 0), (1, 0, 0, 1)}
    }


def test_the_count_of_decision_lists_is_what_is_announced():
    assert len(decision_lists(3, max_rules=2).hypotheses) == 2 + 3 * 4 + 6 * 16
    with pytest.raises(InvalidParameter, match="There are 7565802 decision lists; mapl lists at most 1048576"):
        decision_lists(50, max_rules=3)
    with pytest.raises(InvalidParameter, match="Choose fewer features"):
        conjunctions(300, max_literals=3)


def test_sauer_counts_small_sets():
    assert [sauer(5, d) for d in (0, 1, 2, 5, 9)] == [1, 6, 16, 32, 32]
