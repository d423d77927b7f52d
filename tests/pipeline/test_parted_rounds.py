"""Runs by moments of so many declared units that each adds to one round only."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.moments.contributions import COUNT_SHARE, Crowd
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.errors import GuaranteeBroken
from mapl.noise import SeededCoins
from mapl.pipeline.request import Request
from mapl.pipeline.sums.moments_plan import PlannedMoments, plan_moments
from mapl.pipeline.sums.summing import Rounds, follow_rounds
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.moment_sums import MomentSums
from mapl.types import Budget

MANY = 9_000_000
APART = ("--method", "moments", "--epsilon", 4, "--rows", MANY)


def planned(public: pa.Table, *, n_rows: int | None = MANY, epsilon: float = 1.0, **more: Any) -> PlannedMoments:
    unit, one_table = more.pop("unit", None), more.pop("one_table", True)
    request = Request(Budget(epsilon, 1e-8), Classes(("no", "yes")), n_rows=n_rows, method="moments", unit=unit)
    return plan_moments(request, public, draft_schema(public), why="", one_table=one_table)


def numbers(n: int = 300) -> pa.Table:
    drawn = np.random.default_rng(0).normal(size=(n, 3))
    return pa.table({f"c{j}": drawn[:, j] for j in range(3)})


def test_public_facts_alone_decide() -> None:
    few_kinds = pa.table({"c": [0.0, 1.0, 2.0] * 100, "d": [0.0, 1.0] * 150})
    apart = planned(numbers())
    assert apart.stage.mechanism.apart
    assert "each about other units" in apart.plan.why
    n_rounds = len(apart.stage.mechanism.entries)
    assert apart.maker.declared == round(MANY / n_rounds)
    assert planned(few_kinds, unit="person").stage.mechanism.apart
    for other in (
        planned(few_kinds),  # without ids, records that are alike would all be in one round
        planned(numbers(), n_rows=1_900_000),
        planned(numbers(), n_rows=None),
        planned(numbers(), epsilon=0.02),  # noise would count
        planned(numbers(100)),  # too few to tell that hardly any two are alike
        planned(
            pa.table({"c": np.arange(300) / 7, "note": [f"word {i} it is" for i in range(300)]}), unit="person"
        ),
        planned(numbers(), one_table=False),  # several sites
    ):
        assert not other.stage.mechanism.apart
        assert "other units" not in other.plan.why


@pytest.mark.parametrize("how", [(), ("--unit", "none"), ("--adjacency", "replace-one")])
def test_every_unit_is_counted_in_one_round(
    how: tuple[Any, ...], mapl: Callable[..., Any], clinic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[float] = []
    real = MomentSums.release

    def release(self: MomentSums, round_number: int, sums: Any, coins: Any) -> Any:
        count = (int(sums.high[-1]) << 40) + int(sums.low[-1])
        counted.append(count / int(self.reaches[round_number] * COUNT_SHARE))
        return real(self, round_number, sums, coins)

    monkeypatch.setattr(MomentSums, "release", release)
    ran = mapl(*clinic.arguments(*APART, *how, teachers="auto"))
    assert ran.code == 0, ran.stderr
    private = pa.parquet.read_table(clinic.private)
    n_units = len(private) if "none" in how else len(private["patient_id"].unique())
    assert sum(counted) == n_units
    assert min(counted) > 0.5 * n_units / len(counted)
    plan, said = (json.loads(Path(f"run/public/{name}.json").read_text()) for name in ("plan", "statement"))
    assert plan["stages"][0]["parameters"]["rounds of a unit"] == 1
    assert any("Rounds are about different units" in line for line in said["checked"])
    assert "had a part in one round only" in Path("run/public/report.html").read_text()
    told = pa.parquet.read_schema("run/public/weights.parquet").metadata
    about, noise = (float(told[name]) for name in (b"units", b"noise of units"))
    assert abs(about - n_units) < 6 * noise


def test_bits_are_the_same_from_memory_and_from_scratch_files(
    mapl: Callable[..., Any], clinic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mapl.pipeline.runs import private_input

    def learn(out: str) -> list[bytes]:
        ran = mapl(*clinic.arguments(*APART, "--seed", 3, "--memory", "64MiB", "--out", out, teachers="auto"))
        assert ran.code == 0, ran.stderr
        return [path.read_bytes() for path in sorted(Path(out, "public").glob("*.parquet"))]

    kept = learn("kept")
    monkeypatch.setattr(private_input, "SHARE_KEPT", 1e-7)
    assert learn("stored") == kept


def test_a_plan_and_people_that_do_not_fit_are_refused() -> None:
    rows = numbers()
    crowd = Crowd(PrivateRows(rows), np.zeros(len(rows), np.int32), None)
    with pytest.raises(GuaranteeBroken, match="paid for otherwise"):
        Rounds(planned(rows), crowd, SeededCoins(0), MemoryLedger(), None)


def test_rounds_of_a_part_each_lead_to_the_model_of_everybody() -> None:
    """Without noise, rounds about a part each and rounds about everybody come to much the same model."""
    drawn = np.random.default_rng(1).normal(size=(40_000, 3))
    labels = (drawn[:, 0] - drawn[:, 1] + 0.5 * np.random.default_rng(2).normal(size=40_000) > 0).astype(np.int32)
    rows = pa.table({f"c{j}": drawn[:, j] for j in range(3)})
    apart = planned(numbers(2000))
    whole = replace(
        planned(numbers(2000), one_table=False),
        maker=replace(apart.maker, design=replace(apart.maker.design, apart=False)),
    )

    def scores(plan: PlannedMoments, times: float) -> Any:
        from mapl.pipeline.rehearsal.moments import PlayedRounds

        crowd = Crowd(PrivateRows(rows), labels, None)
        played = follow_rounds(plan, PlayedRounds(plan, crowd, times, np.random.default_rng(0)))
        return played.drawn.public @ played.known.weights

    one, other = scores(apart, MANY / 40_000), scores(whole, MANY / 40_000)
    assert np.corrcoef(one[:, 1], other[:, 1])[0, 1] > 0.99
