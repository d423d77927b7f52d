"""Others' trouble: what callers notice of large requests, of slow clients and of a flood of bodies.

    python benchmarks/crowd.py [--seconds 5] [--rounds 5] [--out benchmarks/results]

Each figure compares two loads of one run, one after the other, on one server. Those who make trouble are processes
of their own, so that the clock of those who are measured is not held up by them. What slow clients take from others
is told in seconds of the server's processor per answer: how many answers fit into a second by the clock also hangs
on whatever else the machine does in it. Results: benchmarks/results/crowd.md and .json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from load import Load, closed, request
from served_run import BULK, RESULTS, TEACHERS, Questions, Server, serving, store, taught

from mapl.pipeline.online.run import OnlineRun

AT_REST = 0.05
"""Seconds of its processor that a server without requests takes at most in one by the clock."""

SLOW = 300
SLOW_COST = "server's processor time per answer beside 300 slow clients to alone"
BODIES, BODY_BYTES = 8, 16 << 20
HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"


@contextmanager
def beside(work: Callable[..., None], *given: Any) -> Iterator[None]:
    """Have some work done by another process until the end of the block."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=given, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def ask_in_bulk(port: int, requests: Sequence[bytes], begun: Any) -> None:
    """Send large requests one after the other, without a pause; say when the first one was answered."""
    while True:
        for one in requests:
            load = closed([port], [one], connections=1, seconds=600)
            assert load.statuses[200] == 1, load.statuses
            begun.set()


def hold_slowly(port: int, count: int, begun: Any) -> None:
    """Begin to sign in, over many connections, and never end; begin anew whatever the server cuts off."""
    half = HEAD.format(path="/page/sign-in", length=9).encode() + b"\r\nkey="
    held: list[socket.socket] = []
    while True:
        while len(held) < count:
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(half)
            one.setblocking(False)
            held.append(one)
        begun.set()
        time.sleep(0.2)
        held = [one for one in held if _waits(one)]


def _waits(one: socket.socket) -> bool:
    try:
        one.recv(4096)  # whatever is said, it was cut off
    except BlockingIOError:
        return True
    except OSError:
        pass
    one.close()
    return False


def flood(port: int, token: str) -> dict[str, Any]:
    """Send eight bodies of 16 MB at once, of the kinds that become most objects; return what was said."""
    kinds = (b"[],", b"1.5,", b'"ab",', b"{},")
    statuses: list[int] = []
    with ExitStack() as held:
        sockets = []
        for i in range(BODIES):
            cell = kinds[i % len(kinds)]
            body = b'{"rows":[' + cell * ((BODY_BYTES - 64) // len(cell)) + b"0]}"
            one = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=600))
            sockets.append((one, request("/v1/answers", body, token)))
        for one, sent in sockets:
            one.setblocking(True)
            _send(one, sent)
        slowest = max(_health(port) for _ in range(20))
        for one, _ in sockets:
            said = one.recv(4096)
            statuses.append(int(said[9:12]) if said else 0)
    return {"statuses": sorted(statuses), "slowest healthz, ms": 1000 * slowest}


def _send(one: socket.socket, sent: bytes) -> None:
    with suppress(OSError):  # it may be refused before all of it was sent
        one.sendall(sent)


def _health(port: int) -> float:
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=600) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        while one.recv(4096):
            pass
    return time.perf_counter() - began


def peak_memory(process: int) -> float:
    """Return the most memory that a process ever had, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def processor_seconds(process: int) -> float:
    """Return how long a process has computed, for itself and in the kernel."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def await_rest(process: int) -> None:
    """Wait until a server has nothing to do: a slice of a request whose caller is gone may be at work."""
    while True:
        before = processor_seconds(process)
        time.sleep(1.0)
        if processor_seconds(process) - before < AT_REST:
            return


