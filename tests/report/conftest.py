"""Runs to report on, and an evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from counted_files import counted
from public_files import Run, aggregated, learned
from summed_files import summed

from mapl.noise import SeededCoins, SystemCoins
from mapl.report import Evaluation


@pytest.fixture(scope="session")
def private_run() -> Run:
    return aggregated(SystemCoins())


@pytest.fixture(scope="session")
def learned_run() -> Run:
    return learned()


@pytest.fixture(scope="session")
def seeded_run() -> Run:
    return aggregated(SeededCoins(3))


@pytest.fixture(scope="session")
def noiseless_run() -> Run:
    return aggregated(SystemCoins(), mechanism="majority")


@pytest.fixture(scope="session")
def counted_run() -> Run:
    return counted(SystemCoins())


@pytest.fixture(scope="session")
def recounted_run() -> Run:
    return counted(SystemCoins(), rounds=2, adjacency="replace-one")


@pytest.fixture(scope="session")
def seeded_count() -> Run:
    return counted(SeededCoins(4))


@pytest.fixture(scope="session")
def summed_run() -> Run:
    return summed(SystemCoins())


@pytest.fixture(scope="session")
def worded_run() -> Run:
    return summed(SystemCoins(), names=("no", "perhaps", "yes"), words=True, adjacency="replace-one")


@pytest.fixture(scope="session")
def seeded_sums() -> Run:
    return summed(SeededCoins(4))


@pytest.fixture(scope="session")
def evaluation() -> Evaluation:
    truth = np.array([0, 0, 0, 1, 1, 1, 1, 0, 1, 0])
    predicted = np.array([0, 0, 1, 1, 1, 1, 0, 0, 1, 0])
    return Evaluation.of(truth, predicted, classes=("no", "yes"), reference=0.912)
