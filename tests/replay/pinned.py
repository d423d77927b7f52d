"""Chance and time as a replay has them: both sides draw the same, and the second one runs a day later."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from mapl.noise import SystemCoins

DAY = 86_400.0


def pin(patch: pytest.MonkeyPatch, *, later: float = 0.0) -> None:
    """Let coins, keys and ids be the same in every run; `later` moves the clock that tells the date.

    Random bytes go by who asks for them and how often they did, so that somebody who needs more of them than
    on the other side does not move those of all others.
    """
    coins = np.random.Philox(15)
    asked: Counter[str] = Counter()

    def words(self: SystemCoins, n: int) -> Any:
        return np.asarray(coins.random_raw(n), dtype=np.uint64)

    def urandom(n: int) -> bytes:
        who = _caller()
        asked[who] += 1
        return hashlib.shake_256(f"{who} {asked[who]}".encode()).digest(n)

    now = time.time
    patch.setattr(SystemCoins, "words", words)
    patch.setattr(os, "urandom", urandom)
    patch.setattr(random, "_urandom", urandom)
    patch.setattr(time, "time", lambda: now() + later)


def _caller() -> str:
    """Name the function of mapl that asks for random bytes, or else whoever calls."""
    frame = sys._getframe(2)
    nearest = frame.f_code.co_qualname
    while frame is not None:
        if f"{os.sep}mapl{os.sep}" in frame.f_code.co_filename:
            return frame.f_code.co_qualname
        frame = frame.f_back  # type: ignore[assignment]
    return nearest
