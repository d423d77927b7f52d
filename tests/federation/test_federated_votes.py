"""Teachers at three sites vote on public rows of one plan: what leaves the sites, and what is made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sites import NAMES, Federation, federation, right

from mapl.errors import InvalidData, InvalidParameter, MaplError
from mapl.federation import by_votes
from mapl.federation.agreement import SitesPlan
from mapl.federation.by_votes import ByVotes
from mapl.federation.message import SiteAnswer
from mapl.federation.rounds import AddedUp, Heard
from mapl.noise import SystemCoins
from mapl.noise.gaussian import DEVIATION_BITS
from mapl.pipeline.learn import Learned
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.moment_sums import TOLD_BITS
from mapl.types import ABSTAIN

N_TEACHERS = 40


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Federation, list[SiteAnswer], Learned]:
    three = federation(tmp_path_factory.mktemp("votes"), "votes", epsilon=8.0, n_teachers=N_TEACHERS)
    return three, *three.all_rounds("ridge")


@pytest.fixture
def three(tmp_path: Path) -> Federation:
    return federation(tmp_path, "votes", epsilon=8.0, n_teachers=N_TEACHERS, n_queries=60)


def way(three: Federation) -> ByVotes:
    return ByVotes.of(three.agreed, three.plan.case_of_nobody(three.agreed))


def test_a_student_learns_what_all_sites_know(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    three, answers, learned = done
    assert right(learned) > 0.8
    said = learned.labelled.statement
    assert (said.guaranteed_epsilon, said.delta, said.private) == (8.0, 1e-6, True)
    assert (said.teachers, said.mechanism) == (3 * N_TEACHERS, "vote-sums")
    assert said.unit.endswith("at one site")
    assert {(one.statement["teachers"], one.statement["delta"]) for one in answers} == {(N_TEACHERS, 1e-6)}
    settings = json.loads((three.here / "together" / "public" / "settings.json").read_text())
    assert (settings["method"], settings["learner"]) == ("votes", "ridge")


def test_what_leaves_a_site_is_on_its_record_and_counts_its_teachers(
    done: tuple[Federation, list[SiteAnswer], Learned],
) -> None:
    """Every question has about as many votes as there are teachers (false alarms: below 1e-6)."""
    three, answers, _ = done
    mechanism = way(three).mechanism
    noise = (1 << DEVIATION_BITS) / mechanism.worth
    for answer in answers:
        with SqliteLedger(three.site(answer.site).folder.ledger) as ledger:
            assert (ledger.progress("votes").labels == answer.numbers).all()
        votes = answer.numbers.reshape(-1, 2) / (1 << TOLD_BITS) * noise
        off = votes.sum(axis=1) - N_TEACHERS
        assert np.abs(off).max() < 7 * np.sqrt(2) * noise
        assert off.std() > 0.5 * noise  # which nobody's exact counts would be
    assert len({one.numbers.tobytes() for one in answers}) == 3


def test_labels_are_given_where_votes_stand_out_of_the_noise_of_all_sites(three: Federation) -> None:
    made, case = way(three), three.plan.case_of_nobody(three.agreed)
    numbers = np.zeros((60, 2), dtype=np.int64)
    lead = (1 << TOLD_BITS) * np.sqrt(2 * 3)
    numbers[0, 1], numbers[1, 0], numbers[2, 1] = np.ceil(lead), np.ceil(lead), np.floor(lead)
    heard = Heard(three.agreed.digest, (AddedUp(NAMES, numbers.ravel()),))
    labelled = made.combine(heard, case, SystemCoins()).labelled
    assert labelled.released.labels[:3].tolist() == [1, 0, ABSTAIN]
    assert (labelled.released.labels[3:] == ABSTAIN).all()
    assert labelled.labels[made.asked[0]] == 1
    nothing = Heard(three.agreed.digest, (AddedUp(NAMES, np.zeros(120, dtype=np.int64)),))
    assert made.combine(nothing, case, SystemCoins()).lesson is None


def test_a_killed_site_goes_on_and_draws_nothing_twice(three: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time it dies once the votes are counted, the second time once they are on record."""

    class Killed(BaseException):
        pass

    def die(*given: object) -> None:
        raise Killed

    with monkeypatch.context() as context:
        context.setattr(by_votes.VoteSums, "add_up", die)
        with pytest.raises(Killed):
            three.site("north").answer()
    with SqliteLedger(three.site("north").folder.ledger) as ledger:
        assert ledger.progress("votes").state.answered == 0
    with monkeypatch.context() as context:
        context.setattr("mapl.federation.site.publish_files", die)
        with pytest.raises(Killed):
            three.site("north").answer()
    with SqliteLedger(three.site("north").folder.ledger) as ledger:
        recorded = ledger.progress("votes").labels
    answer = three.site("north").answer()
    assert (answer.numbers == recorded).all()
    assert three.site("north").answer().to_bytes() == answer.to_bytes()


def test_a_site_of_another_plan_is_not_added_up(three: Federation, tmp_path: Path) -> None:
    other = federation(tmp_path / "other", "votes", epsilon=8.0, n_teachers=N_TEACHERS + 1, n_queries=60)
    answers = [*three.answers(names=NAMES[:2]), other.site("west").answer()]
    with pytest.raises(InvalidData, match="another plan"):
        three.coordinator().combine(answers)
    forged = replace(answers[-1], agreement=three.agreed.digest)
    with pytest.raises(InvalidData, match="does not fit the plan"):
        three.coordinator().combine([*answers[:2], forged])


def test_teachers_and_questions_follow_from_public_facts(tmp_path: Path) -> None:
    settled = federation(tmp_path, "votes", epsilon=8.0, n_rows=1800).agreed
    assert (settled.n_teachers, settled.learner) == (36, "ridge")
    assert settled.n_queries is not None
    assert 50 <= settled.n_queries <= 300
    assert SitesPlan.from_json(settled.to_json()) == settled


def test_odd_plans_are_refused(three: Federation, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="no learner 'os:system'"):
        replace(three.agreed, learner="os:system")
    with pytest.raises(InvalidParameter, match="is about teachers"):
        replace(three.agreed, method="cells")
    with pytest.raises(MaplError, match="1048576 are allowed"):
        federation(tmp_path / "many", "votes", n_teachers=1 << 21)
    with pytest.raises(InvalidParameter, match="count in no cells"):
        federation(tmp_path / "mixed", "votes", n_cells=30)


@pytest.mark.parametrize("n_teachers", [None, 1 << 21])
def test_a_plan_by_hand_without_teachers_or_with_too_many_trains_nobody(
    three: Federation, n_teachers: int | None
) -> None:
    forged = replace(three.agreed, n_teachers=n_teachers)
    with pytest.raises(InvalidParameter, match="1 to 1048576 are allowed"):
        ByVotes.of(forged, three.plan.case_of_nobody(forged))
