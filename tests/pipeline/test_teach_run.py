"""Kept teachers: nothing is spent, nothing private is public, and one unit is in one of them."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from kept_teachers import K, questions, taught

from mapl.data.reading.conform import conform
from mapl.data.synthetic import UNIT
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidData, InvalidParameter, PlanMismatch
from mapl.pipeline.online import teach as teaching
from mapl.pipeline.online.run import OnlineRun
from mapl.release import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger


@pytest.fixture(scope="module")
def run(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep 20 ridge teachers, once for all tests that only look."""
    folder = tmp_path_factory.mktemp("taught") / "run"
    taught(clinic, folder)
    return folder


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run that a test may spoil."""
    import shutil

    return Path(shutil.copytree(run, tmp_path / "copy"))


def test_a_run_is_public_and_private_halves_and_spends_nothing(run: Path) -> None:
    assert sorted(one.name for one in (run / "public").iterdir()) == ["plan.json", "schema.json", "settings.json"]
    with SqliteLedger(run / "private" / "ledger.sqlite") as ledger:
        assert [(one.kind, one.answered, one.abstained) for one in ledger.entries()] == [("plan", 0, 0)]
    assert stat.S_IMODE((run / "private").stat().st_mode) == 0o700
    kept = [one for one in (run / "private").rglob("*") if one.is_file()]
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in kept)
    assert len((run / "private" / "service.key").read_bytes()) == 32
    assert not any(b"csklearn" in one.read_bytes() or one.read_bytes()[:2] == b"\x80\x04" for one in kept)
    opened = OnlineRun.read(run)
    ledger = MemoryLedger()
    opened.begin(ledger, opened.coins())
    statement = opened.statement(ledger, opened.coins())
    assert (statement.answered, statement.abstained, statement.epsilon) == (0, 0, 0.0)
    assert (statement.plan_digest, statement.teachers) == (opened.plan.digest, K)
    assert "patient_id" in opened.promise.unit


def test_the_teachers_vote_as_they_did_when_they_were_trained(
    clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models that come back from the workers say what the panel says that was read from files."""
    seen: list[Any] = []

    def watched(learner: Any, sharded: Any, **named: Any) -> Any:
        named.pop("scratch")
        seen.append((learner.learner, sharded))
        return real(learner, sharded, **named)

    real = teaching.fit_teachers
    monkeypatch.setattr(teaching, "fit_teachers", watched)
    taught(clinic, tmp_path / "run")
    opened = OnlineRun.read(tmp_path / "run")
    ((learner, sharded),) = seen
    rows = questions()
    asked = learner.prepare(conform(pa.Table.from_pylist(rows), opened.schema, "questions"))
    expected = np.zeros((len(rows), 2), dtype=int)
    for k in range(K):
        predict = learner.train(*sharded.shard(k), n_classes=2, seed=k)
        expected[np.arange(len(rows)), predict(asked)] += 1
    assert np.array_equal(opened.panel.votes(opened.conformed(rows)).counts, expected)
    assert repr(opened.panel) == f"OnlinePanel({K} teachers, private)"


def test_votes_and_digests_belong_to_a_row_and_not_to_its_batch(run: Path) -> None:
    opened = OnlineRun.read(run)
    asked = opened.conformed(questions())
    together, digests = opened.panel.votes(asked).counts, opened.digests(asked)
    for i in range(len(asked)):
        assert np.array_equal(opened.panel.votes(asked[i : i + 1]).counts[0], together[i])
        assert opened.digests(asked[i : i + 1]) == [digests[i]]
    assert len(set(digests)) == len({bytes(one) for one in asked})
    assert all(len(one) == 32 for one in digests)


