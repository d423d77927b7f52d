"""Teachers at scale: trained together against a loop over scikit-learn, and votes against a product of matrices.

    python benchmarks/scale.py                     # all of it, medians of five
    python benchmarks/scale.py --teachers 100 --repeats 1 --large 1000 --no-write
    python benchmarks/scale.py --parts tables --rows 1000000      # tables of so many rows and ten times as many

Seconds are seconds of computing of this process, with one BLAS thread. The loop is what a joblib worker does: it
fits (and where votes are compared asks) scikit-learn on one contiguous shard after the other; what joblib itself
costs is not charged to it. It goes over the first hundred shards, and its seconds are scaled to all of them. Shards
have Binomial sizes, as a keyed hash makes them. Results: benchmarks/results/scale.md, and scale.json, which
`benchmarks/scale_guard.py` compares new ratios with.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from kept_trees import KEPT_HEAD, measure_kept
from large_tables import MEMORY, measure_tables
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.teachers import as_learner, poll
from mapl.teachers.compiled.compiling import can_compile
from mapl.teachers.panel import LinearPanel, Weights
from mapl.teachers.together.polling import ENOUGH_TO_COMPILE, count_together, hasten, one_thread
from mapl.teachers.together.recognition import syllabus_of
from mapl.teachers.together.training import TrainedTogether, make_lessons, study

RESULTS = Path(__file__).parent / "results"
ROWS, QUESTIONS, LOOPED = 100, 1000, 100
LOGISTIC = LogisticRegression(tol=1e-6, max_iter=2000)
RIDGE = RidgeClassifier(alpha=0.5)

CASES: tuple[tuple[str, Any, int, int, float | None], ...] = (
    ("ridge", RIDGE, 2, 50, 15),
    ("ridge", RIDGE, 10, 50, 8),
    ("ridge", RIDGE, 2, 100, 5),
    ("ridge", RIDGE, 2, 784, 5),
    ("logistic", LOGISTIC, 2, 50, 15),
    ("logistic", LOGISTIC, 10, 50, 8),
    ("logistic", LOGISTIC, 2, 100, 5),
    ("logistic", LOGISTIC, 2, 784, 5),
    ("logistic", LOGISTIC, 10, 784, 5),
    ("Gaussian naive Bayes", GaussianNB(), 2, 50, 50),
    ("Bernoulli naive Bayes", BernoulliNB(), 2, 50, None),
    ("nearest centroid", NearestCentroid(), 2, 50, None),
)
"""Learners, classes, columns, and how many times faster than the loop was asked for."""

COMPILED = LogisticRegression, GaussianNB
"""Whose teachers numba trains."""

VOTED = (2, 50, 1000), (2, 200, 1000), (2, 784, 1000), (10, 100, 200)
"""Classes, columns and teachers that vote."""

PARTS = {
    "teachers": (
        "| teachers, classes, columns | loop | together | faster | asked | loop and votes | whole poll | faster | "
        "votes moved |",
        "A poll hands out rows, checks whose they are by a keyed hash, trains, lets every teacher vote on "
        f"{QUESTIONS} questions and counts.",
    ),
    "compiled": (
        "| compiled, teachers, classes, columns | loop | numpy | numba | faster, numpy | faster, numba | asked "
        "| votes that differ |",
        "The same teachers by numpy and, with `mapl[fast]`, by numba, in turns with the loop; compiling and "
        "loading are not counted. Votes that differ do so between numpy and numba. Two classes of more than 64 "
        "columns are left to numpy, so that both columns say the same there but for chance.",
    ),
    "many": ("| very many teachers, whole poll | |", ""),
    "trees": ("| one by one, by the clock | plain joblib | mapl | faster |", ""),
    "kept": KEPT_HEAD,
    "voting": (
        "| voting | 10^9 operations a second | square sgemm | share | memory beyond inputs and counts |",
        "Two classes of few columns stay below what was asked. The table is of medians of 5 on a quicker machine "
        "than before (load about 4). There the product alone has 92, 103 and 97% of the square one's rate (50, "
        "200 and 784 columns; blocks of 256 teachers and 1,024 questions); of 25 ms with 50 columns it takes 17, "
        "both comparisons and their sums 4, looking for doubts 1.7. Signs alone (one comparison) take a third of "
        "the counting, but every block has some scores in doubt, so that the bound has to be looked at. Doubts "
        "by words of eight flags, in turns, medians of 7: 64, 81 and 80% beside 62, 81 and 79%, with blocks of "
        "200 teachers 63, 83 and 82%, with smaller blocks less: too little for more code. Tried earlier, in "
        "turns (medians of 5, load 15; shares of sgemm with 50, 200 and 784 columns): as it is 42, 59 and 64%; "
        "doubts looked for only in questions whose two counts differ 41, 57 and 64%; that with blocks of 512 "
        "questions 42, 62 and 63%, with blocks of 2,048 questions and 160 teachers 42, 52 and 59%. None wins "
        "everywhere, so nothing was changed.",
    ),
    "tables": (
        "| `mapl learn` on a folder of Parquet files | fewer rows | more rows | times | resident at most | "
        "pyarrow, more rows | microseconds a row | pyarrow |",
        "Made-up tables of 20 columns of numbers, one run each, seconds of computing; a run has a start that does "
        f"not grow with rows, and may use {MEMORY} (`--memory`). pyarrow scans the same files and adds every "
        "column up by label. Microseconds a row are those of the rows that the larger table has more. "
        "What is resident includes what the system keeps of mapped scratch files, until it is given back. "
        "Of ten million rows the files are four, again and again. The parts of a run that grow with rows, side by "
        "side with the code before (four million rows, turns, busy machine): 2.9 to 3.1 microseconds a row before, "
        "1.6 to 1.75 now, of which reading and storing 0.7 to 0.8, the fingerprint 0.13, encoding and the "
        "nearest of 300 cells 0.7 to 0.8. On a quicker machine (2 million rows, one profile by samples, "
        "milliseconds of computing of the main thread): reading as declared 550, of which widening numbers 350 "
        "and labels 150, the fingerprint 190, counting 430, storing 90; all of a row that 2 million have more "
        "than half a million took 0.67 microseconds (medians of 3). Widening alone, in memory that is used "
        "again, takes 20 of these 350; what is left will be memory touched for the first time, as long as a table "
        "is gathered. To count in the first pass, and keep nothing, would spare that and storing; the "
        "fingerprint, by which a killed run knows its table, would then have to be made and compared before "
        "noisy counts are drawn. Of moments, likewise (8,192 and 20,480 rows, 300 features, six rounds): a round "
        "of rows whose vectors are made anew took 11 to 17 microseconds a row before and takes 6.6 to 8.5 now, "
        "all rounds of vectors that are kept 17 to 28 before and 11 to 15 now. Vectors of tables in memory are "
        "kept up to 512 MiB, which were 128: of 200,000 rows all, of a million none. The lines of cells are "
        "older, but for 50 million rows, which had the machine to themselves. By moments, 5 and 50 million units "
        "add to one round each (docs/moments.md), with fine bins and one thread of BLAS, beside other jobs (load 1 "
        "to 23); another run before, with coarse bins, took 47.6 and 399.4 s, 786 and 790 MB.\n\n"
        "Half of pyarrow's speed is not reached by cells. Of a row of 20 numbers (400,000 rows, load 12, in "
        "microseconds): pyarrow's scan by itself took 0.11 to 0.34, reading as declared and storing 0.34 to 0.46, "
        "the fingerprint 0.11, encoding and the grid 0.25 to 0.29 before and 0.20 to 0.26 now, the nearest of 300 "
        "cells 0.36 to 0.39 before and 0.32 to 0.34 now, of which the product of 32-bit matrices alone is 0.18. "
        "Counting as a whole, side by side: 0.53 to 0.61 before, 0.51 to 0.53 now (memory is written over instead "
        "of taken anew). Compiled by numba, product and largest in one loop took 0.55 to 0.58, four rows at a time "
        "0.59 to 0.68: slower, and not taken. Scan, fingerprint and product alone are more than twice the scan.",
    ),
}
"""What can be measured by itself, as the heads of its table and what is said below."""


def world(n_teachers: int, rows: int, width: int, n_classes: int) -> Sharded:
    """Make up a table; its classes overlap."""
    generator = np.random.default_rng(18)
    n = n_teachers * rows
    features = generator.normal(size=(n, width))
    scores = features @ generator.normal(size=(width, n_classes)) / np.sqrt(width)
    labels = (scores + generator.gumbel(size=scores.shape) / 2).argmax(axis=1).astype(np.int32)
    ids = [str(i).encode() for i in range(n)]
    return Sharded(PrivateRows(features), labels, ids, Shards(ShardKey(bytes(32)), n_teachers))


def seconds(task: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    began = clock()
    task()
    return clock() - began


def medians(repeats: int, *tasks: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each task; they take turns, so that a busy machine is busy for all of them."""
    for task in tasks[:1]:
        task()
    return [
        median(times) for times in zip(*([seconds(task) for task in tasks] for _ in range(repeats)), strict=True)
    ]


