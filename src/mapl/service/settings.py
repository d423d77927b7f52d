"""What a server lets in: sizes, rates and the clock that replies keep."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.errors import InvalidParameter
from mapl.types import finite_positive, positive_integer

LONGEST_TICK = 1.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The public limits of a server; none of them has to do with the privacy budget.

    Parameters
    ----------
    most_body_bytes, most_rows
        How large one request may be.
    most_held_bytes
        How many bytes of bodies may be in memory at once, and how many bytes they may be read into at once; one
        caller may fill half of the first.
    head_seconds, body_seconds
        How long the head of a request may take to arrive, and then its body.
    most_connections
        How many connections may be open. Beyond that, whoever has waited longest without a whole request goes;
        where nobody has waited, whoever comes is told to come again (503).
    rows_per_second, burst
        How many rows one API key may send to a worker: on average, and at once. A call without rows counts as one.
    most_requests
        How many requests of one API key may be under way.
    most_waiting
        How many questions of one API key may wait for the teachers; beyond that its requests are turned away (503).
    most_in_group
        How many questions are voted on and recorded at once.
    most_in_slice
        Requests with more rows are cut into slices of so many, and others come in between; four times as many while
        nobody else asks.
    tick
        Replies leave a whole number of ticks, in seconds, after their request came.
    hosts
        The names that a request may call this server by; any, if empty.
    access_log
        Whether a line is written for each request.
    alert_at, alert_url
        At which shares of the budget that are left somebody is told: by the log, and at an address if there is one.
    telemetry_url
        Where spans of requests are sent, by OTLP over HTTP; nowhere without it.
    """

    most_body_bytes: int = 16 << 20
    most_rows: int = 10_000
    most_held_bytes: int = 128 << 20
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    most_connections: int = 1_000
    rows_per_second: float = 50_000.0
    burst: int = 100_000
    most_requests: int = 256
    most_waiting: int = 20_000
    most_in_group: int = 1_024
    most_in_slice: int = 512
    tick: float = 0.002
    hosts: tuple[str, ...] = ()
    access_log: bool = False
    alert_at: tuple[float, ...] = (0.2, 0.05, 0.0)
    alert_url: str | None = None
    telemetry_url: str | None = None

    def __post_init__(self) -> None:
        positive_integer(
            most_body_bytes=self.most_body_bytes,
            most_rows=self.most_rows,
            most_held_bytes=self.most_held_bytes,
            most_connections=self.most_connections,
            burst=self.burst,
            most_requests=self.most_requests,
            most_waiting=self.most_waiting,
            most_in_group=self.most_in_group,
            most_in_slice=self.most_in_slice,
        )
        finite_positive(
            rows_per_second=self.rows_per_second,
            tick=self.tick,
            head_seconds=self.head_seconds,
            body_seconds=self.body_seconds,
        )
        if self.tick > LONGEST_TICK:
            raise InvalidParameter(f"tick is {self.tick:g}; it must be at most {LONGEST_TICK:g} second.")
        if not all(0 <= share < 1 for share in self.alert_at):
            raise InvalidParameter("alert_at holds a share that is not from 0 to below 1; give such as 0.2.")
        for name, url in (("alert_url", self.alert_url), ("telemetry_url", self.telemetry_url)):
            if url is not None and not url.startswith(("https://", "http://")):
                raise InvalidParameter(f"{name} is no address of the web; give one that begins with https://.")