def measure_crowd(
    server: Server, questions: Questions, *, seconds: float, bulk_rows: int, rounds: int
) -> dict[str, Any]:
    """Return how others fare beside two callers of large requests, beside slow clients, and in a flood."""
    port, (mine, first, second) = server.port, server.tokens
    made = multiprocessing.get_context("spawn").Event

    def others() -> Load:
        return closed([port], questions.requests(int(1500 * seconds), mine), connections=4, seconds=seconds)

    def priced() -> tuple[Load, float]:
        """Return a load, and what the server computed for each of its answers."""
        sent = questions.requests(int(1500 * seconds), mine)
        began = processor_seconds(server.process.pid)
        load = closed([port], sent, connections=4, seconds=seconds)
        return load, (processor_seconds(server.process.pid) - began) / load.statuses[200]

    others()  # warm
    busy = os.getloadavg()[0]
    calm, crowded, free, held = [], [], [], []
    for _ in range(rounds):
        await_rest(server.process.pid)
        calm.append(others())
        begun = [made(), made()]
        bulk = [questions.requests(12, token, rows=bulk_rows) for token in (first, second)]
        with beside(ask_in_bulk, port, bulk[0], begun[0]), beside(ask_in_bulk, port, bulk[1], begun[1]):
            for one in begun:
                one.wait(600)
            crowded.append(others())
        await_rest(server.process.pid)
        free.append(priced())
        slow = made()
        with beside(hold_slowly, port, SLOW, slow):
            slow.wait(600)
            held.append(priced())
    flooded = flood(port, first)
    return {
        "p99 beside two bulk callers to p99 alone": statistics.median(
            one.percentile(0.99) / other.percentile(0.99) for one, other in zip(crowded, calm, strict=True)
        ),
        SLOW_COST: statistics.median(one / other for (_, one), (_, other) in zip(held, free, strict=True)),
        "throughput beside 300 slow clients to alone": statistics.median(
            one.per_second / other.per_second for (one, _), (other, _) in zip(held, free, strict=True)
        ),
        "computed per answer alone, ms": 1000 * statistics.median(cost for _, cost in free),
        "load of the machine before": busy,
        "p99 alone, ms": statistics.median(one.percentile(0.99) for one in calm),
        "p99 beside two bulk callers, ms": statistics.median(one.percentile(0.99) for one in crowded),
        "other than 200": sum(
            sum(load.statuses.values()) - load.statuses[200]
            for load in (*calm, *crowded, *(one for one, _ in (*free, *held)))
        ),
        "peak memory through the flood, MB": peak_memory(server.process.pid),
        "flood": flooded,
    }


def written(crowd: dict[str, Any]) -> str:
    """Return the figures as a page."""
    asked = {
        "p99 beside two bulk callers to p99 alone": "at most 5",
        SLOW_COST: "at most 1.25",
        "peak memory through the flood, MB": "below 600",
    }
    lines = [
        "# What callers notice of others",
        "",
        f"Written by `benchmarks/crowd.py`: {TEACHERS} ridge teachers of adult, SQLite, one worker, cores that the "
        "load generator shares; medians over turns of one run. Times are of one machine, ratios travel better.",
        "",
        "| what | measured | asked |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {crowd[name]:.2f} | {words} |" for name, words in asked.items()]
    flooded = crowd["flood"]
    lines += [
        "",
        f"Four connections of single rows: p99 {crowd['p99 alone, ms']:.1f} ms alone, "
        f"{crowd['p99 beside two bulk callers, ms']:.1f} ms beside two callers of 10,000 rows each; "
        f"{crowd['other than 200']} replies other than 200. Beside 300 slow clients they got "
        f"{crowd['throughput beside 300 slow clients to alone']:.2f} of their answers per second, by the clock of "
        f"a machine of {os.cpu_count()} cores whose load was {crowd['load of the machine before']:.1f}; an answer "
        f"alone took {crowd['computed per answer alone, ms']:.2f} ms of the server's processor. "
        f"{BODIES} bodies of {BODY_BYTES >> 20} MB at once: "
        f"statuses {json.dumps(flooded['statuses'])}, slowest /healthz {flooded['slowest healthz, ms']:.0f} ms.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=5.0, help="of each load")
    options.add_argument("--rounds", type=int, default=5, help="turns of which the median is told")
    options.add_argument("--out", type=Path, default=RESULTS, help="where figures and page go")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="mapl-crowd-") as name:
        folder = Path(name)
        run = taught(folder, TEACHERS)
        questions = Questions(OnlineRun.read(run), folder)
        with serving(run, f"sqlite:///{folder}/crowd.sqlite", "--keys", "3") as server:
            figures = measure_crowd(server, questions, seconds=given.seconds, bulk_rows=BULK, rounds=given.rounds)
    store("crowd", figures, written(figures), given.out)


if __name__ == "__main__":
    main()