def compare(name: str, model: Any, n_classes: int, width: int, n_teachers: int, repeats: int) -> dict[str, float]:
    """Train the same teachers in both ways, and let them vote."""
    sharded = world(n_teachers, ROWS, width, n_classes)
    questions = np.random.default_rng(19).normal(size=(QUESTIONS, width))
    learner = as_learner(model, Classes(tuple(map(str, range(n_classes)))))
    syllabus = syllabus_of(learner, questions)
    assert syllabus is not None
    lessons = make_lessons(syllabus, sharded, None, range(n_teachers), TrainedTogether())
    some, share = lessons[:LOOPED], len(lessons) / len(lessons[:LOOPED])
    last: dict[str, Any] = {}

    def loop() -> None:
        last["fitted"] = [clone(model).fit(lesson.rows, lesson.places) for lesson in some]

    def together() -> None:
        last["trained"] = TrainedTogether()
        study(syllabus, lessons, last["trained"])

    def loop_votes() -> None:
        loop()
        last["votes"] = [one.predict(questions) for one in last["fitted"]]

    def whole_poll() -> None:
        poll(learner, sharded, questions, n_classes=n_classes, n_jobs=1)

    slow, fast = medians(repeats, loop, together)
    slow_votes, fast_votes = medians(1, loop_votes, whole_poll)
    counts = np.zeros((QUESTIONS, n_classes), dtype=np.int64)
    for lesson, votes in zip(some, last["votes"], strict=True):
        counts[np.arange(QUESTIONS), lesson.codes[votes]] += 1
    same = TrainedTogether({lesson.k: last["trained"].weights[lesson.k] for lesson in some})
    moved = np.abs(counts - count_together(syllabus, same, questions, n_classes)).sum() / 2 / counts.sum()
    return {
        "loop": slow * share,
        "together": fast,
        "loop and votes": slow_votes * share,
        "poll": fast_votes,
        "moved": float(moved),
        "left": float(len(last["trained"].left)),
    }


