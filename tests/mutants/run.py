"""Apply privacy mutants one by one and see whether the tests notice: ``python tests/mutants/run.py --all``.

Exit code 0: every mutant that was tried was killed. 1: one survived, or a test fails without any mutant. 2: bad
input, or a mutant that no longer applies.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from changes import changed_files, most_relevant
from docs_table import write_docs
from every_mutant import LISTS, MUTANTS
from mutant import DoesNotApply, Mutant, all_killers
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from trial import Verdict, passes_unmutated, trial
from whole_run import whole_run, write_result

SHOWN = 25
"""Lines of a survivor's test run that are printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    told = _arguments().parse_args(arguments)
    console = Console()
    if told.write_docs:
        write_docs()
        return 0
    try:
        chosen = _chosen(told)
        for mutant in chosen:
            mutant.mutated()
    except (DoesNotApply, ValueError) as refusal:
        console.print(str(refusal), style="red")
        return 2
    if told.list:
        for mutant in chosen:
            console.print(f"{mutant.name}: {mutant.breaks} (src/mapl/{mutant.file})", soft_wrap=True)
        return 0
    if not chosen:
        console.print("No mutant is touched by the change.")
        return 0
    return _tried(chosen, console, jobs=told.jobs, minutes=told.at_most, whole=told.all)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/mutants/run.py", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants to try; --list names them")
    parser.add_argument("--all", action="store_true", help="try every mutant, and note the result in docs/audit.md")
    parser.add_argument("--changed", metavar="BASE", help="try those whose file or tests differ from a revision")
    parser.add_argument("--at-most", type=float, metavar="MINUTES", help="begin no further one after so long")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at the same time")
    parser.add_argument("--list", action="store_true", help="say what would be tried")
    parser.add_argument("--write-docs", action="store_true", help="write the table in docs/audit.md")
    return parser


def _chosen(told: argparse.Namespace) -> list[Mutant]:
    if told.jobs < 1:
        raise ValueError(f"--jobs is {told.jobs}; give at least 1.")
    if told.changed is not None:
        return most_relevant(LISTS, changed_files(told.changed))
    if told.all or (told.list and not told.names):
        return list(MUTANTS)
    unknown = [name for name in told.names if all(name != mutant.name for mutant in MUTANTS)]
    if unknown or not told.names:
        raise ValueError(
            f"Unknown mutants: {', '.join(unknown) or 'none given'}; --list names them, --all takes all."
        )
    return [mutant for mutant in MUTANTS if mutant.name in told.names]


def _tried(chosen: list[Mutant], console: Console, *, jobs: int, minutes: float | None, whole: bool) -> int:
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    console.print(f"{len(chosen)} mutants; first their tests without any.")
    sound, said = passes_unmutated(all_killers(chosen))
    if not sound:
        console.print(said[-8000:], markup=False, highlight=False)
        console.print("The tests fail without any mutant, so they cannot tell one.", style="red")
        return 1
    verdicts, left_out = _verdicts(chosen, console, jobs=jobs, deadline=deadline)
    console.print(_table(verdicts))
    survivors = [verdict for verdict in verdicts if not verdict.killed]
    for verdict in survivors:
        console.rule(f"{verdict.mutant.name} survived")
        console.print("\n".join(verdict.words.splitlines()[-SHOWN:]), markup=False, highlight=False)
    if left_out:
        console.print(f"Left out after {minutes:g} minutes: {', '.join(mutant.name for mutant in left_out)}.")
    console.print(f"{len(verdicts) - len(survivors)} of {len(verdicts)} mutants were killed.")
    if whole and not left_out:
        write_result(whole_run(len(verdicts), len(verdicts) - len(survivors)))
    return 1 if survivors else 0


def _verdicts(
    chosen: list[Mutant], console: Console, *, jobs: int, deadline: float
) -> tuple[list[Verdict], list[Mutant]]:
    """Try mutants, so many at a time, until all had their turn or the time is up; return those left out, too."""
    waiting, verdicts = list(chosen), []
    running: set[Future[Verdict]] = set()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ThreadPoolExecutor(jobs) as pool, Progress(*columns, console=console) as progress:
        task = progress.add_task("mutants", total=len(chosen))
        while running or (waiting and time.monotonic() < deadline):
            while waiting and len(running) < jobs and time.monotonic() < deadline:
                running.add(pool.submit(trial, waiting.pop(0)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                verdicts.append(one.result())
                if not verdicts[-1].killed:
                    progress.console.print(f"survived: {verdicts[-1].mutant.name}", style="red")
            progress.update(task, completed=len(verdicts))
    order = {mutant.name: place for place, mutant in enumerate(chosen)}
    return sorted(verdicts, key=lambda verdict: order[verdict.mutant.name]), waiting


def _table(verdicts: list[Verdict]) -> Table:
    table = Table("mutant", "file", "first test that failed", title="Privacy mutants")
    for verdict in verdicts:
        fate = verdict.first.rpartition("/")[2] if verdict.killed else "[red]none: it survived[/red]"
        table.add_row(verdict.mutant.name, verdict.mutant.file, fate)
    return table


if __name__ == "__main__":
    sys.exit(main())
