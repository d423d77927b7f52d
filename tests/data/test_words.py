"""Words of texts: endings share a place, codes do not, and students of before see whole words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.encoding.scored_text import ScoredText
from mapl.data.moments.words import WIDTH, word_vectors, words_of


def places(text: str, letters: int | None = 6) -> list[int]:
    return sorted(word_vectors(pa.table({"note": [text]}), ["note"], letters).indices.tolist())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("entertaining", "Entertained", True),
        ("ENTERT", "entertainment", True),
        ("good", "goods", False),
        ("A100234567", "A100234568", False),
        ("größtenteils", "größte", True),
        ("x", "y", True),
    ],
)
def test_endings_share_a_place_and_codes_do_not(one: str, other: str, same: bool) -> None:
    assert (places(one) == places(other)) is same


def test_whole_words_are_the_words_of_before() -> None:
    """What scikit-learn takes for a word by itself is what older files were made with."""
    from sklearn.feature_extraction.text import HashingVectorizer

    text = "It's a_b 7 77 x, Entertaining; entertained - naïve 2024-01-31 \u4f60\u597d"
    plain = HashingVectorizer(n_features=WIDTH, alternate_sign=False).transform([text])
    assert places(text, None) == sorted(plain.indices.tolist())
    assert len(places(text)) == len(places(text, None)) - 1


def test_a_beginning_is_told_as_one() -> None:
    rows = pa.table({"note": ["entertaining plot", "code A1002345678 plot", "strange stranger"]})
    words, where = words_of(rows, ["note"])
    assert words == ["a1002345678", "code", "entert...", "plot", "strang..."]
    assert [places(word.removesuffix("...")) for word in words] == [[place] for place in where]


@pytest.mark.parametrize("empty", ["", "!!", "a b", None])
def test_texts_without_a_word_have_none(empty: str | None) -> None:
    rows = pa.table({"note": pa.array([empty, empty], pa.string()), "more": ["good", "!"]})
    assert words_of(rows, ["note"])[0] == []
    words, where = words_of(rows, ["note", "more"])
    assert words == ["good"]
    assert where.shape == (1,)
    assert where[0] >= WIDTH


def test_an_encoder_of_before_sees_whole_words() -> None:
    rows = pa.table({"note": ["entertaining", "entertained", "dull"]})
    said = np.zeros((WIDTH, 2))
    said[places("entert"), 1] = 1.0
    said[places("entertained", None), 0] = 1.0
    now = ScoredText.of_public(rows, ["note"], said, None)
    before = ScoredText.of_public(rows, ["note"], said, None)
    del before.__dict__["letters"]  # as it is in a file that knows of none
    assert np.ptp(now.transform(rows)[:2]) == 0
    assert before.transform(rows).argmin() == 1
    assert before.get_params()["letters"] is None