def compiled(model: Any, n_classes: int, width: int, n_teachers: int, repeats: int) -> dict[str, float]:
    """Train the same teachers by numpy and by numba."""
    sharded = world(n_teachers, ROWS, width, n_classes)
    questions = np.random.default_rng(19).normal(size=(QUESTIONS, width))
    plain = syllabus_of(as_learner(model, Classes(tuple(map(str, range(n_classes))))), questions)
    assert plain is not None
    quick = hasten(plain, ENOUGH_TO_COMPILE)
    lessons = make_lessons(plain, sharded, None, range(n_teachers), TrainedTogether())
    some, share = lessons[:LOOPED], len(lessons) / len(lessons[:LOOPED])
    trained = [TrainedTogether(), TrainedTogether()]

    def together(place: int, syllabus: Any) -> Callable[[], None]:
        def task() -> None:
            trained[place] = TrainedTogether()
            study(syllabus, lessons, trained[place])

        return task

    by_numpy, by_numba = together(0, plain), together(1, quick)
    by_numba()
    slow, usual, fast = medians(
        repeats, lambda: [clone(model).fit(lesson.rows, lesson.places) for lesson in some], by_numpy, by_numba
    )
    one, other = (count_together(plain, each, questions, n_classes) for each in trained)
    differ = 100 * np.abs(one - other).sum() / 2 / one.sum()
    return {"loop": slow * share, "numpy": usual, "numba": fast, "differ": float(differ)}


