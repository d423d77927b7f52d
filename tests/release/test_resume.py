"""Runs that are stopped at any point go on: nothing is asked twice, nothing published lacks its record."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.errors import BudgetExhausted, GuaranteeBroken, LedgerError, PlanMismatch
from mapl.mechanisms import REGISTRY, AnyMechanism, Task, make
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.release.ledger.chain import Answers, Entry
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.loop import aggregate, begin_stage, step
from mapl.types import ABSTAIN, Budget, Secret, Tallies

PLAN = "d" * 64
N, T = 60, 20
LIMITS = Limits.of({"labels": Limit(N, T + 1)})
TASK = Task(Budget(2, 1e-5), 250, 2, N)


def close_votes(n: int = N) -> Tallies:
    """Return votes of 250 teachers from unanimous to tied, so that some questions are answered and some are not."""
    leads = np.random.default_rng(5).integers(0, 126, n)
    return Tallies.checked(np.stack([125 + leads, 125 - leads], axis=1))


def calibrated(name: str) -> AnyMechanism:
    settings = {"max_abstentions": T} if "max_abstentions" in REGISTRY[name].settings else {}
    return make(name, replace(TASK, n_queries=1) if name == "stable-once" else TASK, **settings)


def in_file(path: Path, limits: Limits = LIMITS) -> SqliteLedger:
    ledger = SqliteLedger(path)
    ledger.open(PLAN, limits)
    return ledger


class Stopped(Exception):
    """The process dies here."""


@dataclass
class StopAfter:
    """Let a number of blocks pass."""

    blocks: int

    def __call__(self, taken: int) -> None:
        self.blocks -= 1
        if self.blocks == 0:
            raise Stopped


@pytest.mark.parametrize("name", REGISTRY)
def test_a_run_stopped_again_and_again_gives_what_an_unbroken_one_gives(name: str, tmp_path: Path) -> None:
    """With one stream of coins the interruptions leave no trace, for every mechanism."""
    votes, mechanism = close_votes(), calibrated(name)
    unbroken = aggregate(votes, mechanism, SeededCoins(1), block_rows=7)
    coins, stopped, resumed = SeededCoins(1), 0, None
    wide = Limits.of({"labels": Limit(N, N)})
    while resumed is None:
        with in_file(tmp_path / "l.sqlite", wide) as ledger:
            try:
                resumed = aggregate(votes, mechanism, coins, ledger=ledger, on_progress=StopAfter(2), block_rows=7)
            except Stopped:
                stopped += 1
    np.testing.assert_array_equal(resumed.labels, unbroken.labels)
    np.testing.assert_array_equal(resumed.fallback, unbroken.fallback)
    assert resumed.state == unbroken.state
    assert stopped == -(-len(unbroken.labels) // 7) // 2
    with in_file(tmp_path / "l.sqlite", wide) as ledger:
        ledger.verify()


@pytest.mark.parametrize("name", ["ladder", "threshold-ladder", "btt18", "noisy-max"])
def test_single_steps_are_the_same_loop(name: str) -> None:
    """Questions that come one by one, each asked of a ledger that is read anew, give what a batch gives."""
    votes, mechanism, coins = close_votes(), calibrated(name), SeededCoins(2)
    batch = aggregate(votes, mechanism, SeededCoins(2), block_rows=1)
    ledger = MemoryLedger()
    ledger.open(PLAN, Limits.of({"labels": Limit(N, N)}))
    assert begin_stage(ledger, mechanism, coins, TASK).state.answered == 0
    for block in votes.blocks(1):
        state = begin_stage(ledger, mechanism, coins, TASK).state
        if state.halted:
            with pytest.raises(BudgetExhausted, match="has ended"):
                step(ledger, mechanism, state, block, coins)
            break
        step(ledger, mechanism, state, block, coins)
    assert ledger.progress("labels").labels.tolist() == batch.labels.tolist()
    with pytest.raises(PlanMismatch, match="questions differ"):
        begin_stage(ledger, mechanism, coins, replace(TASK, n_queries=N - 1))


class NoCoins(Coins):
    """Coins that nobody may throw."""

    private = True

    def words(self, n: int) -> NDArray[np.uint64]:
        raise AssertionError("a coin was thrown")


def test_a_finished_run_is_only_read(tmp_path: Path) -> None:
    votes, ladder = close_votes(), calibrated("ladder")
    with in_file(tmp_path / "l.sqlite") as ledger:
        first = aggregate(votes, ladder, SystemCoins(), ledger=ledger)
        head = ledger.head
    with in_file(tmp_path / "l.sqlite") as ledger:
        again = aggregate(votes, ladder, NoCoins(), ledger=ledger)
        assert ledger.head == head
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.state == again.state


def test_a_secret_threshold_is_recorded_before_the_first_question_and_never_redrawn(tmp_path: Path) -> None:
    votes, mechanism = close_votes(), calibrated("threshold-ladder")

    class NoQuestions:
        """The mechanism until it is asked something."""

        name, parameters = mechanism.name, mechanism.parameters
        start = staticmethod(mechanism.start)

        def release(self, *_: Any) -> None:
            raise Stopped

    with in_file(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(Stopped):
            aggregate(votes, NoQuestions(), SystemCoins(), ledger=ledger)  # type: ignore[arg-type]
        drawn = ledger.progress("labels").state.secret
        assert isinstance(drawn, Secret)
    with in_file(tmp_path / "l.sqlite") as ledger:
        released = aggregate(votes, mechanism, SystemCoins(), ledger=ledger, block_rows=9)
        assert released.state.secret is None
        secrets = {value for (value,) in ledger._execute("SELECT value FROM secrets")}
    assert secrets <= {drawn.value, None}


@pytest.mark.parametrize(
    ("changed", "differing"),
    [
        ({"mechanism": "threshold-ladder"}, "mechanism, parameters"),
        ({"max_abstentions": T - 1}, "parameters"),
        ({"coins": SeededCoins(1)}, "private"),
        ({"n": N - 1}, "questions"),
        ({"teachers": 500}, "teachers"),
    ],
)
def test_going_on_otherwise_is_refused(changed: dict[str, Any], differing: str) -> None:
    ledger = MemoryLedger()
    ledger.open(PLAN, LIMITS)
    with pytest.raises(Stopped):
        aggregate(
            close_votes(),
            calibrated("ladder"),
            SystemCoins(),
            ledger=ledger,
            on_progress=StopAfter(1),
            block_rows=5,
        )
    head = ledger.head
    votes = close_votes(changed.get("n", N))
    votes = Tallies(votes.counts * changed.get("teachers", 250) // 250)
    mechanism = make(changed.get("mechanism", "ladder"), TASK, max_abstentions=changed.get("max_abstentions", T))
    with pytest.raises(PlanMismatch, match=rf"other settings \({differing} differ\)"):
        aggregate(votes, mechanism, changed.get("coins", SystemCoins()), ledger=ledger, block_rows=5)
    assert ledger.head == head


def test_a_mechanism_beyond_the_plans_limits_is_refused_before_anything_is_drawn() -> None:
    ledger = MemoryLedger()
    ledger.open(PLAN, Limits.of({"labels": Limit(N, T - 1)}))
    with pytest.raises(PlanMismatch, match="asks for limits"):
        aggregate(close_votes(), calibrated("ladder"), SystemCoins(), ledger=ledger)
    with pytest.raises(PlanMismatch, match="no stage 'other'"):
        aggregate(close_votes(), calibrated("ladder"), SystemCoins(), ledger=ledger, stage="other")


def test_a_mechanism_that_forgets_to_halt_is_stopped_by_the_ledger() -> None:
    """Halved limits, as after a wrong edit: the record still counts what the plan allowed."""
    forgetful = replace(calibrated("ladder"), max_abstentions=N)  # type: ignore[type-var]

    class Claims:
        """Claims T abstentions and allows N."""

        name = forgetful.name
        parameters = {**forgetful.parameters, "max_abstentions": T}  # noqa: RUF012
        start, release = staticmethod(forgetful.start), staticmethod(forgetful.release)

    tied = Tallies.checked(np.full((N, 2), 125))
    ledger = MemoryLedger()
    ledger.open(PLAN, LIMITS)
    with pytest.raises(BudgetExhausted, match="nothing was released"):
        aggregate(tied, Claims(), SystemCoins(), ledger=ledger, block_rows=8)  # type: ignore[arg-type]
    assert ledger.progress("labels").state.abstained == T // 8 * 8


def test_counters_that_do_not_match_the_labels_are_refused() -> None:
    ladder = calibrated("ladder")

    class Miscounts:
        name, parameters, start = ladder.name, ladder.parameters, staticmethod(ladder.start)

        def release(self, *given: Any) -> Any:
            outcome = ladder.release(*given)
            return replace(outcome, state=replace(outcome.state, answered=0))

    with pytest.raises(GuaranteeBroken, match="number of published outcomes"):
        aggregate(close_votes(), Miscounts(), SystemCoins())  # type: ignore[arg-type]


def test_a_block_that_cannot_be_recorded_is_not_returned(tmp_path: Path) -> None:
    with in_file(tmp_path / "l.sqlite") as ledger:
        seen: list[int] = []

        def full(taken: int) -> None:
            seen.append(taken)
            ledger._execute("PRAGMA query_only = ON")

        with pytest.raises(LedgerError, match="Nothing was released"):
            aggregate(
                close_votes(), calibrated("ladder"), SystemCoins(), ledger=ledger, on_progress=full, block_rows=5
            )
        assert seen == [5]
        ledger._execute("PRAGMA query_only = OFF")
        assert len(ledger.progress("labels").labels) == 5
        assert len(aggregate(close_votes(), calibrated("ladder"), SystemCoins(), ledger=ledger).labels) > 5


def test_two_processes_on_one_run_never_publish_two_answers(tmp_path: Path) -> None:
    """The second one, stopped between deciding and recording, finds the first one's block in its place."""
    votes, ladder = close_votes(), calibrated("ladder")
    with in_file(tmp_path / "l.sqlite") as first, in_file(tmp_path / "l.sqlite") as second:

        class Overtaken(MemoryLedger):
            """The second ledger, with the first process writing right before every append."""

            def __getattribute__(self, name: str) -> Any:
                return object.__getattribute__(self, name) if name == "append" else getattr(second, name)

            def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
                if answers is not None:
                    aggregate(votes, ladder, SystemCoins(), ledger=first)
                second.append(entry, secret=secret, answers=answers)

        with pytest.raises(LedgerError, match="changed since this process last looked"):
            aggregate(votes, ladder, SystemCoins(), ledger=Overtaken(), block_rows=5)
        published = first.progress("labels").labels
        np.testing.assert_array_equal(aggregate(votes, ladder, NoCoins(), ledger=second).labels, published)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Kill runs at random, with the safe order and with the unsafe one, all from one other process."""
    ran = subprocess.run(
        [sys.executable, __file__, tmp_path_factory.mktemp("killed")],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def test_whatever_a_killed_run_has_published_is_recorded(killed: dict[str, Any]) -> None:
    safe = killed["safe"]
    assert safe["violations"] == []
    assert safe["kills"] == 100
    assert safe["published"] >= 20, "the runs were killed too early to tell"


def test_publishing_before_recording_is_caught(killed: dict[str, Any]) -> None:
    unsafe = killed["unsafe"]
    assert len(unsafe["violations"]) >= 1
    assert set(unsafe["violations"]) <= {"published but not recorded", "recorded otherwise"}


Published = list[tuple[int, int]]
READY = b"ready\n"
MANY = 200
FOR_MANY = Limits.of({"labels": Limit(MANY, T)})


class Leaky(SqliteLedger):
    """The forbidden order: published first, recorded afterwards."""

    pipe = -1

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        if answers is not None:
            tell(self.pipe, len(self.progress("labels").labels), answers.labels)
        super().append(entry, secret=secret, answers=answers)


def tell(pipe: int, start: int, labels: NDArray[Any]) -> None:
    """Publish labels in one piece: such a short write is never seen by half."""
    os.write(pipe, (json.dumps([start, labels.tolist()]) + "\n").encode())


def run(path: Path, mechanism: AnyMechanism, pipe: int, *, safe: bool) -> None:
    """Release block by block, publishing each one after it is recorded (or, for the control, before)."""
    ledger: SqliteLedger = SqliteLedger(path) if safe else Leaky(path)
    ledger.open(PLAN, FOR_MANY)
    if isinstance(ledger, Leaky):
        ledger.pipe = pipe
    published = len(ledger.progress("labels").labels)
    os.write(pipe, READY)

    def publish(taken: int) -> None:
        nonlocal published
        tell(pipe, published, ledger.progress("labels").labels[published:taken])
        published = taken

    aggregate(
        *(close_votes(MANY), mechanism, SystemCoins()),
        ledger=ledger,
        on_progress=publish if safe else None,
        block_rows=2,
    )


def killed_once(path: Path, mechanism: AnyMechanism, chance: random.Random, *, safe: bool) -> Published:
    """Start a run, kill it after a while, and return everything that it has published."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        run(path, mechanism, writing, safe=safe)
        os._exit(0)
    os.close(writing)
    early = chance.random() < 0.2
    with open(reading, "rb") as lines:
        if not early:
            assert lines.readline() == READY
        time.sleep(chance.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        blocks = [json.loads(line) for line in lines if line != READY]
    return [told for start, labels in blocks for told in enumerate(labels, start)]


def violations(path: Path, published: Published) -> list[str]:
    """Compare everything that was ever published with the record as it stands now."""
    with in_file(path, FOR_MANY) as ledger:
        ledger.verify()
        progress = ledger.progress("labels")
    found = set()
    for question, label in published:
        if question >= len(progress.labels):
            found.add("published but not recorded")
        elif progress.labels[question] != label:
            found.add("recorded otherwise")
    given = int((progress.labels != ABSTAIN).sum())
    if (progress.state.answered, progress.state.abstained) != (given, len(progress.labels) - given):
        found.add("miscounted")
    if progress.state.abstained > T:
        found.add("beyond the limit")
    return sorted(found)


def torment(folder: Path, mechanism: AnyMechanism, kills: int, *, safe: bool) -> dict[str, Any]:
    """Kill runs again and again; one that comes to its end makes room for the next one."""
    folder.mkdir()
    chance = random.Random(8)
    said: dict[str, Any] = {"violations": [], "kills": kills, "published": 0, "finished": 0}
    published: Published = []
    secrets: set[int] = set()
    path = folder / "0.sqlite"
    for number in range(kills):
        new = killed_once(path, mechanism, chance, safe=safe)
        said["published"] += len(new)
        published += new
        said["violations"] += violations(path, published)
        with in_file(path, FOR_MANY) as ledger:
            progress = ledger.progress("labels")
        secrets |= set() if progress.state.secret is None else {progress.state.secret.value}
        if len(secrets) > 1:
            said["violations"].append("the threshold was drawn again")
        if progress.state.halted:
            said["finished"] += 1
            published, secrets, path = [], set(), folder / f"{number + 1}.sqlite"
    return said


if __name__ == "__main__":
    place, mechanism = Path(sys.argv[1]), calibrated("threshold-ladder")
    safe = torment(place / "safe", mechanism, 100, safe=True)
    unsafe = torment(place / "unsafe", mechanism, 50, safe=False)
    print(json.dumps({"safe": safe, "unsafe": unsafe}))
