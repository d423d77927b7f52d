"""What a server lets in: sizes, rates and the clock that replies keep."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.errors import InvalidParameter
from mapl.types import finite_positive, positive_integer

LONGEST_TICK = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The public limits of a server; none of them has to do with the privacy budget.

    Parameters
    ----------
    most_body_bytes, most_rows
        How large one request may be.
    requests_per_second, burst
        How often one API key may call a worker: on average, and at once.
    most_waiting
        How many questions may wait for the teachers; beyond that requests are turned away (503).
    most_in_group
        How many questions are voted on and recorded at once; a single larger request is a group of its own.
    most_requests
        How many requests may be under way.
    tick
        Replies leave a whole number of ticks, in seconds, after their request came.
    hosts
        The names that a request may call this server by; any, if empty.
    access_log
        Whether a line of method, route, status and caller is written for each request.
    """

    most_body_bytes: int = 16 << 20
    most_rows: int = 10_000
    requests_per_second: float = 5_000.0
    burst: int = 10_000
    most_waiting: int = 20_000
    most_in_group: int = 1_024
    most_requests: int = 256
    tick: float = 0.002
    hosts: tuple[str, ...] = ()
    access_log: bool = False

    def __post_init__(self) -> None:
        positive_integer(
            most_body_bytes=self.most_body_bytes,
            most_rows=self.most_rows,
            burst=self.burst,
            most_waiting=self.most_waiting,
            most_in_group=self.most_in_group,
            most_requests=self.most_requests,
        )
        finite_positive(requests_per_second=self.requests_per_second, tick=self.tick)
        if self.tick > LONGEST_TICK:
            raise InvalidParameter(f"tick is {self.tick:g}; it must be at most {LONGEST_TICK:g} second.")
