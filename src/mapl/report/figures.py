"""Numbers as people read them; figures of risk are rounded up, never down."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOISE_FREE = Context(prec=10, rounding=ROUND_HALF_EVEN)
"""Wipes out what binary fractions add to the last digits, so that rounding up does not turn 0.1 into 0.101."""

UPWARDS = Context(prec=3, rounding=ROUND_CEILING)

LISTED = 8
"""A longer list of numbers is cut off in a table of settings."""

PATH = re.compile(r"(?<![\w.<{])(?:~|[A-Za-z]:)?[\\/](?:[^\s'\",;:()\\/]+[\\/])*([^\s'\",;:()\\/]*)")


def count(value: int) -> str:
    """Write a whole number with a comma between thousands.

    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def at_most(value: float) -> str:
    """Write a bound with three significant digits, rounded up.

    >>> at_most(0.99871), at_most(0.1), at_most(2.718281828), at_most(math.inf)
    ('0.999', '0.1', '2.72', 'infinity')
    """
    if not math.isfinite(value):
        return "infinity"
    exact = NOISE_FREE.create_decimal_from_float(value)
    bound = UPWARDS.plus(exact)
    if abs(bound.adjusted()) > 6:
        return _scientific(bound)
    whole = bound == bound.to_integral_value()
    return f"{bound:,.0f}" if whole else f"{bound.normalize():,f}"


def tiny(value: float) -> str:
    """Write a small probability as a power of ten, rounded up.

    >>> tiny(1e-5), tiny(2.5e-7), tiny(0.0), tiny(0.02)
    ('10⁻⁵', '2.5 × 10⁻⁷', '0', '0.02')
    """
    if value == 0 or value >= 1e-2:
        return at_most(value)
    return _scientific(UPWARDS.plus(NOISE_FREE.create_decimal_from_float(value)))


def one_in(value: float) -> str:
    """Say a small probability as one in so many.

    >>> one_in(1e-5), one_in(0.3)
    ('1 in 100,000', '1 in 3')
    """
    if value <= 0:
        return "never"
    return f"1 in {math.floor(NOISE_FREE.create_decimal_from_float(1 / value)):,}"


def share(value: float) -> str:
    """Write a share in percent; only all is 100% and only nothing is 0%.

    >>> share(0.9624), share(1.0), share(0.99996), share(0.0027), share(0.00001)
    ('96.2%', '100%', '99.99%', '0.27%', '<0.01%')
    """
    if value in (0, 1):
        return f"{value:.0%}"
    if value < 1e-4:
        return "<0.01%"
    if value > 0.999:
        return f"{math.floor(value * 10_000) / 100:.2f}%"
    return f"{value:.2%}" if value < 0.01 else f"{value:.1%}"


def rate(value: float) -> str:
    """Write a chosen share in percent, with no more digits than it has.

    >>> rate(0.001), rate(0.1)
    ('0.1%', '10%')
    """
    return f"{100 * value:g}%"


def share_at_most(value: float) -> str:
    """Write a share that is a bound, in percent and rounded up.

    >>> share_at_most(0.73106), share_at_most(0.0027283), share_at_most(1.0)
    ('73.2%', '0.28%', '100%')
    """
    if value >= 1:
        return "100%"
    places = Decimal("0.01") if value < 0.01 else Decimal("0.1")
    percent = NOISE_FREE.create_decimal_from_float(100 * value).quantize(places, rounding=ROUND_CEILING)
    return f"{percent}%"


def write_setting(value: Any) -> str:
    """Write a setting of any kind in one line, without folders of the machine that it was made on.

    >>> write_setting(True), write_setting(None), write_setting(0.125), write_setting([1, 2])
    ('yes', '–', '0.125', '1, 2')
    >>> write_setting("Rscript /home/me/fit.R {shard}")
    'Rscript fit.R {shard}'
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {write_setting(inner)}" for key, inner in value.items()) or "–"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        shown = ", ".join(map(write_setting, value[:LISTED]))
        return f"{shown}, … ({len(value)} in all)" if len(value) > LISTED else shown or "–"
    return PATH.sub(r"\1", str(value))


def _scientific(bound: Decimal) -> str:
    mantissa = bound.scaleb(-bound.adjusted()).normalize()
    power = f"10{str(bound.adjusted()).translate(SUPERSCRIPTS)}"
    return power if mantissa == 1 else f"{mantissa:f} × {power}"
