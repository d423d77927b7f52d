"""A load generator that leaves the processors to the server: prepared requests over kept connections.

Closed load: every connection asks again as soon as it was answered. Open load: requests leave at a given rate,
answered or not, as they do from people who do not wait for each other.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class Load:
    """What came of a load: seconds that each answer took, and how often which status came back."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    lasted: float = 0.0

    @property
    def per_second(self) -> float:
        """Requests that were answered with 200, per second."""
        return self.statuses[200] / self.lasted

    def percentile(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        return 1000 * float(np.percentile(self.seconds, 100 * share))

    def __add__(self, other: Load) -> Load:
        """Put together two loads that ran at the same time."""
        return Load(self.seconds + other.seconds, self.statuses + other.statuses, max(self.lasted, other.lasted))


def request(path: str, body: bytes, token: str, *, key: str | None = None) -> bytes:
    """Return a whole POST as the bytes that go over the wire."""
    head = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    if key is not None:
        head.append(f"Idempotency-Key: {key}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


async def reply(reader: asyncio.StreamReader) -> tuple[int, bool]:
    """Read one response: its status, and whether the connection may be used again."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    await reader.readexactly(length)
    return status, b"\r\nconnection: close\r\n" not in head.lower()


async def _closed(port: int, requests: Iterator[bytes], until: float, load: Load) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for one in requests:
            began = time.perf_counter()
            if began >= until:
                break
            writer.write(one)
            status, _ = await reply(reader)
            load.statuses[status] += 1
            load.seconds.append(time.perf_counter() - began)
    finally:
        writer.close()


def closed(ports: Sequence[int], requests: Sequence[bytes], *, connections: int, seconds: float) -> Load:
    """Keep some connections busy for a while, spread over the ports; every request is sent at most once."""
    left = iter(requests)

    async def run() -> Load:
        load, began = Load(), time.perf_counter()
        await asyncio.gather(
            *(_closed(ports[i % len(ports)], left, began + seconds, load) for i in range(connections))
        )
        load.lasted = time.perf_counter() - began
        return load

    return asyncio.run(run())


async def _once(
    port: int, one: bytes, pool: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]], load: Load
) -> None:
    began = time.perf_counter()
    try:
        reader, writer = pool.pop() if pool else await asyncio.open_connection("127.0.0.1", port)
        writer.write(one)
        status, stays = await reply(reader)
        if stays:
            pool.append((reader, writer))
        else:
            writer.close()
    except (OSError, asyncio.IncompleteReadError):
        status = 0
    load.statuses[status] += 1
    load.seconds.append(time.perf_counter() - began)


def open_load(port: int, requests: Sequence[bytes], *, per_second: float) -> Load:
    """Send every request at its time, whether earlier ones were answered or not."""

    async def run() -> Load:
        load, began = Load(), time.perf_counter()
        pool: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        tasks = []
        for i, one in enumerate(requests):
            ahead = began + i / per_second - time.perf_counter()
            if ahead > 0:
                await asyncio.sleep(ahead)
            tasks.append(asyncio.create_task(_once(port, one, pool, load)))
            if i % 16 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        load.lasted = time.perf_counter() - began
        for _, writer in pool:
            writer.close()
        return load

    return asyncio.run(run())
