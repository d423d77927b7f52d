"""The id of a run: random, drawn once when its ledger begins, and part of everything that follows in the chain.

Without it two runs of one plan that publish the same would have the same ledger, and be taken for one run.
"""

from __future__ import annotations

from mapl.noise import SystemCoins

WORDS = 2
"""128 bits: nobody ever draws the same twice."""


def new_run_id() -> str:
    """Draw an id from the operating system's generator; it depends on nothing else, least of all on data."""
    return SystemCoins().words(WORDS).tobytes().hex()
