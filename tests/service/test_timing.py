"""Answers and abstentions take the same time and the same bytes on the wire."""

from __future__ import annotations

import time

from scipy.stats import mannwhitneyu
from stand_in import StandInRun, serving

TRIALS = 150
NEVER = 1e-6
"""How likely a false alarm is, if both distributions are the same."""


def test_nothing_but_the_words_tells_an_answer_from_an_abstention() -> None:
    with serving(StandInRun(queries=2000, abstentions=TRIALS + 50)) as served, served.client() as client:
        took: dict[str, list[float]] = {"answered": [], "abstained": []}
        sizes = set()
        for i in range(10 + TRIALS):
            for x in (-5.0, 0.0) if i % 2 else (0.0, -5.0):  # neither comes first as a rule
                begun = time.perf_counter()
                reply = client.post("/v1/answers", json={"rows": [[x, f"row {i:04d}"]]})
                passed = time.perf_counter() - begun
                if i >= 10:  # everything is warm by then
                    took[reply.json()["answers"][0]["status"]].append(passed)
                sizes.add((len(reply.content), len(reply.headers["content-length"]), tuple(reply.headers)))
    assert len(sizes) == 1
    assert min(map(len, took.values())) > TRIALS // 2
    # By ranks, of trials that take turns: a busy machine delays both kinds alike, and no limit of seconds decides.
    assert mannwhitneyu(took["answered"], took["abstained"]).pvalue > NEVER
