"""Three sites count in cells of one plan: what leaves them, what is made of it, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sites import NAMES, Federation, federation, right, rows

from mapl.errors import InvalidData, InvalidParameter, PlanMismatch
from mapl.federation.agreement import SitesPlan
from mapl.federation.message import SiteAnswer, gather, read_answers
from mapl.federation.plan_folder import PlanFolder
from mapl.federation.ways import way_of
from mapl.pipeline.learn import Learned
from mapl.pipeline.runs.folder import RunFolder
from mapl.release.ledger.sqlite import SqliteLedger


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Federation, list[SiteAnswer], Learned]:
    three = federation(tmp_path_factory.mktemp("cells"), n_cells=30)
    return three, *three.all_rounds("ridge")


@pytest.fixture
def three(tmp_path: Path) -> Federation:
    return federation(tmp_path, n_cells=30)


def test_a_student_learns_what_all_sites_know(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    three, answers, learned = done
    assert right(learned) > 0.85
    together = {path.name for path in (three.here / "together" / "public").iterdir()}
    assert together >= {
        "student.skops",
        "card.md",
        "statement.json",
        "labels.parquet",
        "cells.parquet",
        "sites.json",
    }
    told = json.loads((three.here / "together" / "public" / "sites.json").read_text())
    assert [(one["site"], one["seal"]) for one in told] == [(one.site, one.seal) for one in answers]
    assert not (three.here / "together" / "private").exists()


def test_the_counts_are_the_sums_of_what_left_the_sites(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    _, answers, learned = done
    assert learned.counted is not None
    (only,) = learned.counted.rounds
    assert (only.counts.ravel() == np.sum([one.numbers for one in answers], axis=0)).all()
    assert abs(int(only.counts.sum()) - 1800) < 6 * only.deviation * np.sqrt(only.counts.size)
    assert only.deviation == pytest.approx(np.sqrt(3) * learned.labelled.mechanism.deviation)  # type: ignore[union-attr]


def test_every_site_adds_noise_of_its_own_and_keeps_account(
    done: tuple[Federation, list[SiteAnswer], Learned],
) -> None:
    """What leaves a site is what its ledger recorded, and not the true counts (false alarms: below 1e-9)."""
    three, answers, _ = done
    noise = []
    way = way_of(three.agreed, case := three.plan.case_of_nobody(three.agreed))
    for answer in answers:
        table = pq.read_table(three.here / f"{answer.site}.parquet")
        codes = (np.array(table["y"]) == "yes").astype(np.int32)
        shown = table.select(case.declared.schema.names)
        true = way.planned.cells.counts(shown, codes, 2).ravel()  # type: ignore[union-attr]
        noise.append(answer.numbers - true)
        assert np.abs(noise[-1]).mean() < 3
        with SqliteLedger(three.site(answer.site).folder.ledger) as ledger:
            assert (ledger.progress("counts").labels == answer.numbers).all()
        assert answer.statement["guaranteed_epsilon"] == 2.0
        assert answer.statement["delta"] == 0.0
    assert np.concatenate(noise).any()
    assert len({one.tobytes() for one in noise}) == 3
    assert len({one.statement["run_id"] for one in answers}) == 3


def test_the_statement_names_sites_unit_and_what_more_sites_cost(
    done: tuple[Federation, list[SiteAnswer], Learned],
) -> None:
    said = done[2].labelled.statement
    assert (said.guaranteed_epsilon, said.delta, said.private) == (2.0, 0.0, True)
    assert said.unit.endswith("at one site")
    assert said.adjacency.endswith("at one site")
    assert all(name in said.in_plain_words for name in NAMES)
    assert any("more than 1 of the sites" in one and "epsilon 2 and delta 0" in one for one in said.assumptions)
    assert said.parameters["sites"] == 3


def test_a_person_at_several_sites_shares_the_budget_among_them(tmp_path: Path) -> None:
    three = federation(tmp_path, epsilon=1.0, k=3, n_cells=30)
    assert three.agreed.site_budget.epsilon * 3 <= 1.0
    answers, learned = three.all_rounds("ridge")
    assert {one.statement["guaranteed_epsilon"] for one in answers} == {three.agreed.site_budget.epsilon}
    said = learned.labelled.statement
    assert said.guaranteed_epsilon == pytest.approx(1.0)
    assert said.unit.endswith("at up to 3 sites")
    assert not any("more than" in one and "of the sites" in one for one in said.assumptions)


def test_an_answer_is_given_once(three: Federation) -> None:
    """Who asks again is told the same, and nothing is spent; another site has no business in that folder."""
    here = three.site("north")
    first, ledger = here.answer(), here.folder.ledger.read_bytes()
    assert three.site("north").answer().to_bytes() == first.to_bytes()
    assert here.folder.ledger.read_bytes() == ledger
    with pytest.raises(InvalidParameter, match="holds all answers of a site, and none of south"):
        replace(three.site("south"), folder=here.folder).answer()
    here.file_of(first).unlink()
    with pytest.raises(InvalidParameter, match="none of north"):
        here.answer()


def test_a_killed_site_sends_what_is_on_record(three: Federation) -> None:
    """The spend is durable, and the file is not there yet: the same command draws nothing anew."""
    here = three.site("north")
    first = here.answer()
    here.file_of(first).unlink()
    (here.folder.private / "finished").unlink()
    for name in ("statement.json", "ledger.jsonl"):
        (here.folder.public / name).unlink()
    assert here.answer().to_bytes() == first.to_bytes()


def test_a_site_does_not_go_on_with_another_table(three: Federation) -> None:
    here = three.site("north")
    here.answer()
    (here.folder.private / "finished").unlink()
    with pytest.raises(PlanMismatch, match="other tables"):
        three.site("north", "south").answer()


def test_a_missing_site_is_named_and_may_be_left_out(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    three, answers, _ = done
    some = [one for one in answers if one.site != "south"]
    with pytest.raises(InvalidData, match="no answer of south"):
        three.coordinator("fewer").combine(some)
    assert not (three.here / "fewer").exists()
    learned = three.coordinator("fewer").combine(some, left_out=["south"], student="ridge")
    assert isinstance(learned, Learned)
    assert "south" not in learned.labelled.statement.in_plain_words
    assert learned.labelled.statement.parameters["sites"] == 2


def test_answers_that_do_not_fit_are_refused(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    three, answers, _ = done
    with pytest.raises(InvalidData, match="two answers of 'north'"):
        gather([*answers, answers[0]], three.agreed)
    with pytest.raises(InvalidData, match="another plan"):
        gather([replace(answers[0], agreement="0" * 64), *answers[1:]], three.agreed)
    with pytest.raises(InvalidParameter, match="no site 'east'"):
        gather([*answers, replace(answers[0], site="east")], three.agreed)
    with pytest.raises(InvalidData, match="earlier round"):
        gather([replace(one, round=2) for one in answers], three.agreed)
    coordinator = three.coordinator("refused")
    for odd in (
        replace(answers[0], numbers=answers[0].numbers[1:]),
        replace(answers[0], statement={**answers[0].statement, "guaranteed_epsilon": 0.1}),
        replace(answers[0], statement={**answers[0].statement, "plan_digest": None}),
    ):
        with pytest.raises(InvalidData, match="does not fit the plan"):
            coordinator.combine([odd, *answers[1:]])
    with pytest.raises(InvalidData, match="after other rounds"):
        coordinator.combine([replace(answers[0], heard="1" * 64), *answers[1:]])
    with pytest.raises(InvalidParameter, match="no answers"):
        coordinator.combine([])
    assert not (three.here / "refused").exists()


@pytest.mark.parametrize("damage", [b'"numbers":[', b'"round":1', b'"private":true', b'"site":"north"'])
def test_a_file_that_was_changed_is_refused(
    damage: bytes, done: tuple[Federation, list[SiteAnswer], Learned], tmp_path: Path
) -> None:
    content = done[1][0].to_bytes()
    changes = {
        b'"numbers":[': b'"numbers":[1',
        b'"round":1': b'"round":2',
        b'"private":true': b'"private":false',
        b'"site":"north"': b'"site":"south"',
    }
    assert damage in content
    (tmp_path / "answer.json").write_bytes(content.replace(damage, changes[damage], 1))
    with pytest.raises(InvalidData, match="was changed"):
        read_answers([tmp_path / "answer.json"])


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\xff", b"null", b'{"seal": 1, "mapl_site": 1, "numbers": 3}']
)
def test_what_is_no_answer_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidData, match="no answer of a site"):
        SiteAnswer.of_bytes(content, "it")


def test_a_plan_that_was_changed_is_refused(three: Federation) -> None:
    agreed = three.plan.path / "federation.json"
    text = agreed.read_text()
    agreed.write_text(text.replace('"epsilon": 2.0', '"epsilon": 9.0'))
    with pytest.raises(InvalidData, match="fetch it anew"):
        three.site("north").answer()
    agreed.write_text(text)
    pq.write_table(rows(301, 1, labelled=False), three.plan.path / "public.parquet")
    with pytest.raises(InvalidData, match="not the file"):
        three.site("north").answer()
    assert not (three.here / "run-north").exists()


def test_a_machine_that_draws_otherwise_spends_nothing(three: Federation) -> None:
    other = replace(three.agreed, drawn="0" * 64)
    shutil.copytree(three.plan.path, three.here / "other")
    (three.here / "other" / "federation.json").write_text(other.to_json())
    here = replace(three.site("north"), plan=PlanFolder(three.here / "other"))
    with pytest.raises(PlanMismatch, match="another map"):
        here.answer()
    assert not (three.here / "run-north").exists()


def test_strangers_and_odd_plans_are_refused(three: Federation) -> None:
    with pytest.raises(InvalidParameter, match="no site 'east'"):
        three.site("east").answer()
    with pytest.raises(InvalidParameter, match="at least two"):
        replace(three.agreed, sites=("north", "north"))
    with pytest.raises(InvalidParameter, match="small letters"):
        replace(three.agreed, sites=("north", "../west"))
    with pytest.raises(InvalidParameter, match="there are 3"):
        replace(three.agreed, sites_per_person=4)
    with pytest.raises(InvalidParameter, match="sites count in cells"):
        replace(three.agreed, method="teachers")
    assert SitesPlan.from_json(three.agreed.to_json()) == three.agreed


def test_a_seed_taints_everything(three: Federation) -> None:
    answers = [three.site(name).answer(seed=1 if name == "west" else None) for name in NAMES]
    learned = three.coordinator().combine(answers, student="ridge")
    assert isinstance(learned, Learned)
    assert [one.private for one in answers] == [True, True, False]
    assert not learned.labelled.statement.private


def test_nothing_is_combined_into_the_folder_of_a_site(done: tuple[Federation, list[SiteAnswer], Learned]) -> None:
    three, answers, _ = done
    coordinator = replace(three.coordinator(), folder=RunFolder(three.here / "run-north"))
    with pytest.raises(InvalidParameter, match="holds another run"):
        coordinator.combine(answers)
