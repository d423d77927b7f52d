"""Theorem 2 of LZCW21: both algorithms keep their promise, with the printed constants."""

from __future__ import annotations

from mapl.reproduce.audited import WITHIN, audit_mechanism
from mapl.reproduce.claim import Evidence, PaperClaim
from mapl.reproduce.effort import ReproductionEffort
from mapl.types import Budget


def gaussian(effort: ReproductionEffort) -> Evidence:
    return audit_mechanism("lzcw21-gaussian", "half-noise", Budget(1.0, 1e-6), n_teachers=250, questions=20)


def sparse(effort: ReproductionEffort) -> Evidence:
    budget = Budget(1.0, 1e-3)
    return audit_mechanism(
        "lzcw21-sparse", "gap-distance", budget, n_teachers=3000, questions=10, max_abstentions=2
    )


CLAIMS = (
    PaperClaim(
        name="theorem-2-gaussian",
        place="Theorem 2, Algorithm 1",
        says="Gaussian noise of the printed σ on the votes of l questions is (ε, δ)-private.",
        check="mapl audit --mechanism lzcw21-gaussian --epsilon 1 --delta 1e-6 --teachers 250 --queries 20",
        measure=gaussian,
        printed=WITHIN,
    ),
    PaperClaim(
        name="theorem-2-sparse",
        place="Theorem 2, Algorithm 2",
        says="The sparse vector with the printed λ and w, on half the gap rounded up less one, is (ε, δ)-private.",
        check="mapl audit --mechanism lzcw21-sparse --epsilon 1 --delta 1e-3 --teachers 3000 --queries 10 "
        "--max-abstentions 2",
        measure=sparse,
        printed=WITHIN,
    ),
)
