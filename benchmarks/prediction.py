"""Private answers to single questions, part by part.

    python benchmarks/prediction.py speed

Each part measures one thing and writes its own section of benchmarks/results/prediction.md; sections of other parts
stay as they are. Parts: curves (excess error by the number of records, next to naive averaging and to the bounds,
with the pictures of docs/prediction.md), thousand (stumps at n = 1000), adult (accuracy of single answers), speed
(time and memory of the padded stumps on a million records).
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from prediction_adult import adult
from prediction_curves import curves, thousand

from mapl.noise import SystemCoins
from mapl.prediction.predictors.padded_stumps import PaddedStumps

RESULT = Path(__file__).parent / "results" / "prediction.md"
TITLE = "# Private answers to single questions"


def peak_mb() -> float:
    """Return the largest memory that this process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_of(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def speed() -> list[str]:
    """Fit on a million records next to sorting them, and answer single questions."""
    return [
        "Padded stumps, 1,000,000 records, one core, epsilon 1 per answer (delta 0, add-remove, one record). "
        "Fitting next to `argsort` of every column in the same process, alternating, mean of 2; one question at a "
        "time, median and fastest of 500; peak of memory above the table, and what stays (a later row's peak "
        "counts only what exceeds an earlier one).",
        "",
        "| table | argsort | fit | ratio | one answer | fastest | each of 500 at once | peak, in tables | stays |",
        "|---|---|---|---|---|---|---|---|---|",
        stumps_speed("64-bit numbers, all different", 100, lambda x: x),
        stumps_speed("32-bit numbers", 20, lambda x: x.astype(np.float32)),
        stumps_speed("whole numbers from -100 to 100", 20, lambda x: np.clip(np.rint(25 * x), -100, 100)),
    ]


def stumps_speed(what: str, n_features: int, make: Callable[[np.ndarray], np.ndarray]) -> str:
    stream = np.random.default_rng(0)
    table = make(stream.standard_normal((1_000_000, n_features)))
    labels = (table[:, 0] + stream.standard_normal(len(table)) * table[:, 0].std() > 0).astype(np.int32)
    questions = make(stream.standard_normal((500, n_features)))
    before = peak_mb()
    # Sorting and fitting alternate, so that both meet the same load of the machine.
    sorting = fitting = 0.0
    for _ in range(2):
        sorting += seconds_of(lambda: [np.argsort(column) for column in table.T])
        fitting += seconds_of(lambda: fitted(table, labels))
    above = (peak_mb() - before) * 2**20
    stumps, coins = fitted(table, labels), SystemCoins()
    answering = [1e3 * seconds_of(lambda q=q: stumps.answer(q[None], coins)) for q in questions]
    many = 1e3 * seconds_of(lambda: stumps.answer(questions, coins)) / len(questions)
    kept = stumps.keys, stumps.paths.bits, stumps.paths.levels, stumps.paths.before, stumps.paths.after
    stays = sum(part.nbytes for part in kept)
    return (
        f"| {what}, {n_features} features | {sorting / 2:.1f} s | {fitting / 2:.1f} s | "
        f"**{fitting / sorting:.2f}** | **{statistics.median(answering):.2f} ms** | "
        f"{min(answering):.2f} ms | {many:.2f} ms | "
        f"{above / table.nbytes:.2f} | {stays / table.nbytes:.2f} |"
    )


def fitted(table: np.ndarray, labels: np.ndarray) -> PaddedStumps:
    return PaddedStumps.fit(table, labels, epsilon=1.0, adjacency="add-remove")


PARTS: dict[str, Callable[[], list[str]]] = {
    "curves": curves,
    "thousand": thousand,
    "adult": adult,
    "speed": speed,
}


def write(part: str, lines: list[str]) -> None:
    """Replace one part's section of the results, or add it."""
    sections = {}
    if RESULT.exists():
        for section in RESULT.read_text().split("\n## ")[1:]:
            name, _, text = section.partition("\n")
            sections[name] = text.strip()
    sections[part] = f"`python benchmarks/prediction.py {part}`\n\n" + "\n".join(lines)
    RESULT.write_text(TITLE + "".join(f"\n\n## {name}\n\n{text}" for name, text in sections.items()) + "\n")


def main() -> None:
    asked = sys.argv[1:] or list(PARTS)
    for part in asked:
        if part not in PARTS:
            sys.exit(f"There is no part {part!r}; choose {', '.join(PARTS)}.")
        lines = PARTS[part]()
        write(part, lines)
        print("\n".join(lines))


if __name__ == "__main__":
    main()
