"""Three sites add up moments in rounds: each is answered with the model of the sums of all sites before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sites import NAMES, Federation, federation, right

from mapl.errors import InvalidData, InvalidParameter
from mapl.federation.by_moments import ByMoments
from mapl.federation.message import SiteAnswer
from mapl.federation.rounds import AddedUp, Heard
from mapl.pipeline.learn import Learned
from mapl.pipeline.sums.targets import DEVIATION
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.moment_sums import TOLD_BITS


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Federation, list[SiteAnswer], Learned]:
    three = federation(tmp_path_factory.mktemp("moments"), "moments", n_rows=1800)
    return three, *three.all_rounds()


@pytest.fixture
def three(tmp_path: Path) -> Federation:
    return federation(tmp_path, "moments", n_rows=1800)


def test_a_student_learns_what_all_sites_know(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    three, answers, learned = done
    assert right(learned) > 0.9
    said = learned.labelled.statement
    assert (said.guaranteed_epsilon, said.delta) == (2.0, 1e-6)
    assert len(answers) > 3
    assert len(answers) % 3 == 0
    for name in NAMES:
        assert three.site(name).folder.finished
        with SqliteLedger(three.site(name).folder.ledger) as ledger:
            recorded = ledger.progress("sums").labels
        sent = np.concatenate([one.numbers for one in answers if one.site == name])
        assert (recorded == sent).all()


def test_the_model_knows_how_many_people_there_are(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    """The last number of a round counts people; of all sites together these are three times 600."""
    three, answers, _ = done
    heard = three.coordinator().combine([one for one in answers if one.round == 1])
    assert isinstance(heard, Heard)
    way = ByMoments.of(three.agreed, three.plan.case_of_nobody(three.agreed))
    seen = way._seen(heard)
    told = way._in_deviations(heard)[0]
    people = told[-1] * DEVIATION / seen.clip(0).count
    assert people == pytest.approx(1800, abs=6 * DEVIATION / seen.clip(0).count)


def test_a_site_that_dies_in_the_middle_is_left_out_from_then_on(three: Federation) -> None:
    answers = three.answers()
    heard = three.coordinator().combine(answers)
    assert isinstance(heard, Heard)
    alive = ("north", "west")
    while isinstance(heard, Heard):
        answers += three.answers(heard, alive)
        with pytest.raises(InvalidData, match="no answer of south"):
            three.coordinator().combine(answers)
        heard = three.coordinator().combine(answers, left_out=["south"])
    assert right(heard) > 0.9
    assert "south" in heard.labelled.statement.in_plain_words  # what it said before it died counts


def test_a_killed_site_finds_its_round_again_and_answers_no_later_one_alone(three: Federation) -> None:
    first = three.site("north").answer()
    assert three.site("north").answer().to_bytes() == first.to_bytes()
    heard = three.coordinator().combine([first, *three.answers(names=("south", "west"))])
    assert isinstance(heard, Heard)
    second = three.site("north").answer(heard)
    assert (second.round, second.heard) == (2, heard.digest)
    assert three.site("north").answer(heard).to_bytes() == second.to_bytes()


def test_a_site_that_missed_a_round_cannot_go_on(three: Federation) -> None:
    heard = three.coordinator().combine(three.answers(names=("north", "south")), left_out=["west"])
    assert isinstance(heard, Heard)
    with pytest.raises(InvalidData, match="missed one"):
        three.site("west").answer(heard)
    with SqliteLedger(three.site("west").folder.ledger) as ledger:
        assert ledger.progress("sums").state.answered == 0


def test_rounds_that_do_not_fit_are_refused_before_anything_is_spent(three: Federation) -> None:
    heard = three.coordinator().combine(three.answers())
    assert isinstance(heard, Heard)
    (only,) = heard.rounds
    cases = {
        "another plan": Heard("0" * 64, heard.rounds),
        "other numbers": Heard(heard.agreement, (AddedUp(only.sites, only.numbers[1:]),)),
        "rounds of this plan are over": Heard(heard.agreement, heard.rounds * 9),
    }
    for words, odd in cases.items():
        with pytest.raises((InvalidData, InvalidParameter), match=words):
            three.site("north").answer(odd)
    content = heard.to_bytes()
    assert Heard.of_bytes(content, "it").digest == heard.digest
    for changed in (
        b"",
        b"[]",
        content.replace(b'"north"', b'"east"'),
        content.replace(b'"numbers":[', b'"numbers":[1'),
    ):
        with pytest.raises(InvalidData, match="tells no rounds"):
            Heard.of_bytes(changed, "it")


def test_an_answer_after_other_rounds_is_not_added_up(three: Federation) -> None:
    answers = three.answers()
    heard = three.coordinator().combine(answers)
    assert isinstance(heard, Heard)
    later = three.answers(heard)
    with pytest.raises(InvalidData, match="after other rounds"):
        three.coordinator("other").combine([*answers, replace(later[0], heard=""), *later[1:]])


def test_what_is_heard_moves_no_reach(three: Federation) -> None:
    """A coordinator that speaks of a hundred sites is believed, and the answer is as long and as noisy as ever."""
    heard = three.coordinator().combine(three.answers())
    assert isinstance(heard, Heard)
    (only,) = heard.rounds
    many = tuple(f"site-{i}" for i in range(100))
    answer = three.site("north").answer(Heard(heard.agreement, (AddedUp(many, only.numbers),)))
    clip = ByMoments.of(three.agreed, three.plan.case_of_nobody(three.agreed)).planned.clip(1)
    people = answer.numbers[-1] / (1 << TOLD_BITS) * DEVIATION / clip.count
    assert people == pytest.approx(600, abs=6 * DEVIATION / clip.count)