def many(n_teachers: int, repeats: int, kept: dict[str, float]) -> Iterator[tuple[str, str]]:
    """Train very many teachers of 50 rows each."""
    sharded = world(n_teachers, 50, 20, 2)
    questions = np.random.default_rng(19).normal(size=(QUESTIONS, 20))
    for name, model in (("ridge", RIDGE), ("logistic", LOGISTIC), ("Gaussian naive Bayes", GaussianNB())):
        learner = as_learner(model, Classes(("0", "1")))
        (taken,) = medians(repeats, lambda: poll(learner, sharded, questions, n_classes=2, n_jobs=1))  # noqa: B023
        kept[name] = taken
        yield (
            name,
            f"| {name}, {n_teachers} shards of 50 rows, 20 columns, {QUESTIONS} questions, median of {repeats} | "
            f"{taken:.1f} s |",
        )


def others(n_teachers: int, repeats: int) -> str:
    """Compare a learner that is trained one by one with plain joblib; on the clock, as both have two processes."""
    sharded = world(n_teachers, ROWS, 20, 2)
    questions = np.random.default_rng(19).normal(size=(QUESTIONS, 20))
    learner = as_learner(DecisionTreeClassifier(random_state=0), Classes(("0", "1")))
    shards = [sharded.shard(k) for k in range(n_teachers)]

    def plain() -> None:
        Parallel(n_jobs=2)(delayed(_fit_and_ask)(rows, labels, questions) for rows, labels in shards)

    def tuned() -> None:
        poll(learner, sharded, questions, n_classes=2, n_jobs=2)

    plain(), tuned()
    times = [(seconds(plain, time.perf_counter), seconds(tuned, time.perf_counter)) for _ in range(repeats)]
    slow, fast = (median(each) for each in zip(*times, strict=True))
    return (
        f"| decision trees, {n_teachers} shards, two processes | {slow:.1f} s | {fast:.1f} s | {slow / fast:.1f} |"
    )


def _fit_and_ask(rows: Any, labels: Any, questions: Any) -> Any:
    return DecisionTreeClassifier(random_state=0).fit(rows, labels).predict(questions)


