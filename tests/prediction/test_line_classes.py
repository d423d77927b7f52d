"""What only the classes on a line, and stumps over many lines, can get wrong."""

import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.hypotheses import Intervals, Stumps, Thresholds, Unions
from mapl.prediction.hypotheses.line.stumps import first_of_equals
from mapl.prediction.hypotheses.line.switches import n_labelings


def test_a_threshold_stands_at_the_smallest_value_it_labels_1():
    T = np.array([[2.0], [1.0], [2.0]])
    assert [h.value for h in Thresholds().patterns(T)] == [1.0, 2.0, np.inf]


def test_an_interval_is_the_closed_hull_of_its_ones():
    T = np.array([[3.0], [1.0], [2.0], [2.0]])
    hulls = {h.intervals for h in Intervals().patterns(T)}
    assert hulls == {(), *(((low, high),) for low, high in [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])}


def test_copied_features_add_no_stumps_and_the_first_one_stands_for_all():
    column = np.random.default_rng(0).normal(size=(30, 1))
    alone = Stumps(1).patterns(column)
    copied = Stumps(4).patterns(np.concatenate([column, -column, 3 * column, column * 0], axis=1))
    assert len(alone) == 60
    assert {h.feature for h in copied} == {0}
    assert [(h.value, h.above) for h in copied] == [(h.value, h.above) for h in alone]


def test_stumps_of_many_features_are_counted_once_each():
    """Two of the seven features have the same row in front, so two labelings come from both."""
    T = np.random.default_rng(1).normal(size=(40, 7))
    patterns = Stumps(7).patterns(T)
    assert len(patterns) == len({h.predict(T).tobytes() for h in patterns}) == 546
    assert Stumps(7).n_patterns(40) == 2 * 7 * 39 + 2 == 548
    assert [Stumps(f).vc for f in (1, 2, 10, 100)] == [2, 3, 6, 10]


def test_labelings_that_agree_in_one_word_of_their_hash_only_stay_apart():
    first, second = [5, 3, 5, 5, 3, 9], [1, 2, 7, 1, 2, 1]
    assert first_of_equals(np.array([first, second], dtype=np.uint64)).tolist() == [0, 1, 2, 5]
    assert first_of_equals(np.array([first, first], dtype=np.uint64)).tolist() == [0, 1, 5]


def test_huge_and_tiny_values_are_compared_not_subtracted():
    T = np.array([[1e308], [-1e308], [5e-324], [0.0], [-0.0]])
    for family in (Thresholds(), Stumps(1), Intervals()):
        patterns = family.patterns(T)
        errors = patterns.errors(T, np.array([1, 0, 1, 0, 0]))
        assert errors.best == 0
        assert errors.law(50.0, np.array([5e-324])) == pytest.approx(1.0)


@pytest.mark.parametrize("family", [Thresholds(), Stumps(2), Intervals(), Unions(3)], ids=str)
def test_a_sharp_rate_on_many_examples_finds_the_best(family):
    """Masses down to e^-40000 overflow nothing and the best pattern is drawn."""
    rng = np.random.default_rng(2)
    X = rng.random((20_000, 2))
    y = (X[:, 0] > 0.3).astype(int)
    errors = family.patterns(X[:300]).errors(X, y)
    drawn = errors.draw(20.0, SeededCoins(3))
    assert (drawn.predict(X) != y).sum() == errors.best < 300
    assert errors.numerator(20.0, np.array([0.1, 0.5])) == 0
    assert errors.numerator(20.0, np.array([0.6, 0.5])) == ONE
    assert 0 < errors.law(0.002, np.array([0.1, 0.5])) < 0.2


def test_a_tiny_rate_draws_all_patterns_alike():
    T = np.arange(4.0)[:, None]
    errors = Unions(2).patterns(T).errors(T, np.array([0, 1, 0, 1]))
    shares = [errors.law(1e-12, x) for x in T]
    every = np.array([h.predict(T) for h in Unions(2).patterns(T)]).mean(axis=0)
    assert shares == pytest.approx(every.tolist())


def test_the_number_of_labelings_is_that_of_the_even_sets_of_switches():
    assert n_labelings(10, 1) == 10 * 11 // 2 + 1
    assert n_labelings(6, 3) == 2**6 == n_labelings(6, 99)
    assert len(Unions(9).patterns(np.arange(6.0)[:, None])) == 64


def test_permute_and_flip_refuses_what_it_cannot_list_and_says_what_to_do():
    T = np.arange(200.0)[:, None]
    errors = Unions(2).patterns(T).errors(T, (T[:, 0] > 7).astype(int))
    with pytest.raises(InvalidParameter, match="more than 1048576; draw by the exponential mechanism"):
        errors.draw(1.0, SeededCoins(0), by="permute-and-flip")
    assert errors.draw(30.0, SeededCoins(0)).predict(T)[8:].all()


def test_classes_of_nothing_are_refused():
    with pytest.raises(InvalidParameter, match="at least one feature"):
        Stumps(0)
    with pytest.raises(InvalidParameter, match="at least 1 and at most 100"):
        Unions(0)
