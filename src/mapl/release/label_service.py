"""A label service: whoever learns names public rows and is told their released labels, each row once."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.errors import GuaranteeBroken, InvalidParameter, PlanMismatch
from mapl.mechanisms import AnyMechanism, Task
from mapl.noise import Coins
from mapl.release.ledger.chain import START
from mapl.release.ledger.ledger import Ledger, NeverCopied
from mapl.release.loop import Released, begin_stage, step
from mapl.types import Integers, Labels, Tallies

ROWS = "rows"
"""Under this name an entry of the ledger says which public rows its block asked about."""


class LabelService(Protocol):
    """All that a student knows of those who answer it."""

    @property
    def left(self) -> int:
        """How many rows may still be asked."""

    def ask(self, rows: NDArray[Any]) -> Labels:
        """Return the labels of the rows, ABSTAIN where none was released; a row asked before is free.

        They are as many as the rows, or fewer once the service has ended: the rows after them were not asked.
        """


class PrivatePool(NeverCopied):
    """The label service of a run: the votes on a pool of public rows, and the mechanism that answers from them.

    Private, and silent about it. Whoever chooses rows gets labels from it, never the service itself
    (`mapl.students.active.inquiry`), so that a choice cannot depend on anything that was not released.

    Parameters
    ----------
    pool
        The teachers' votes on every row that may be asked about.
    task
        What the mechanism was calibrated for; at most ``task.n_queries`` rows are asked.
    ledger
        Open for the run's plan. What it holds of this stage already is told again for free.

    Notes
    -----
    *Guarantee.* That of the mechanism, for up to ``n_queries`` adaptively chosen questions. Proof:
    docs/proofs/active.md.
    """

    def __init__(
        self,
        pool: Tallies,
        mechanism: AnyMechanism,
        task: Task,
        coins: Coins,
        *,
        ledger: Ledger,
        stage: str = "labels",
    ) -> None:
        if (pool.n_teachers, pool.n_classes) != (task.n_teachers, task.n_classes):
            raise GuaranteeBroken(
                "The votes are of another number of teachers or classes than the mechanism was calibrated for; "
                "nothing was released. Calibrate it for these votes."
            )
        self._pool, self._mechanism, self._task = pool, mechanism, task
        self._coins, self._ledger, self._stage = coins, ledger, stage
        begun = begin_stage(ledger, mechanism, coins, task, stage=stage)
        self._state = begun.state
        self._rows = _recorded_rows(ledger, stage)
        self._told = dict(zip(self._rows, begun.labels.tolist(), strict=True))

    @property
    def left(self) -> int:
        return 0 if self._state.halted else self._task.n_queries - len(self._rows)

    def ask(self, rows: NDArray[Any]) -> Labels:
        """Return labels as a `LabelService` does; rows that are new are decided and recorded as one block."""
        asked = _row_numbers(rows, len(self._pool))
        new = [row for row in dict.fromkeys(asked.tolist()) if row not in self._told][: self.left]
        if new:
            outcome = step(
                self._ledger,
                self._mechanism,
                self._state,
                Tallies(self._pool.counts[new]),
                self._coins,
                stage=self._stage,
                payload={ROWS: new},
            )
            self._state = outcome.state
            taken = new[: len(outcome.labels)]
            self._rows += taken
            self._told.update(zip(taken, outcome.labels.tolist(), strict=True))
        answered = takewhile(self._told.__contains__, asked.tolist())
        return np.array([self._told[row] for row in answered], dtype=np.int32)

    @property
    def asked(self) -> Integers:
        """The rows asked so far, in order. Public."""
        return np.array(self._rows, dtype=np.int64)

    def released(self) -> Released:
        """Return what was published so far, in the order of `asked`; a run halted if its limits cut it short."""
        progress = self._ledger.progress(self._stage)
        taken = len(progress.labels)
        cut_short = progress.state.halted and taken < self._task.n_queries
        state = progress.state.after(0, 0, halted=False)  # without the secret
        return Released(progress.labels, progress.fallback, state, self._task.n_queries if cut_short else taken)

    def __repr__(self) -> str:
        return f"PrivatePool({len(self._pool)} public rows, private)"


def _recorded_rows(ledger: Ledger, stage: str) -> list[int]:
    """Return the rows whose answers are on record, in order; a block that was cut short names more than it has."""
    rows: list[int] = []
    for record in ledger.entries():
        if record.stage == stage and record.kind != START:
            asked = record.told().get(ROWS)
            if asked is None:
                raise PlanMismatch(
                    f"Stage {stage!r} was begun by a run that asks its questions in a fixed order; go on with that "
                    "run, or begin a new one. The budgets of both add up."
                )
            rows += asked[: record.answered + record.abstained]
    return rows


def _row_numbers(rows: NDArray[Any], n_rows: int) -> Integers:
    given = np.asarray(rows)
    whole = given.ndim == 1 and (given.dtype.kind in "iu" or not given.size)
    if not whole or (given.size and not (given.min() >= 0 and given.max() < n_rows)):
        raise InvalidParameter(
            f"Rows to ask about must be whole numbers from 0 to {n_rows - 1}, the places of public rows in the "
            "pool; nothing was asked."
        )
    return given.astype(np.int64)
