"""Masks cancel to the last bit, a single masked answer says nothing, and what does not fit together is refused."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sites import NAMES, Federation, federation

from mapl.errors import InvalidData
from mapl.federation.masks import agree, draw_mask, mask, new_key
from mapl.federation.message import LARGEST, SiteAnswer, gather
from mapl.federation.rounds import AddedUp
from mapl.pipeline.learn import Learned


def shared_by(site: str, sites: tuple[str, ...] = NAMES) -> dict[str, bytes]:
    """Return what a site shares with each of the others, as if they had agreed on it."""
    return {other: sha256(",".join(sorted((site, other))).encode()).digest() for other in sites if other != site}


def masked(answers: list[SiteAnswer], sites: tuple[str, ...] = NAMES) -> list[SiteAnswer]:
    return [mask(one, shared_by(one.site, sites)) for one in answers if one.site in sites]


def answer_of(site: str, numbers: Any) -> SiteAnswer:
    said = {"in_plain_words": "", "private": True, "ledger_head": "f" * 64}
    return SiteAnswer("a" * 64, site, 1, "", np.asarray(numbers, dtype=np.int64), said)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Federation, list[SiteAnswer]]:
    three = federation(tmp_path_factory.mktemp("masks"), n_cells=30)
    return three, three.answers()


def test_masks_cancel_to_the_last_bit() -> None:
    numbers = np.random.default_rng(0).integers(-LARGEST, LARGEST, size=(3, 1000))
    numbers[:, :4] = [[LARGEST, -LARGEST, 0, 1]] * 3
    plain = [answer_of(name, row) for name, row in zip(NAMES, numbers, strict=True)]
    hidden = masked(plain)
    assert (AddedUp.of(hidden).numbers == numbers.sum(axis=0)).all()
    assert {one.masked for one in hidden} == {NAMES}
    for one in hidden:
        assert SiteAnswer.of_bytes(one.to_bytes(), "it").to_bytes() == one.to_bytes()


def test_masked_numbers_are_uniform_and_nothing_else_tells_of_them() -> None:
    """Of all 64 bits about half are set, whatever was masked (4000 draws each; false alarms: below 1e-8)."""
    hidden = mask(answer_of("north", np.zeros(4000)), shared_by("north"))
    bits = np.unpackbits(hidden.numbers.view(np.uint8)).reshape(4000, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 7 * 0.5 / np.sqrt(4000)
    assert hidden.statement["ledger_head"] is None
    assert "ledger_head" in answer_of("north", [0]).statement


def test_other_rounds_and_other_sites_have_other_masks() -> None:
    one = answer_of("north", np.zeros(50))
    kinds = (
        mask(one, shared_by("north")),
        mask(replace(one, round=2), shared_by("north")),
        mask(replace(one, heard="b" * 64), shared_by("north")),
        mask(replace(one, agreement="c" * 64), shared_by("north")),
        mask(one, shared_by("north", NAMES[:2])),
    )
    assert len({tuple(kind.numbers) for kind in kinds}) == len(kinds)
    assert not np.intersect1d(kinds[0].numbers, kinds[1].numbers).size
    assert (draw_mask(b"ab", b"c", 5) != draw_mask(b"a", b"bc", 5)).any()


def test_a_coordinator_makes_of_masked_answers_what_it_makes_of_plain_ones(
    done: tuple[Federation, list[SiteAnswer]],
) -> None:
    three, answers = done
    found = [
        three.coordinator(out).combine(given, student="ridge")
        for out, given in (("plain", answers), ("masked", masked(answers)))
    ]
    plain, hidden = (one for one in found if isinstance(one, Learned))
    assert plain.counted is not None
    assert hidden.counted is not None
    assert (plain.counted.rounds[0].counts == hidden.counted.rounds[0].counts).all()
    assert (plain.labelled.labels == hidden.labelled.labels).all()


def test_a_site_that_dies_takes_nothing_along_once_the_others_are_masked_anew(
    done: tuple[Federation, list[SiteAnswer]],
) -> None:
    three, answers = done
    some = [one for one in masked(answers) if one.site != "south"]
    with pytest.raises(InvalidData, match="masked with other sites"):
        gather(some, three.agreed, ["south"])
    alive = ("north", "west")
    rounds = gather(masked(answers, alive), three.agreed, ["south"])
    plain = np.sum([one.numbers for one in answers if one.site in alive], axis=0)
    assert (AddedUp.of(rounds[0]).numbers == plain).all()


def test_what_does_not_fit_together_is_refused(done: tuple[Federation, list[SiteAnswer]]) -> None:
    three, answers = done
    hidden = masked(answers)
    with pytest.raises(InvalidData, match="masked with other sites"):
        gather([answers[0], *hidden[1:]], three.agreed)
    damaged = replace(hidden[0], numbers=hidden[0].numbers[::-1].copy())
    with pytest.raises(InvalidData, match="do not cancel"):
        AddedUp.of([damaged, *hidden[1:]])
    with pytest.raises(InvalidData, match="not with itself"):
        mask(answers[0], shared_by("south"))
    with pytest.raises(InvalidData, match="at least one"):
        mask(answers[0], {})
    far = answer_of("north", [LARGEST + 1])
    with pytest.raises(InvalidData, match="no answer of a site"):
        SiteAnswer.of_bytes(far.to_bytes(), "it")


@pytest.mark.skipif(find_spec("cryptography") is None, reason="cryptography is not installed (mapl[flower])")
def test_two_sites_agree_on_a_secret_and_a_third_does_not_know_it() -> None:
    (north, for_north), (south, for_south), (west, _) = new_key(), new_key(), new_key()
    assert agree(north, {"south": for_south})["south"] == agree(south, {"north": for_north})["north"]
    assert agree(west, {"south": for_south})["south"] != agree(north, {"south": for_south})["south"]
    for odd in (b"", b"\0" * 32, b"\1" + b"\0" * 31):
        with pytest.raises(InvalidData, match="public key"):
            agree(north, {"south": odd})


def test_an_answer_that_was_given_is_found_again_and_not_for_other_rounds(tmp_path: Path) -> None:
    three = federation(tmp_path, n_cells=30)
    assert three.site("north").sent() is None
    answer = three.site("north").answer()
    again = three.site("north").sent()
    assert again is not None
    assert again.to_bytes() == answer.to_bytes()
    other = federation(tmp_path / "other", n_cells=20)
    assert replace(three.site("north"), plan=other.plan).sent() is None
