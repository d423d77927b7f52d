"""Say where teachers have become slower: ratios measured now, beside those of benchmarks/results/scale.json.

    python benchmarks/scale_guard.py             # some minutes of computing; exit code 1 where something is slower
    python benchmarks/scale_guard.py --record "load 4"         # and note what was found below results/scale.md

Ratios of seconds of computing in one process, never of the clock. A ratio below half of the stored one fails:
the bound is wide because on a busy machine the same code gave ratios of 30 and of 37. What numba compiles is looked
at where numba is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings

from kept_trees import ASKED, KEPT, measure_kept
from scale import CASES, COMPILED, RESULTS, VOTED, compare, compiled, page, voting

from mapl.teachers.compiled.compiling import can_compile
from mapl.teachers.together.polling import one_thread

LEAST = 0.5
"""What a ratio may fall to, as a part of the stored one."""

LOOP, NUMBA, PRODUCT = "times faster than the loop", "times faster than the loop, compiled", "share of sgemm"
TREES = "times faster than asking one by one"
"""What ratios are stored as."""

FEW_KEPT = tuple(n for n in ASKED if n < 1000)
SOME_KEPT = tuple((name, model, n_classes, sizes[:1]) for name, model, n_classes, sizes in KEPT)
"""Of kept trees, what is asked of how many teachers: they take long to train, and much is asked one by one."""

Ratios = dict[str, dict[str, float]]


def slower(stored: dict[str, float], found: dict[str, float]) -> list[str]:
    """Name the ratios that fell below their bound, or that are stored no longer."""
    return [
        f"{name}: {ratio:.2f}, stored {stored.get(name, float('nan')):.2f}"
        for name, ratio in found.items()
        if not ratio >= LEAST * stored.get(name, float("nan"))
    ]


def measured(n_teachers: int, repeats: int, n_questions: int) -> Ratios:
    """Measure every ratio that is stored, and say each as it comes."""
    ratios: Ratios = {LOOP: {}, NUMBA: {}, PRODUCT: {}, TREES: {}}
    for name, model, n_classes, width, _ in CASES:
        called = f"{name}, {n_classes}, {width}"
        found = compare(name, model, n_classes, width, n_teachers, repeats)
        ratios[LOOP][called] = found["loop"] / found["together"]
        print(f"{called}: {ratios[LOOP][called]:.1f}", flush=True)
        if isinstance(model, COMPILED) and can_compile():
            found = compiled(model, n_classes, width, n_teachers, repeats)
            ratios[NUMBA][called] = found["loop"] / found["numba"]
            print(f"{called}, compiled: {ratios[NUMBA][called]:.1f}", flush=True)
    for called, loop, together in measure_kept(repeats, FEW_KEPT, SOME_KEPT):
        ratios[TREES][called] = loop / together
        print(f"{called}: {ratios[TREES][called]:.1f}", flush=True)
    for n_classes, width, voters in VOTED:
        print(voting(n_classes, width, voters, n_questions, repeats, ratios[PRODUCT]), flush=True)
    return ratios


def in_words(ratios: Ratios, fallen: list[str], load: str) -> str:
    """Return what a run of the guard found, in one paragraph."""
    loop, numba, product, trees = (
        ", ".join(f"{name}: {ratio:.{digits}f}" for name, ratio in ratios[kind].items())
        for kind, digits in ((LOOP, 1), (NUMBA, 1), (PRODUCT, 2), (TREES, 1))
    )
    return (
        f"`python benchmarks/scale_guard.py` ({load}): {'; '.join(fallen) or 'nothing has become slower'}. Times "
        f"faster than the loop, {loop}. By numba, {numba or 'not looked at'}. Shares of sgemm, {product}. "
        f"Kept trees, times faster than one by one, {trees}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--teachers", type=int, help="fewer than the stored ratios have make smaller stacks")
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--record", metavar="LOAD", help="write what was found to results/scale.md, with this note")
    told = parser.parse_args()
    path = RESULTS / "scale.json"
    kept = json.loads(path.read_text())
    warnings.simplefilter("ignore")
    with one_thread():
        ratios = measured(told.teachers or kept["teachers"], told.repeats, told.questions)
    fallen = [line for kind, found in ratios.items() for line in slower(kept[kind], found)]
    print("\n".join(fallen) or "Nothing has become slower.")
    if told.record is not None:
        kept["guard"] = in_words(ratios, fallen, told.record)
        path.write_text(json.dumps(kept, indent=2) + "\n")
        (RESULTS / "scale.md").write_text(page(kept))
    sys.exit(1 if fallen else 0)


if __name__ == "__main__":
    main()
