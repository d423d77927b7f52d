"""API keys: made once, kept as digests, recognised in constant time."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mapl.errors import InvalidParameter
from mapl.release.ledger.inquiries import KeyRecord
from mapl.service.access.keys import KeyMaker, derive_key

NOW = 1_800_000_000.0
MAKER = KeyMaker.of(bytes(range(32)))


def recognised(token: str, *records: KeyRecord) -> KeyRecord | None:
    return MAKER.recognised(token, {record.id: record for record in records}, now=NOW)


def test_a_key_is_recognised_and_nothing_else_is() -> None:
    token, record = MAKER.new("ann", ["ask"])
    other, others = MAKER.new("bob", ["read"])
    assert recognised(token, record, others) == record
    assert recognised(other, record) is None
    assert recognised(token.replace(record.id, others.id), record, others) is None
    assert recognised(token[:-1] + ("A" if token[-1] != "A" else "B"), record) is None
    assert recognised(token + "A", record) is None
    assert recognised("x" + token, record) is None
    assert recognised(token + "A" * 10_000, record) is None
    assert recognised(token, replace(record, revoked=True)) is None
    assert recognised(token, replace(record, expires=int(NOW) + 1)) is not None
    assert recognised(token, replace(record, expires=int(NOW))) is None
    for nonsense in ("", "_", "__", "mapl_", f"mapl_{record.id}", f"mapl_{record.id}_", "mapl_\x00_é"):
        assert recognised(nonsense, record) is None


def test_a_key_has_256_random_bits_and_none_of_them_are_kept() -> None:
    made = [MAKER.new("ann", ["ask"]) for _ in range(50)]
    assert all(re.fullmatch(r"mapl_[0-9a-f]{12}_[\w-]{43}", token) for token, _ in made)
    assert len({token for token, _ in made}) == len({record.id for _, record in made}) == 50
    token, record = made[0]
    assert token.split("_", 2)[2] not in repr(record)
    assert "digest" not in repr(record)
    assert repr(MAKER) == "KeyMaker(...)"


def test_keys_of_another_run_are_unknown() -> None:
    token, record = MAKER.new("ann", ["ask"])
    assert KeyMaker.of(bytes(32)).recognised(token, {record.id: record}, now=NOW) is None
    assert derive_key(bytes(32), "api keys") != derive_key(bytes(32), "page sessions")


@pytest.mark.parametrize(
    ("name", "scopes", "most", "words"),
    [
        ("ann", [], None, "ask, read, admin"),
        ("ann", ["ask", "root"], None, "ask, read, admin"),
        ("", ["ask"], None, "1 to 100 printable"),
        (" ann", ["ask"], None, "1 to 100 printable"),
        ("a\nb", ["ask"], None, "1 to 100 printable"),
        ("a" * 101, ["ask"], None, "1 to 100 printable"),
        ("ann", ["ask"], 0, "at least 1"),
    ],
)
def test_odd_keys_are_refused(name: str, scopes: list[str], most: int | None, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        MAKER.new(name, scopes, most=most)
