"""The service under load and under fire: real processes, real SQLite, real PostgreSQL, loopback only.

    python benchmarks/serve.py [--seconds 5] [--rounds 5] [--kills 300] [--only kills] [--out benchmarks/results]

250 ridge teachers of adult (of the made-up clinic where ../shared/data is absent) answer single rows over 16 kept
connections. Every figure that is compared with another comes from the same run, in turns; medians of the turns are
told. The load generator shares the two cores with the servers. Results: benchmarks/results/serve.md and .json; what
callers notice of others is measured by benchmarks/crowd.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from load import Load, closed, open_load
from rich.progress import track as bar
from served_run import BULK, HERE, RESULTS, TEACHERS, Questions, Server, database, serving, store, taught

from mapl.pipeline.online.run import OnlineRun
from mapl.release.ledger.opening import open_ledger

sys.path.insert(0, str(HERE.parent / "tests" / "faults"))

CONNECTIONS = 16
OVERLOAD = 3
IDENTICAL, AT_ONCE = 10_000, 50
MANY_TEACHERS = 1000
PIECE = 50
"""Servers that are killed on one ledger, before a new one is taken."""


def throughput(run: Path, questions: Questions, folder: Path, pg: str, *, rounds: int, seconds: float) -> Any:
    """Measure, in turns: memory, SQLite, two replicas on PostgreSQL; one connection alone; large requests."""
    told: dict[str, list[Any]] = {name: [] for name in ("memory", "sqlite", "postgres", "one", "bulk")}
    n = int(6000 * seconds)
    for turn in bar(range(rounds), "load"):
        with serving(run, "memory:") as server:
            told["memory"].append(measured(server, questions, n, seconds))
        with serving(run, f"sqlite:///{folder}/load-{turn}.sqlite") as server:
            told["sqlite"].append(measured(server, questions, n, seconds))
            told["one"].append(measured(server, questions, n // 4, seconds / 2, connections=1))
            told["bulk"].append(bulk(server, questions))
        address = f"{pg}{'&' if '?' in pg else '?'}schema=load_{turn}"
        with serving(run, address) as first, serving(run, address) as second:
            warm_up(first, questions)
            warm_up(second, questions)
            requests = questions.requests(n, first.token)
            load = closed([first.port, second.port], requests, connections=CONNECTIONS, seconds=seconds)
            told["postgres"].append(load)
    return told


def warm_up(server: Server, questions: Questions) -> None:
    closed([server.port], questions.requests(400, server.token), connections=CONNECTIONS, seconds=1)


def measured(
    server: Server, questions: Questions, n: int, seconds: float, *, connections: int = CONNECTIONS
) -> Load:
    warm_up(server, questions)
    requests = questions.requests(n, server.token)
    return closed([server.port], requests, connections=connections, seconds=seconds)


def bulk(server: Server, questions: Questions, times: int = 5) -> float:
    """Return rows per second of large requests, one after the other."""
    rates = []
    for one in questions.requests(times, server.token, rows=BULK):
        load = closed([server.port], [one], connections=1, seconds=60)
        assert load.statuses[200] == 1, load.statuses
        rates.append(BULK / load.seconds[0])
    return statistics.median(rates)


def overload(run: Path, questions: Questions, folder: Path, per_second: float, seconds: float) -> Any:
    """Send three times what the server answers, and compare what it said with its ledger."""
    url = f"sqlite:///{folder}/overload.sqlite"
    with serving(run, url, "--most-waiting", "64") as server:
        warm_up(server, questions)
        ledger = open_ledger(url)
        before = ledger.spending("labels")
        requests = questions.requests(int(OVERLOAD * per_second * seconds), server.token)
        load = open_load(server.port, requests, per_second=OVERLOAD * per_second)
    state = ledger.spending("labels")
    ledger.verify()
    ledger.close()
    counted = state.answered + state.abstained - before.answered - before.abstained
    return {
        "offered per second": len(requests) / load.lasted,
        "statuses": {str(status): n for status, n in sorted(load.statuses.items())},
        "answered per second": load.per_second,
        "answers received": load.statuses[200],
        "questions counted": counted,
        "p99 of all, ms": load.percentile(0.99),
    }


def identical(run: Path, questions: Questions, folder: Path) -> Any:
    """Ask one question ten thousand times, fifty at a time."""
    url = f"sqlite:///{folder}/identical.sqlite"
    with serving(run, url) as server:
        (one,) = questions.requests(1, server.token)
        load = closed([server.port], [one] * IDENTICAL, connections=AT_ONCE, seconds=600)
    ledger = open_ledger(url)
    state = ledger.spending("labels")
    ledger.close()
    return {
        "requests": load.statuses[200],
        "spent": state.answered + state.abstained,
        "per second": load.per_second,
    }


def single_rows(folder: Path) -> Any:
    """Time one row of a thousand linear teachers, from JSON values to votes, without HTTP and ledger."""
    run = OnlineRun.read(taught(folder, MANY_TEACHERS))
    questions = Questions(run, folder)
    seconds = []
    for row in questions.next(300):
        began = time.perf_counter()
        read = run.conformed([row])
        run.digests(read)
        run.panel.votes(read)
        seconds.append(time.perf_counter() - began)
    return {
        "median ms": 1000 * statistics.median(seconds[20:]),
        "p99 ms": 1000 * float(np.quantile(seconds[20:], 0.99)),
    }


def kills(run: Path, folder: Path, total: int) -> Any:
    """Kill servers while they answer, and count what their ledgers do not know."""
    from killing import Kills, killed

    def added(pieces: list[Kills]) -> dict[str, int]:
        return {
            "servers killed": sum(one.rounds for one in pieces),
            "of them while answering": sum(one.rounds_with_answers for one in pieces),
            "answers received": sum(len(one.received) for one in pieces),
            "not in the ledger": sum(one.unrecorded for one in pieces),
            "counted and not received": sum(max(0, one.over_count) for one in pieces),
            "in flight at a kill": sum(one.cut_off for one in pieces),
        }

    safe = [
        killed(run, f"sqlite:///{folder}/kills-{i}.sqlite", rounds=PIECE, seed=1000 + i)
        for i in bar(range(total // PIECE), "kills")
    ]
    unsafe = killed(run, f"sqlite:///{folder}/unsafe.sqlite", rounds=PIECE, seed=1, releases_first=True)
    return {"spend before release": added(safe), "release before spend": added([unsafe])}


def told_of(loads: list[Load]) -> dict[str, float]:
    return {
        "answers per second": statistics.median(load.per_second for load in loads),
        "p50 ms": statistics.median(load.percentile(0.5) for load in loads),
        "p99 ms": statistics.median(load.percentile(0.99) for load in loads),
        "other than 200": sum(sum(load.statuses.values()) - load.statuses[200] for load in loads),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=5.0, help="of each load")
    options.add_argument("--rounds", type=int, default=5, help="turns of which the median is told")
    options.add_argument("--kills", type=int, default=300, help="servers to kill; 0 keeps the stored figures")
    options.add_argument("--only", choices=["kills"], help="measure this part; other figures stay")
    options.add_argument("--out", type=Path, default=RESULTS, help="where figures and page go")
    given = options.parse_args()
    stored = json.loads((RESULTS / "serve.json").read_text())
    if given.only:
        with tempfile.TemporaryDirectory(prefix="mapl-serve-") as name:
            stored["kills"] = kills(taught(Path(name), TEACHERS), Path(name), given.kills)
        store("serve", stored, written(stored), given.out)
        return
    with tempfile.TemporaryDirectory(prefix="mapl-serve-") as name, database() as pg:
        folder = Path(name)
        run = taught(folder, TEACHERS)
        questions = Questions(OnlineRun.read(run), folder)
        loads = throughput(run, questions, folder, pg, rounds=given.rounds, seconds=given.seconds)
        figures: dict[str, Any] = {name: told_of(loads[name]) for name in ("memory", "sqlite", "postgres", "one")}
        sqlite = figures["sqlite"]["answers per second"]
        figures["bulk rows per second"] = statistics.median(loads["bulk"])
        figures["ratios"] = {
            "sqlite to memory": statistics.median(
                s.per_second / m.per_second for s, m in zip(loads["sqlite"], loads["memory"], strict=True)
            ),
            "two postgres replicas to sqlite": statistics.median(
                p.per_second / s.per_second for p, s in zip(loads["postgres"], loads["sqlite"], strict=True)
            ),
            "bulk to single rows, 16 connections": statistics.median(
                b / s.per_second for b, s in zip(loads["bulk"], loads["sqlite"], strict=True)
            ),
            "bulk to single rows, 1 connection": statistics.median(
                b / o.per_second for b, o in zip(loads["bulk"], loads["one"], strict=True)
            ),
        }
        figures["overload"] = overload(run, questions, folder, sqlite, given.seconds)
        figures["identical"] = identical(run, questions, folder)
        figures["one row of 1000 teachers"] = single_rows(folder)
        # Without any, those of the last run that killed some.
        figures["kills"] = kills(run, folder, given.kills) if given.kills else stored.get("kills", {})
    store("serve", figures, written(figures), given.out)


def written(figures: dict[str, Any]) -> str:
    """Return the figures as a page."""
    ratios, over, same = figures["ratios"], figures["overload"], figures["identical"]
    lines = [
        "# The service under load and under fire",
        "",
        f"Written by `benchmarks/serve.py`: {TEACHERS} ridge teachers of adult, single rows, {CONNECTIONS} kept "
        "connections, one worker, two cores that the load generator shares; medians over turns of one run. Times "
        "are of one machine, ratios travel better.",
        "",
        "| ledger | answers/s | p50 ms | p99 ms |",
        "|---|---|---|---|",
    ]
    names = {
        "memory": "in memory (not durable)",
        "sqlite": "SQLite, durable, group commit",
        "postgres": "PostgreSQL, two replicas together",
        "one": "SQLite, one connection",
    }
    for key, name in names.items():
        one = figures[key]
        lines.append(f"| {name} | {one['answers per second']:.0f} | {one['p50 ms']:.1f} | {one['p99 ms']:.1f} |")
    asked = {
        "sqlite to memory": "at least 0.40",
        "two postgres replicas to sqlite": "at least 0.80",
        "bulk to single rows, 16 connections": "at least 30",
        "bulk to single rows, 1 connection": "at least 30",
    }
    lines += ["", "| ratio | measured | asked |", "|---|---|---|"]
    lines += [f"| {name} | {ratios[name]:.2f} | {asked[name]} |" for name in asked]
    lines += [
        "",
        f"A request of {BULK:,} rows: {figures['bulk rows per second']:,.0f} rows/s.",
        "",
        f"Overload: {over['offered per second']:.0f} requests/s offered, statuses {over['statuses']}, "
        f"{over['answers received']} answers received, {over['questions counted']} questions counted. Status 0 is "
        "a connection that ended without a reply: a server keeps 1,000 open at most, and beyond that ends those "
        "that have waited longest without a whole request.",
        "",
        f"The same question {same['requests']:,} times, {AT_ONCE} at once: {same['spent']} spent.",
        "",
        f"One row, {MANY_TEACHERS} linear teachers, from JSON values to counted votes: "
        f"{figures['one row of 1000 teachers']['median ms']:.2f} ms (99%: "
        f"{figures['one row of 1000 teachers']['p99 ms']:.2f} ms; asked: at most 5 ms).",
    ]
    if figures.get("kills"):
        safe, unsafe = (figures["kills"][name] for name in ("spend before release", "release before spend"))
        lines += ["", "| kill -9 at random times | spend before release | release before spend |", "|---|---|---|"]
        lines += [f"| {name} | {safe[name]:,} | {unsafe[name]:,} |" for name in safe]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
