"""Students are trained by one thread, whatever machine they are trained on, and threads rest while they wait."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import mapl
from mapl.__main__ import RESTFUL
from mapl.students.threads import one_thread

ROWS = np.random.default_rng(0).normal(size=(400, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)


def threads_of(model: HistGradientBoostingClassifier) -> int:
    return int(model._bin_mapper.n_threads)


def test_trees_are_grown_by_one_thread() -> None:
    with threadpool_limits(limits=2, user_api="openmp"):
        free = threads_of(HistGradientBoostingClassifier(max_iter=2).fit(ROWS, LABELS))
        with one_thread():
            bound = threads_of(HistGradientBoostingClassifier(max_iter=2).fit(ROWS, LABELS))
    assert (free, bound) == (min(2, os.cpu_count() or 1), 1)


def test_the_engine_trains_a_student_by_one_thread() -> None:
    trees = HistGradientBoostingClassifier(max_iter=2)
    with threadpool_limits(limits=2, user_api="openmp"):
        learned = mapl.PrivateClassifier(
            epsilon=100.0, classes=(0, 1), method="teachers", n_teachers=8, n_jobs=1, student=trees, seed=1
        ).fit(ROWS, LABELS, public=ROWS[:100])
    assert threads_of(learned.student_.model) == 1


@pytest.mark.parametrize("own", [{}, {"OMP_WAIT_POLICY": "active"}])
def test_the_command_line_has_threads_rest_unless_told_otherwise(own: dict[str, str]) -> None:
    program = (
        "import os, sys; sys.argv = ['mapl', '--version']\n"
        "from mapl.__main__ import RESTFUL, main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([os.environ[name] for name in RESTFUL])"
    )
    surroundings = {name: value for name, value in os.environ.items() if name not in RESTFUL}
    told = subprocess.run(
        [sys.executable, "-c", program], env={**surroundings, **own}, capture_output=True, text=True, check=True
    ).stdout
    assert told.endswith(f"{list({**RESTFUL, **own}.values())}\n")
