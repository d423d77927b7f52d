import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.prediction.candidates.net import Net
from mapl.prediction.hypotheses import Intervals, Thresholds


@pytest.mark.parametrize("hypotheses", [Thresholds(), Intervals()])
def test_every_pattern_is_near_one_that_stays_and_those_are_apart(hypotheses):
    T = np.random.default_rng(0).random((20, 1))
    net = Net(hypotheses, 0.2)
    kept = np.array([h.predict(T) for h in net.patterns(T)])
    everything = np.array([h.predict(T) for h in hypotheses.patterns(T)])
    apart = (everything[:, None] != kept[None]).sum(axis=2)
    assert apart.min(axis=1).max() <= 4
    own = (kept[:, None] != kept[None]).sum(axis=2) + 100 * np.eye(len(kept), dtype=int)
    assert own.min() > 4
    assert len(kept) < len(everything) / 3
    assert len(kept) <= net.n_patterns(20) <= hypotheses.n_patterns(20)


def test_the_size_does_not_grow_with_the_points():
    net = Net(Thresholds(), 0.1)
    assert net.n_patterns(10**9) == net.n_patterns(10**6) < 1000
    assert net.vc == 1
    assert len(net.patterns(np.empty((0, 1)))) == 1


def test_what_cannot_be_listed_is_refused():
    with pytest.raises(InvalidParameter, match="smaller subset"):
        Net(Intervals(), 0.1).patterns(np.arange(500.0)[:, None])
    with pytest.raises(InvalidParameter, match="radius is 0"):
        Net(Intervals(), 0.0)
