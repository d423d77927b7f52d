"""Notes of runs that go on from others: what is left of a budget is taken once, by whoever comes first.

Run as a script, this file is one of the processes that race for it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidData, InvalidParameter, MaplError, PlanMismatch
from mapl.pipeline.runs.continued import Note, notes_of, refuse_uncounted, take_rest
from mapl.pipeline.runs.folder import RunFolder
from mapl.planning.budgets.several_runs import ContinuedBudget, Promised
from mapl.planning.plan import Plan, Stage
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import Budget

ALLOWED = Budget(3.0, 3e-6)
RACERS = 8


def plan_of(budget: Budget, runs: tuple[Promised, ...] = ()) -> Plan:
    together = ContinuedBudget(ALLOWED, "add-remove", "patient", runs) if runs else None
    stages = (Stage("labels", "ladder", {}, budget),)
    return Plan(("no", "yes"), 10, "add-remove", "patient", 5, budget, stages, "as asked", together)


def run_of(path: Path, plan: Plan, earlier: tuple[RunFolder, ...] = ()) -> Promised:
    """Begin a run as the pipeline does, up to where it would spend, and return what later plans say of it."""
    folder = RunFolder(path)
    with folder.begun({"plan": plan.digest}, folder.read_key()), SqliteLedger(folder.ledger) as ledger:
        ledger.open(plan.digest, Limits.of_plan(plan))
        take_rest(plan, ledger.run_id, folder.path.name, earlier)
        return Promised(path.name, plan.budget.epsilon, plan.budget.delta, plan.digest, ledger.head, ledger.run_id)


@pytest.fixture
def january(tmp_path: Path) -> tuple[RunFolder, Promised]:
    path = tmp_path / "january"
    return RunFolder(path), run_of(path, plan_of(Budget(1.0, 1e-6)))


def test_a_run_is_noted_once_with_what_it_takes(tmp_path: Path, january: tuple[RunFolder, Promised]) -> None:
    folder, first = january
    assert notes_of(folder) == []
    plan = plan_of(Budget(2.0, 2e-6), (first,))
    second = run_of(tmp_path / "february", plan, (folder,))
    run_of(tmp_path / "february", plan, (folder,))  # it was killed and goes on
    assert notes_of(folder) == [Note(str(second.run_id), "february", 2.0, 2e-6)]
    assert folder.continued.stat().st_mode & 0o777 == 0o600


def test_another_run_is_refused_until_it_counts_the_first(
    tmp_path: Path, january: tuple[RunFolder, Promised]
) -> None:
    folder, first = january
    half = Budget(1.0, 1e-6)
    second = run_of(tmp_path / "february", plan_of(half, (first,)), (folder,))
    words = (
        r"The run february went on from .*january before and took epsilon 1 and delta 1e-06 \(adjacency: "
        r"add-remove; unit: patient\).*name february with continue as well"
    )
    with pytest.raises(InvalidParameter, match=words):
        run_of(tmp_path / "march", plan_of(half, (first,)), (folder,))
    both = (folder, RunFolder(tmp_path / "february"))
    third = run_of(tmp_path / "april", plan_of(half, (first, second)), both)
    assert [note.run for note in notes_of(folder)] == ["february", "april"]
    assert notes_of(both[1]) == [Note(str(third.run_id), "april", 1.0, 1e-6)]
    # The killed second run goes on: whoever came after it has counted it.
    run_of(tmp_path / "february", plan_of(half, (first,)), (folder,))


def test_naming_an_older_run_is_not_enough(tmp_path: Path, january: tuple[RunFolder, Promised]) -> None:
    """January, then February from it, then March from February alone: who names two of them meets the third."""
    folder, first = january
    third = Budget(0.5, 5e-7)
    second = run_of(tmp_path / "february", plan_of(third, (first,)), (folder,))
    february = RunFolder(tmp_path / "february")
    run_of(tmp_path / "march", plan_of(third, (second, first)), (february,))
    with pytest.raises(InvalidParameter, match=r"The run march went on from .*february before"):
        run_of(tmp_path / "april", plan_of(third, (second, first)), (folder, february))


def test_what_a_dying_process_left_half_written_is_no_note(
    tmp_path: Path, january: tuple[RunFolder, Promised]
) -> None:
    folder, first = january
    folder.continued.write_bytes(b'{"run_id": "1')
    assert notes_of(folder) == []
    run_of(tmp_path / "february", plan_of(Budget(1.0, 0.0), (first,)), (folder,))
    assert [note.run for note in notes_of(folder)] == ["february"]


def test_a_note_that_does_not_reach_the_disk_stops_the_run(
    tmp_path: Path, january: tuple[RunFolder, Promised], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = january
    plan = plan_of(Budget(1.0, 0.0), (first,))

    def full(file: int, line: bytes, end: int) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr("mapl.pipeline.runs.continued.os.pwrite", full)
        with pytest.raises(InvalidData, match="Nothing was spent"):
            run_of(tmp_path / "february", plan, (folder,))
    assert notes_of(folder) == []
    run_of(tmp_path / "february", plan, (folder,))
    assert [note.run for note in notes_of(folder)] == ["february"]


@pytest.mark.parametrize("content", [b"{}\n", b"[1]\n", b"7\n", b"\xff\n", b"nothing\n"])
def test_damaged_notes_are_refused(tmp_path: Path, january: tuple[RunFolder, Promised], content: bytes) -> None:
    folder, first = january
    folder.continued.write_bytes(content)
    with pytest.raises(InvalidData, match="is damaged"):
        run_of(tmp_path / "february", plan_of(Budget(1.0, 0.0), (first,)), (folder,))


def test_without_the_private_half_nothing_is_taken(tmp_path: Path, january: tuple[RunFolder, Promised]) -> None:
    folder, first = january
    plan = plan_of(Budget(1.0, 0.0), (first,))
    with pytest.raises(InvalidParameter, match="their folders are not given"):
        run_of(tmp_path / "february", plan)
    shutil.rmtree(folder.private)
    with pytest.raises(InvalidParameter, match=r"private half of .*january is not here.*run this where"):
        run_of(tmp_path / "february", plan, (folder,))
    assert not folder.continued.exists()


def test_a_copy_of_a_run_gives_nothing_away(tmp_path: Path, january: tuple[RunFolder, Promised]) -> None:
    folder, first = january
    shutil.copytree(folder.path, tmp_path / "copy")
    with pytest.raises(InvalidParameter, match=r"copy is a copy of a run.*mapl ledger unlock"):
        run_of(tmp_path / "february", plan_of(Budget(2.0, 0.0), (first,)), (RunFolder(tmp_path / "copy"),))


def test_a_run_without_an_id_cannot_be_noted(tmp_path: Path, january: tuple[RunFolder, Promised]) -> None:
    folder, first = january
    with pytest.raises(PlanMismatch, match="gave runs no ids"):
        take_rest(plan_of(Budget(1.0, 0.0), (first,)), None, "old", (folder,))


def test_ids_that_are_not_known_count_nobody(january: tuple[RunFolder, Promised]) -> None:
    with pytest.raises(InvalidParameter, match="took epsilon 1"):
        refuse_uncounted(january[0], [Note("ab", "february", 1.0, 0.0)], {None}, "")


def test_of_eight_processes_one_takes_what_is_left(tmp_path: Path, january: tuple[RunFolder, Promised]) -> None:
    """All of them go on from the same two runs at the same time; what was granted never exceeds what is allowed."""
    folder, first = january
    december, zeroth = RunFolder(tmp_path / "december"), run_of(tmp_path / "december", plan_of(Budget(0.5, 0.0)))
    named = json.dumps([[str(folder.path), first.to_dict()], [str(december.path), zeroth.to_dict()]])
    racers = [
        subprocess.Popen(
            [sys.executable, __file__, str(tmp_path / f"racer-{i}"), named, str(i)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate()[0].strip() for racer in racers]
    assert sorted(words.split(":")[0] for words in said) == ["refused"] * (RACERS - 1) + ["taken"]
    winner = next(i for i, words in enumerate(said) if words == "taken")
    assert all(f"racer-{winner} went on from" in words for i, words in enumerate(said) if i != winner)
    for one in (folder, december):
        assert [note.run for note in notes_of(one)] == [f"racer-{winner}"]


def raced(path: Path, named: list[tuple[str, dict[str, str]]], turn: int) -> str:
    """Go on from the named runs, given in another order by every other racer."""
    runs = tuple(Promised(**told) for _, told in named)  # type: ignore[arg-type]
    folders = [RunFolder(Path(one)) for one, _ in named]
    plan, folder = plan_of(Budget(1.5, 2e-6), runs), RunFolder(path)
    with folder.begun({"plan": plan.digest}, ShardKey.fresh()), SqliteLedger(folder.ledger) as ledger:
        ledger.open(plan.digest, Limits.of_plan(plan))
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            take_rest(plan, ledger.run_id, folder.path.name, folders[:: 1 if turn % 2 else -1])
        except MaplError as refusal:
            return f"refused: {refusal}"
    return "taken"


if __name__ == "__main__":
    os.umask(0o077)
    print(raced(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])))
