"""What a public column of text seems to be: a number, a date, a category or free text.

Text is only what is long and hardly ever repeats. Everything else that is written is a category, whatever it looks
like, with a rest where there are more values than can be listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.drafts.draft_numbers import draft_number
from mapl.data.reading.entries import MISSING_NUMBERS, REST, moments, numbers
from mapl.data.reading.moments import ORDERS, parse_moments
from mapl.data.reading.numerals import CODE, parse_numerals
from mapl.data.tables.column import Column

MOST_CATEGORIES, MOST_DECLARED_CATEGORIES = 100, 1000
"""How many values are listed at most, and how many where the storage lists them itself."""

FEWEST_OF_A_KIND = 5
"""A value that fewer public rows have belongs to the rest, where there is one."""

WORDS_OF_LONG_TEXT = 3
MOSTLY_NEW = 0.5
"""Values hardly ever repeat where at least this share of the cells say what no other cell says."""

MOST_LOOKED_AT = 10_000
"""So many values tell how long they are."""

MOST_BLANKS = 10
FEW_NUMBERS = 10
"""So many different numbers and a word are categories: ratings rather than amounts."""

WITHOUT_SPACES = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{WITHOUT_SPACES}]|[^\s{WITHOUT_SPACES}]+")
"""In scripts that leave no space between words, every character counts as one."""

LETTERS, DIGITS = r"\pL", r"[0-9]"


@dataclass(frozen=True, slots=True)
class FoundTexts:
    """The different texts of a public column, how often each occurs, and whether some cells are empty."""

    values: tuple[str, ...]
    counts: NDArray[np.int64]
    missing: bool

    @classmethod
    def of(cls, spoken: Any) -> Self:
        """Count texts that are trimmed, null where there is none."""
        known = spoken.drop_null()
        counted = pc.value_counts(known)
        values, counts = (pc.struct_field(counted, name) for name in ("values", "counts"))
        order = pc.array_sort_indices(values)
        ordered = np.asarray(counts.take(order), dtype=np.int64)
        return cls(tuple(values.take(order).to_pylist()), ordered, len(known) < len(spoken))

    @property
    def array(self) -> Any:
        return pa.array(self.values, pa.large_string())

    @property
    def is_free_text(self) -> bool:
        """Whether values are long and hardly ever repeat."""
        some = self.values[:: 1 + len(self.values) // MOST_LOOKED_AT]
        n_words = sum(len(WORD.findall(value)) for value in some) / len(some)
        n_new = int((self.counts == 1).sum())
        return n_words >= WORDS_OF_LONG_TEXT and n_new >= MOSTLY_NEW * self.counts.sum() and n_new > 1


def draft_written(name: str, cells: Any, found: FoundTexts) -> Column:
    """Say what a column of text seems to be."""
    if pa.types.is_dictionary(cells.type) and len(found.values) <= MOST_DECLARED_CATEGORIES:
        return draft_category(name, found, listed=True)
    drafted = _as_number(name, cells, found) or _as_date(name, cells, found)
    if drafted is not None:
        return drafted
    if found.is_free_text:
        return Column(name, "text", missing=found.missing)
    return draft_category(name, found)


def draft_category(name: str, found: FoundTexts, *, listed: bool = False) -> Column:
    """List the values of a category, or those that are not rare where there are too many.

    Parameters
    ----------
    listed
        Whether the storage lists the values itself, so that they are meant to be few.
    """
    most = MOST_DECLARED_CATEGORIES if listed else MOST_CATEGORIES
    if len(found.values) <= most:
        return Column(name, "category", found.values, missing=found.missing)
    by_count = sorted(zip(found.values, found.counts.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
    common = [value for value, count in by_count if count >= FEWEST_OF_A_KIND and value != REST]
    common = common or [value for value, _ in by_count if value != REST]
    return Column(name, "category", tuple(sorted(common[:most])), missing=found.missing, rest=True)


def _as_number(name: str, cells: Any, found: FoundTexts) -> Column | None:
    """Draft a number where most cells are one, and all others one of a few words."""
    read = parse_numerals(found.array)
    legible = np.asarray(read.is_valid(), dtype=np.bool_)
    blanks = _blanks(found, legible)
    different = len(pc.unique(read.drop_null()))
    if blanks is None or different <= FEW_NUMBERS or pc.any(pc.match_substring_regex(found.array, CODE)).as_py():
        return None
    return replace(draft_number(name, numbers(cells), "number"), blanks=blanks)


def _as_date(name: str, cells: Any, found: FoundTexts) -> Column | None:
    """Draft a date where most cells are one, all read in one order, and all others one of a few words.

    The order that is tried first wins: with the year in front, then the day, so that 03/04 is in April unless some
    other public cell says otherwise.
    """
    if not any(value[:1].isdigit() for value in found.values):  # so that none is a date
        return None
    for order in ("", *ORDERS):
        legible = np.asarray(parse_moments(found.array, order).is_valid(), dtype=np.bool_)
        blanks = _blanks(found, legible)
        if blanks is not None:
            drafted = draft_number(name, numbers(moments(cells, order)), "date")
            return replace(drafted, order=order, blanks=blanks)
    return None


def _blanks(found: FoundTexts, legible: NDArray[np.bool_]) -> tuple[str, ...] | None:
    """Return the few words among cells that are mostly legible, None where these are more, or codes."""
    if 2 * found.counts[legible].sum() <= found.counts.sum():
        return None
    others = [value for value, read in zip(found.values, legible.tolist(), strict=True) if not read]
    words = pa.array([value for value in others if value not in MISSING_NUMBERS], pa.large_string())
    lettered, numbered = (pc.match_substring_regex(words, pattern) for pattern in (LETTERS, DIGITS))
    if len(words) > MOST_BLANKS or pc.any(pc.and_(lettered, numbered)).as_py():
        return None
    return tuple(words.to_pylist())
