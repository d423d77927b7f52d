"""Bags: at most s per unit, by the unit's own id, and one unit more or less changes at most s of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.bags import NO_BAG, Bagged, Bags, Partitions, Subsamples
from mapl.data.units.identities import Identities
from mapl.data.units.shards import ShardKey
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter

KEY = ShardKey(bytes(32))
IDS = [f"person {i}".encode() for i in range(400)]
RULES = [Partitions(KEY, 20), Partitions(KEY, 20, 4), Subsamples(KEY, 50, 0.1, 8)]


@pytest.mark.parametrize("rule", RULES)
def test_a_units_bags_depend_on_its_id_alone(rule: Bags) -> None:
    together = rule.of(IDS)
    alone = np.concatenate([rule.of([one]) for one in IDS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(rule.of(IDS[::-1]), together[::-1])


@pytest.mark.parametrize("rule", RULES)
def test_nobody_is_in_more_bags_than_declared(rule: Bags) -> None:
    for row in rule.of(IDS):
        own = row[row != NO_BAG]
        assert len(set(own.tolist())) == len(own) <= rule.most
        assert ((own >= 0) & (own < rule.n_bags)).all()


def test_partitions_use_every_round_and_fill_every_bag() -> None:
    bags = Partitions(KEY, 20, 4).of(IDS)
    for j in range(4):
        assert set(bags[:, j].tolist()) == set(range(5 * j, 5 * j + 5))
    assert len({tuple(row) for row in (bags - 5 * np.arange(4)).tolist()}) > 200  # rounds are independent


def test_subsamples_have_about_the_declared_share_and_the_cap_binds() -> None:
    drawn = Subsamples(KEY, 50, 0.1, 50).of(IDS)
    each = (drawn != NO_BAG).sum(axis=1)
    assert 4.6 < each.mean() < 5.4  # 400 units of mean 5 and deviation 2.1: four deviations of the mean
    capped = (Subsamples(KEY, 50, 0.1, 5).of(IDS) != NO_BAG).sum(axis=1)
    np.testing.assert_array_equal(capped, np.minimum(each, 5))


@settings(max_examples=40, deadline=None)
@given(gone=st.integers(0, 59), s=st.sampled_from([1, 2, 3]), seed=st.integers(0, 5))
def test_without_one_unit_at_most_s_bags_change(gone: int, s: int, seed: int) -> None:
    world = np.random.default_rng(seed)
    people = world.integers(0, 20, size=60)
    rows = world.normal(size=(60, 2))
    kept = people != people[gone]
    whole, rest = (
        Bagged.of(rows[where], n_bags=12, occurrences=s, groups=people[where], key=KEY)
        for where in (np.ones(60, dtype=np.bool_), kept)
    )
    changed = [k for k in range(12) if not np.array_equal(whole.bag(k)[0], rest.bag(k)[0])]
    assert 1 <= len(changed) <= s


def test_features_and_labels_go_together() -> None:
    rows = np.arange(60.0).reshape(30, 2)
    bagged = Bagged.of(rows, rows[:, 0], n_bags=5)
    for k in range(5):
        features, labels = bagged.bag(k)
        np.testing.assert_array_equal(features[:, 0], labels)
    assert sum(len(bagged.bag(k)[1]) for k in range(5)) == 30
    assert repr(bagged) == "Bagged(5 bags, private)"


class Straying:
    """Puts the rows of one unit into different bags."""

    n_bags, most = 4, 1

    def of(self, ids: Identities) -> np.ndarray:
        return np.arange(len(ids)).reshape(-1, 1) % 4


def test_a_rule_that_splits_a_unit_is_refused() -> None:
    with pytest.raises(GuaranteeBroken, match="more bags than was declared"):
        Bagged((PrivateRows(np.zeros((2, 1))),), Identities.gathered([[b"ann", b"ann"]]), Straying())


@pytest.mark.parametrize(("n_bags", "occurrences"), [(10, 3), (0, 1), (5, 0)])
def test_senseless_numbers_are_refused(n_bags: int, occurrences: int) -> None:
    with pytest.raises(InvalidParameter):
        Bagged.of(np.zeros((3, 1)), n_bags=n_bags, occurrences=occurrences)


def test_other_mistakes_are_refused() -> None:
    with pytest.raises(InvalidData, match="differ in number"):
        Bagged.of(np.zeros((3, 1)), np.zeros(2), n_bags=2)
    with pytest.raises(InvalidData, match="no rows"):
        Bagged.of(n_bags=2)
    with pytest.raises(InvalidParameter, match="share is 0"):
        Bagged.of(np.zeros((3, 1)), n_bags=2, share=0.0)
