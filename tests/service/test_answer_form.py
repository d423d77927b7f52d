"""Replies have one size, whatever they say."""

from __future__ import annotations

import numpy as np
import orjson
from hypothesis import given
from hypothesis import strategies as st

from mapl.release.ledger.inquiries import NOT_ASKED, Reply
from mapl.service.answering.form import AnswerForm
from mapl.types import ABSTAIN

NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=5, unique=True)


@given(NAMES, st.data())
def test_the_size_depends_on_the_number_of_questions_alone(classes: list[str], data: st.DataObject) -> None:
    form = AnswerForm(classes)
    codes = st.sampled_from([ABSTAIN, NOT_ASKED, *range(len(classes))])
    n = data.draw(st.integers(1, 8))
    replies = [data.draw(st.lists(codes, min_size=n, max_size=n)) for _ in range(2)]
    written = [form.write(Reply("0" * 64, np.array(reply, dtype=np.int32))) for reply in replies]
    assert len(written[0]) == len(written[1])
    for reply, text in zip(replies, written, strict=True):
        told = orjson.loads(text)["answers"]
        assert [one["label"] for one in told] == [classes[code] if code >= 0 else None for code in reply]
        statuses = {ABSTAIN: "abstained", NOT_ASKED: "not asked"}
        assert [one["status"] for one in told] == [statuses.get(code, "answered") for code in reply]
