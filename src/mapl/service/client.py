"""The Python client of a server: asks, waits where it is told to, and never spends twice for one request."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
import numpy as np
import orjson

from mapl.errors import BudgetExhausted, InvalidData, InvalidParameter, LedgerRolledBack, MaplError, ServiceError
from mapl.service.seen_entries import HEADER, SeenEntries

RETRIES = 6
LONGEST_WAIT = 10.0

ERRORS: dict[int, type[MaplError]] = {
    404: InvalidParameter,
    409: BudgetExhausted,
    413: InvalidData,
    422: InvalidData,
}
"""What a refusal becomes here; every other one is a ServiceError."""

ROLLED_BACK = "urn:mapl:problem:ledger-rolled-back"
"""The type of the refusals that become LedgerRolledBack."""


@dataclass(frozen=True, slots=True)
class PrivateAnswers:
    """The reply to one request: a class for each row, None where there is none, and what became of each.

    ``statuses`` says "answered", "abstained" (the teachers disagreed too much) or "not asked" (the budget ended).
    """

    id: str
    labels: tuple[str | None, ...]
    statuses: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


class Client:
    """Talks to a server that `mapl serve` runs.

    Parameters
    ----------
    url
        Where the server is, such as "http://127.0.0.1:8000".
    key
        An API key, as `mapl keys create` printed it.
    timeout
        How many seconds one call may take.
    retries
        How often a call is sent again when the server is busy or cannot be reached. It carries the same
        Idempotency-Key each time, so it is answered and counted once.
    witness
        A file that remembers, over restarts, how far the server's ledger had come. A reply from before that is
        refused (LedgerRolledBack): the server was put back to an earlier state and would draw answers anew.
        Without it the client remembers for as long as it lives.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000", "mapl_0123456789ab_...")
    >>> client.close()
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        retries: int = RETRIES,
        witness: Path | str | None = None,
    ) -> None:
        if not key.isascii() or not key.isprintable():
            raise InvalidParameter("The key is none that mapl keys create printed; check that it was copied whole.")
        headers = {"Authorization": f"Bearer {key}"}
        self._retries = retries
        self._seen = SeenEntries(None if witness is None else Path(witness))
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, follow_redirects=False)

    def ask(self, rows: Any, *, idempotency_key: str | None = None) -> PrivateAnswers:
        """Ask private questions; new ones spend from the budget that all callers share.

        Parameters
        ----------
        rows
            Lists in the order of the columns, dictionaries by column, a NumPy matrix, a frame or a pyarrow Table.
        idempotency_key
            A name for this request; sent again with it, even by another process, it gets the same reply.

        Raises
        ------
        BudgetExhausted
            If no question could be asked any more.
        InvalidData
            If the rows do not have the declared form; nothing was spent on them.
        ServiceError
            If the server cannot be reached, is busy, or does not accept the key.
        LedgerRolledBack
            If the server's record was put back to an earlier state.
        """
        name = secrets.token_urlsafe(24) if idempotency_key is None else idempotency_key
        return self._answered("POST", "/v1/answers", rows=rows, headers={"Idempotency-Key": name})

    def answer(self, id: str) -> PrivateAnswers:
        """Return the reply of an earlier request of the same API key; free."""
        return self._answered("GET", f"/v1/answers/{quote(id, safe='')}")

    def predict(self, rows: Any) -> list[str]:
        """Return the published student's predictions; free."""
        predictions: list[str] = self._call("POST", "/v1/predictions", rows=rows).json()["predictions"]
        return predictions

    def budget(self) -> dict[str, Any]:
        """Return what is spent and what is left."""
        return self._json("/v1/budget")

    def plan(self) -> dict[str, Any]:
        """Return the plan, its digest, and the schema of the questions."""
        return self._json("/v1/plan")

    def ledger(self, after: int = -1, *, limit: int = 100) -> list[dict[str, Any]]:
        """Return entries of the public chain whose number is above `after`, oldest first."""
        entries: list[dict[str, Any]] = self._json("/v1/ledger", after=after, limit=limit)["entries"]
        return entries

    def report(self) -> str:
        """Return the report of all answers so far, as HTML."""
        return self._call("GET", "/v1/report").text

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url)!r})"

    def _answered(self, method: str, path: str, **asked: Any) -> PrivateAnswers:
        """Call a route that answers, and refuse an answer from before what was seen when it was asked for."""
        before = self._seen.now()
        headers = {**asked.pop("headers", {}), **self._seen.header()}
        reply = self._call(method, path, headers=headers, **asked)
        self._seen.take(reply.headers.get(HEADER), before)
        return _answers(reply.content)

    def _json(self, path: str, **query: int) -> dict[str, Any]:
        content: dict[str, Any] = self._call("GET", path, query=query).json()
        return content

    def _call(
        self,
        method: str,
        path: str,
        *,
        rows: Any = None,
        query: dict[str, int] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        body = None if rows is None else _json_of(plain_rows(rows))
        sent = {} if body is None else {"Content-Type": "application/json"}
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                reply = self._http.request(
                    method, path, content=body, params=query or None, headers={**sent, **(headers or {})}
                )
            except httpx.TransportError as failure:
                if last:
                    raise ServiceError(
                        f"{self._http.base_url} cannot be reached ({type(failure).__name__}); check the address "
                        "and whether the server runs. If a question was asked, ask it again with the same "
                        "idempotency_key: it is counted once."
                    ) from None
                time.sleep(_pause(attempt))
                continue
            if reply.is_success:
                return reply
            if last or "retry-after" not in reply.headers:
                raise _error(reply)
            time.sleep(max(_pause(attempt), _asked_for(reply)))
        raise AssertionError("unreachable")


def plain_rows(rows: Any) -> Sequence[Any]:
    """Return rows of any kind as lists or dictionaries."""
    if hasattr(rows, "to_pylist"):  # a pyarrow Table
        listed: Sequence[Any] = rows.to_pylist()
    elif hasattr(rows, "to_dicts"):  # a polars frame
        listed = rows.to_dicts()
    elif hasattr(rows, "iloc"):  # a pandas frame
        listed = [
            {str(name): None if _missing(cell) else cell for name, cell in row.items()}
            for row in rows.to_dict(orient="records")
        ]
    elif hasattr(rows, "tolist"):
        listed = rows.tolist()
    else:
        listed = rows
    return listed


def _json_of(rows: Sequence[Any]) -> bytes:
    """Write rows as JSON, NaN as null. An infinity would be null as well, and asked and spent on: it is refused."""
    body = orjson.dumps({"rows": rows}, option=orjson.OPT_SERIALIZE_NUMPY)
    infinite = next((n for n, row in enumerate(rows, 1) if _infinite(row)), None) if b"null" in body else None
    if infinite is not None:
        raise InvalidData(
            f"Row {infinite} holds an infinite number; give a finite one, or None for a missing cell. Nothing was "
            "sent."
        )
    return body


def _infinite(value: Any) -> bool:
    """Say whether there is an infinity anywhere in a row or a cell."""
    if isinstance(value, (float, np.floating)):
        return math.isinf(value)
    if isinstance(value, np.ndarray):
        return bool(np.isinf(value).any()) if value.dtype.kind == "f" else False
    if isinstance(value, Mapping):
        return any(map(_infinite, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_infinite, value))


def _missing(cell: Any) -> bool:
    """Say whether a cell of pandas is empty: NaN, NaT and NA differ from themselves or cannot tell."""
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        return not isinstance(cell, (list, tuple)) and not hasattr(cell, "tolist")


def _answers(content: bytes) -> PrivateAnswers:
    reply = orjson.loads(content)
    answers = reply["answers"]
    return PrivateAnswers(
        reply["id"], tuple(one["label"] for one in answers), tuple(one["status"] for one in answers)
    )


def _error(reply: httpx.Response) -> MaplError:
    try:
        problem = reply.json()
        said = f"{problem['title']} {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        said = "Something between here and the server replied, and not in the server's words; check the address."
    kind = ERRORS.get(reply.status_code, ServiceError)
    if ROLLED_BACK in reply.text:
        kind = LedgerRolledBack
    return kind(f"{said} (status {reply.status_code})")


def _pause(attempt: int) -> float:
    """Wait longer each time, and not in step with others."""
    return float(min(LONGEST_WAIT, 0.1 * 2**attempt) * (0.5 + secrets.randbelow(1000) / 2000))


def _asked_for(reply: httpx.Response) -> float:
    given = reply.headers["retry-after"]
    return min(LONGEST_WAIT, float(given)) if given.isdecimal() else 0.0