def test_digests_hang_on_the_key_of_the_service(run: Path, copy: Path) -> None:
    one = OnlineRun.read(run)
    (copy / "private" / "service.key").write_bytes(bytes(32))
    other = OnlineRun.read(copy)
    rows = questions(3)
    assert one.digests(one.conformed(rows)) == OnlineRun.read(run).digests(one.conformed(rows))
    assert set(one.digests(one.conformed(rows))).isdisjoint(other.digests(other.conformed(rows)))


def weights(folder: Path) -> Any:
    with np.load(folder / "private" / "teachers" / "weights.npz", allow_pickle=False) as arrays:
        return np.concatenate([arrays["columns"], arrays["intercepts"][None], arrays["codes"].T])


def test_one_patient_is_in_one_teacher(clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShardKey, "fresh", classmethod(lambda cls: cls(b"k" * 32)))
    table = pa.parquet.read_table(clinic.private)
    taught(clinic, tmp_path / "whole")
    whole, changed = weights(tmp_path / "whole"), set()
    for number, person in enumerate((table[UNIT][0].as_py(), table[UNIT][700].as_py())):
        without = table.filter(pa.compute.not_equal(table[UNIT], person))
        path = tmp_path / f"{number}.parquet"
        pa.parquet.write_table(without, path)
        taught(clinic, tmp_path / f"run{number}", private=path)
        other = weights(tmp_path / f"run{number}")
        (differing,) = np.nonzero((whole != other).any(axis=0))
        assert len(differing) == 1
        changed.add(int(differing[0]))
    taught(clinic, tmp_path / "again")
    assert np.array_equal(whole, weights(tmp_path / "again"))
    assert changed


def test_an_interrupted_run_is_begun_again_by_the_same_call(
    clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    real = teaching.write_panel

    def killed(path: Path, *arguments: Any, **named: Any) -> None:
        path.mkdir()
        (path / "weights.npz").write_bytes(b"half a fi")
        raise KeyboardInterrupt

    monkeypatch.setattr(teaching, "write_panel", killed)
    with pytest.raises(KeyboardInterrupt):
        taught(clinic, folder)
    with pytest.raises(InvalidParameter, match="no finished run of kept teachers"):
        OnlineRun.read(folder)
    monkeypatch.setattr(teaching, "write_panel", real)
    with pytest.raises(PlanMismatch, match="other settings"):
        taught(clinic, folder, n_teachers=K + 1)
    taught(clinic, folder)
    assert OnlineRun.read(folder).panel.n_teachers == K
    assert not (folder / "private" / "scratch").exists()
    with pytest.raises(InvalidParameter, match="finished run"):
        taught(clinic, folder)


def test_teachers_that_fail_say_nothing_and_cast_the_fixed_vote(clinic: Any, tmp_path: Path) -> None:
    """One patient has labels of one class only in a shard of few; most teachers have nothing to learn from."""
    table = pa.parquet.read_table(clinic.private).slice(0, 60)
    pa.parquet.write_table(table, tmp_path / "few.parquet")
    taught(clinic, tmp_path / "run", private=tmp_path / "few.parquet")
    opened = OnlineRun.read(tmp_path / "run")
    counts = opened.panel.votes(opened.conformed(questions(5))).counts
    assert (counts.sum(axis=1) == K).all()
    assert (counts[:, 0] > K // 2).all()


MARKS = ("capybara", "numbat")


@pytest.mark.parametrize("learner", ["ridge", "nb"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_nothing_of_a_private_row_is_public(
    clinic: Any, tmp_path: Path, learner: str, capfd: pytest.CaptureFixture[str]
) -> None:
    table = pa.parquet.read_table(clinic.private)
    for column, mark in (("smoking", MARKS[0]), (UNIT, MARKS[1])):
        cells = table[column].to_pylist()
        cells[7] = cells[8] = mark
        table = table.set_column(table.column_names.index(column), column, pa.array(cells))
    pa.parquet.write_table(table, tmp_path / "marked.parquet")
    told = taught(clinic, tmp_path / "run", learner, private=tmp_path / "marked.parquet")
    public = b"".join(one.read_bytes() for one in (tmp_path / "run" / "public").iterdir())
    said = "".join(capfd.readouterr()) + repr(told) + repr(OnlineRun.read(tmp_path / "run"))
    for mark in MARKS:
        assert mark.encode() not in public
        assert mark not in said
    other = tmp_path / "other"
    taught(clinic, other, learner)
    for one in other.joinpath("public").iterdir():  # nor does its size tell anything
        assert one.read_bytes() == (tmp_path / "run" / "public" / one.name).read_bytes()


def test_every_mechanism_is_calibrated_again_as_the_plan_says(clinic: Any, tmp_path: Path) -> None:
    for number, (mechanism, settings) in enumerate(
        [("auto", {}), ("auto", {"max_abstentions": 3}), ("noisy-max", {}), ("threshold-ladder", {}), ("btt18", {})]
    ):
        folder = tmp_path / str(number)
        taught(clinic, folder, mechanism=mechanism, settings=settings, seed=5)
        opened = OnlineRun.read(folder)
        assert dict(opened.mechanism.parameters) == dict(opened.plan.stage("labels").parameters)
        assert not opened.coins().private


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seed", 1), ("seed", 0), ("mechanism", "plurality"), ("settings", {"max_abstentions": 7})),
        *(("may_abstain", False), ("agreement", [[0.99, 1.0]]), ("unit", None)),
    ],
)
def test_the_public_half_decides_nothing_about_noise(copy: Path, name: str, value: Any) -> None:
    file = copy / "public" / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))
    with pytest.raises(PlanMismatch, match=f"was edited, or belongs to another run: {name} is not what it was"):
        OnlineRun.read(copy)


