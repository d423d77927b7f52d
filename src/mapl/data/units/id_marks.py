"""What ids look like: the names of their columns, and PUBLIC values that differ or that few rows share each.

A person with several visits has one id in several rows. Ages, years, zip codes and amounts repeat as well, so that
values alone speak for ids only where they are numbered through, or codes of one pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.reading.entries import numbers, texts
from mapl.data.tables.column import Column

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
IDS = re.compile("id|uuid|guid|ssn|mrn")
PEOPLE = re.compile(
    "person|patient|customer|client|member|subject|participant|respondent|user|employee|worker|student|pupil|driver"
    "|passenger|guest|tenant|applicant|borrower|donor|insured|citizen|resident|player|owner|subscriber"
)
OWNED = re.compile("account|policy|card|contract|case|chart|household|insurance|family")
NUMBERING = re.compile("no|nr|num|number|code|key|ref|reference|name|hash|token|pseudonym")
NOT_PEOPLE = re.compile("zip|zipcode|postal|postcode|plz|phone|year|month|week|day|date|time|age|amount|price")
"""Columns named so are not suspected for their values' sake."""

LONGEST_WHOLE = 2.0**53
WORDS_OF_FREE_TEXT = 5
FIRST_TEXTS = 1000
"""So many texts tell whether they are free."""

FEWEST_VALUES = 50
"""Fewer values may all differ by chance."""

NEARLY_ALL = 0.95

FEWEST_PEOPLE, MOST_ROWS_OF_PEOPLE = 20, 100
"""A column named after people holds ids if it has at least so many values, on average in at most so many rows."""

FEW_ROWS, EVENLY = 10, 5.0
"""In how many rows a value is on average, and how many times that the variance is, at most: visits, not habits."""

DAYS_OF_A_YEAR = 366
"""So many whole numbers in a row may be days or scores."""

DENSE = 1.2
FEWEST_DIGITS = 7
FIRST_DATE, LAST_DATE = 19_000_101, 21_001_231
"""Between these, eight digits are a date."""

CODE = re.compile(r"(?=.*#)(?=.*[^\W_])\S+")
"""One word with letters and digits, which are written as # here."""

SPELLED_HASH = r"^(?:[0-9a-f]{8,}|[0-9A-F]{8,}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27})$"


@dataclass(frozen=True, slots=True)
class IdTally:
    """The different values of a public column, as texts or whole numbers, and how many rows have each."""

    counts: NDArray[np.int64]
    whole: NDArray[np.float64] | None = None
    texts: Any = None

    @classmethod
    def of(cls, declared: Column, cells: Any) -> Self | None:
        """Count values, or return None where they are no ids: fractions, free text, or nothing at all."""
        if declared.kind == "number":
            values = numbers(cells)
            values = values[np.isfinite(values)]
            if not len(values) or (values != np.trunc(values)).any():
                return None
            long = np.abs(values) > LONGEST_WHOLE  # such ids differ in digits that floats do not have
            different, counts = np.unique(values[~long], return_counts=True)
            return cls(np.append(counts, np.ones(int(long.sum()), np.int64)).astype(np.int64), whole=different)
        counted = pc.value_counts(texts(cells).drop_null())
        different = pc.struct_field(counted, "values")
        some = different[:FIRST_TEXTS].to_pylist()
        if not some or sum(len(text.split()) for text in some) >= WORDS_OF_FREE_TEXT * len(some):
            return None
        counts = np.asarray(pc.struct_field(counted, "counts"), dtype=np.int64)
        return cls(counts, texts=different)

    @property
    def mean(self) -> float:
        """How many rows share a value."""
        return float(self.counts.mean())

    @property
    def nearly_all_differ(self) -> bool:
        """Whether hardly any value occurs twice."""
        n = int(self.counts.sum())
        return n >= FEWEST_VALUES and len(self.counts) >= NEARLY_ALL * n

    @property
    def repeats_like_visits(self) -> bool:
        """Whether many codes of one pattern, or numbers numbered through, occur in a few rows each."""
        few = len(self.counts) >= FEWEST_VALUES and self.mean <= FEW_ROWS
        if not few or float(self.counts.var()) > EVENLY * self.mean:
            return False
        return _numbered_through(self.whole) if self.texts is None else _one_pattern(self.texts)


def _numbered_through(whole: NDArray[np.float64] | None) -> bool:
    if whole is None or len(whole) < FEWEST_VALUES or whole[0] < 0:
        return False
    low, high = float(whole[0]), float(whole[-1])
    if len(whole) > DAYS_OF_A_YEAR and high - low + 1 <= DENSE * len(whole):
        return True
    n_digits = len(str(int(high)))
    dates = low >= FIRST_DATE and high <= LAST_DATE
    return n_digits >= FEWEST_DIGITS and len(str(int(low))) == n_digits and not dates


def _one_pattern(different: Any) -> bool:
    """Say whether texts are one word each that differ in their digits only, or hashes."""
    if pc.all(pc.match_substring_regex(different, SPELLED_HASH)).as_py():
        return bool(pc.any(pc.match_substring_regex(different, "[a-fA-F]")).as_py())
    left = pc.unique(pc.replace_substring_regex(different, "[0-9]+", "#"))
    return len(left) == 1 and CODE.fullmatch(str(left[0].as_py())) is not None


def name_of_ids(name: str) -> bool:
    """Say whether a column is named like ids."""
    return any(map(IDS.fullmatch, _words(name)[-1:]))


def name_of_people(name: str) -> bool:
    """Say whether a column is named after people, or after their number."""
    words = _words(name)
    if any(map(PEOPLE.fullmatch, words[-1:])):
        return True
    numbered = any(map(NUMBERING.fullmatch, words[-1:]))
    return numbered and any(PEOPLE.fullmatch(word) or OWNED.fullmatch(word) for word in words)


def name_of_features(name: str) -> bool:
    """Say whether a column is named after what repeats like ids and is none."""
    return any(map(NOT_PEOPLE.fullmatch, _words(name)))


def holds_people(tally: IdTally) -> bool:
    """Say whether a column named after people has as many values as there would be people."""
    return len(tally.counts) >= FEWEST_PEOPLE and tally.mean <= MOST_ROWS_OF_PEOPLE


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORD.findall(name)]
