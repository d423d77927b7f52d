"""Say where teachers have become slower: ratios measured now, beside those of benchmarks/results/scale.json.

    python benchmarks/scale_guard.py             # some minutes of computing; exit code 1 where something is slower

Ratios of seconds of computing in one process, never of the clock. A ratio below half of the stored one fails:
the bound is wide because on a busy machine the same code gave ratios of 30 and of 37.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings

from scale import CASES, RESULTS, VOTED, compare, voting

from mapl.teachers.together.polling import one_thread

LEAST = 0.5
"""What a ratio may fall to, as a part of the stored one."""


def slower(stored: dict[str, float], found: dict[str, float]) -> list[str]:
    """Name the ratios that fell below their bound, or that are stored no longer."""
    return [
        f"{name}: {ratio:.2f}, stored {stored.get(name, float('nan')):.2f}"
        for name, ratio in found.items()
        if not ratio >= LEAST * stored.get(name, float("nan"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    told = parser.parse_args()
    kept = json.loads((RESULTS / "scale.json").read_text())
    warnings.simplefilter("ignore")
    ratios: dict[str, float] = {}
    shares: dict[str, float] = {}
    with one_thread():
        for name, model, n_classes, width, _ in CASES:
            found = compare(name, model, n_classes, width, kept["teachers"], told.repeats)
            ratios[f"{name}, {n_classes}, {width}"] = found["loop"] / found["together"]
        for n_classes, width, n_teachers in VOTED:
            voting(n_classes, width, n_teachers, 20_000, told.repeats, shares)
    fallen = [
        *slower(kept["times faster than the loop"], ratios),
        *slower(kept["share of sgemm"], shares),
    ]
    print("\n".join(fallen) or "Nothing has become slower.")
    sys.exit(1 if fallen else 0)


if __name__ == "__main__":
    main()