def test_a_schema_that_was_edited_is_refused(copy: Path) -> None:
    file = copy / "public" / "schema.json"
    said = json.loads(file.read_text())
    said["columns"][0]["spread"] += 1
    file.write_text(json.dumps(said))
    with pytest.raises(PlanMismatch, match="columns is not what it was taught with"):
        OnlineRun.read(copy)


def test_seeded_coins_stay_seeded_and_say_so(clinic: Any, tmp_path: Path) -> None:
    taught(clinic, tmp_path / "run", seed=5)
    opened = OnlineRun.read(tmp_path / "run")
    assert not opened.coins().private
    file = tmp_path / "run" / "public" / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seed": None}))
    with pytest.raises(PlanMismatch, match="seed is not what it was taught with"):
        OnlineRun.read(tmp_path / "run")


def test_where_the_private_half_says_nothing_coins_are_the_systems(copy: Path) -> None:
    """As where an earlier mapl began the run without noting a seed there."""
    request = copy / "private" / "request.json"
    said = json.loads(request.read_text())
    del said["seed"]
    request.write_text(json.dumps(said))
    assert OnlineRun.read(copy).coins().private
    file = copy / "public" / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seed": 5}))
    with pytest.raises(PlanMismatch, match="seed is not what"):
        OnlineRun.read(copy)
    request.write_text("{")
    with pytest.raises(InvalidData, match=r"request\.json is damaged"):
        OnlineRun.read(copy)


def test_labels_alone_cannot_be_protected_online(clinic: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="protect whole rows"):
        taught(clinic, tmp_path / "run", adjacency="labels")
    with pytest.raises(InvalidParameter, match="planned number of questions"):
        taught(clinic, tmp_path / "run", n_queries=None)


def test_a_copy_is_known_for_one_before_anybody_asked(run: Path, tmp_path: Path) -> None:
    """Two copies would each have the whole budget."""
    shutil.copytree(run, tmp_path / "copy")
    locked = {}
    for folder in (run, tmp_path / "copy"):
        with SqliteLedger(folder / "private" / "ledger.sqlite") as ledger:
            locked[folder.name] = ledger.locked
    assert locked == {run.name: False, "copy": True}