def voting(
    n_classes: int, width: int, n_teachers: int, n_questions: int, repeats: int, kept: dict[str, float]
) -> str:
    """Compare the rate of voting with that of a square product of 32-bit matrices."""
    generator = np.random.default_rng(20)
    columns = 1 if n_classes == 2 else n_classes
    weights = [
        Weights(generator.normal(size=(columns, width)), generator.normal(size=columns), np.arange(n_classes))
        for _ in range(n_teachers)
    ]
    panel = LinearPanel.of(weights, n_features=width, n_classes=n_classes)
    questions = generator.normal(size=(n_questions, width))
    square = generator.normal(size=(1024, 1024)).astype(np.float32)
    panel.votes(questions[:2000])
    product, votes = medians(repeats, lambda: square @ square, lambda: panel.votes(questions))
    tracemalloc.start()
    panel.votes(questions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counts = n_questions * n_classes * 4
    rate = 2 * n_questions * n_teachers * columns * width / votes / 1e9
    best = 2 * 1024**3 / product / 1e9
    kept[f"voting, {n_classes}, {width}"] = rate / best
    asked = 75 if n_classes == 2 else 50
    return (
        f"| {n_classes} classes, {width} columns, {n_teachers} teachers, {n_questions} questions | {rate:.0f} | "
        f"{best:.0f} | {100 * rate / best:.0f}% (asked {asked}%) | {(peak - counts) / 1e6:.0f} MB |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teachers", type=int, default=1000)
    parser.add_argument("--large", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the smaller table of the part tables")
    parser.add_argument("--methods", nargs="+", choices=["cells", "moments"], default=["cells", "moments"])
    parser.add_argument("--note", help="what to say about the machine, beside the results")
    parser.add_argument("--no-write", action="store_true", help="only print")
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    with one_thread():
        measure(told)


def measure(told: argparse.Namespace) -> None:
    """Measure some parts; every case is kept as soon as it is measured, so a run that is stopped loses only one."""
    path = RESULTS / "scale.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() and not told.no_write else {}
    lines = kept.setdefault("lines", {})
    for part in PARTS:
        lines.setdefault(part, {})
    ratios, shares = kept.setdefault("times faster than the loop", {}), kept.setdefault("share of sgemm", {})
    by_numba = kept.setdefault("times faster than the loop, compiled", {})
    large = kept.setdefault("seconds of computing of very many", {})
    kept_trees = kept.setdefault("times faster than asking one by one", {})
    if {"teachers", "voting"} & set(told.parts) or "teachers" not in kept:
        kept |= {"teachers": told.teachers, "repeats": told.repeats}
    if told.note is not None:
        kept["note"] = told.note

    def keep(part: str, name: str, line: str) -> None:
        lines[part][name] = line
        print(line, flush=True)
        if not told.no_write:
            path.write_text(json.dumps(kept, indent=2) + "\n")
            (RESULTS / "scale.md").write_text(page(kept))

    for name, model, n_classes, width, asked in CASES if "teachers" in told.parts else ():
        found = compare(name, model, n_classes, width, told.teachers, told.repeats)
        called = f"{name}, {n_classes}, {width}"
        ratios[called] = found["loop"] / found["together"]
        keep("teachers", called, in_words(called, found, asked))
    for name, model, n_classes, width, asked in CASES if "compiled" in told.parts and can_compile() else ():
        if isinstance(model, COMPILED):
            found = compiled(model, n_classes, width, told.teachers, told.repeats)
            called = f"{name}, {n_classes}, {width}"
            by_numba[called] = found["loop"] / found["numba"]
            keep("compiled", called, compiled_in_words(called, found, asked))
    if "many" in told.parts:
        for name, line in many(told.large, min(told.repeats, 3), large):
            keep("many", name, line)
    if "trees" in told.parts:
        keep("trees", "trees", others(min(told.teachers, 500), min(told.repeats, 3)))
    for called, loop, together in measure_kept(told.repeats) if "kept" in told.parts else ():
        kept_trees[called] = loop / together
        times = f"{1000 * loop:.1f} ms | {1000 * together:.1f} ms | {loop / together:.1f}"
        keep("kept", called, f"| {called} | {times} |")
    for n_classes, width, n_teachers in VOTED if "voting" in told.parts else ():
        line = voting(n_classes, width, n_teachers, told.questions, told.repeats, shares)
        keep("voting", f"{n_classes}, {width}", line)
    for name, line in measure_tables(told.rows, tuple(told.methods)) if "tables" in told.parts else ():
        keep("tables", name, line)


def in_words(called: str, found: dict[str, float], asked: float | None) -> str:
    left = f", {found['left']:.0f} left to scikit-learn" if found["left"] else ""
    return (
        f"| {called}{left} | {found['loop']:.2f} s | {found['together']:.3f} s | "
        f"{found['loop'] / found['together']:.1f} | {'' if asked is None else f'{asked:g}'} | "
        f"{found['loop and votes']:.2f} s | {found['poll']:.2f} s | "
        f"{found['loop and votes'] / found['poll']:.1f} | {100 * found['moved']:.4f}% |"
    )


def compiled_in_words(called: str, found: dict[str, float], asked: float | None) -> str:
    loop, by_numpy, by_numba = found["loop"], found["numpy"], found["numba"]
    return (
        f"| {called} | {loop:.2f} s | {by_numpy:.3f} s | {by_numba:.3f} s | {loop / by_numpy:.1f} | "
        f"{loop / by_numba:.1f} | {'' if asked is None else f'{asked:g}'} | {found['differ']:.4f}% |"
    )


def page(kept: dict[str, Any]) -> str:
    """Return the results as they are published."""
    text = [
        "# Teachers at scale\n",
        f"`python benchmarks/scale.py`: {kept['teachers']} shards of about {ROWS} rows, medians of "
        f"{kept['repeats']}, seconds of computing with one BLAS thread; the loop "
        f"over the first {LOOPED} of them, scaled. Both sides of a ratio take turns in one process. "
        + kept.get("note", ""),
    ]
    for part, (head, about) in PARTS.items():
        if kept["lines"][part]:
            columns = "|---" * (head.count("|") - 1) + "|"
            text += [f"\n{head}\n{columns}", *kept["lines"][part].values()]
            text += [f"\n{about}"] if about else []
    if "guard" in kept:
        text += [f"\n{kept['guard']}"]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
