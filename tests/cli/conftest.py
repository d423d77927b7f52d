"""Votes for the verbs that start from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Write the counts of 250 teachers on 60 questions of three classes, 50 of them nearly unanimous."""
    rng = np.random.default_rng(5)
    clear = rng.multinomial(250, [0.97, 0.02, 0.01], size=50)
    unclear = rng.multinomial(250, [0.4, 0.35, 0.25], size=10)
    np.save(tmp_path / "votes.npy", np.concatenate([clear, unclear]))
    return tmp_path / "votes.npy"
