"""Mutants of federation: what a site spends, and on what."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="sites-forget-each-other",
        breaks="A person at several sites is charged for one of them only.",
        file="federation/agreement.py",
        old="if k == 1:",
        new="if k >= 1:",
        killers=(
            "tests/federation/test_federated_cells.py::test_a_person_at_several_sites_shares_the_budget_among_them",
        ),
    ),
    Mutant(
        name="missed-round-made-up-for",
        breaks="A site that missed a round answers a later one at the price of the one it missed.",
        file="federation/by_moments.py",
        old="if len(own.told) < len(heard.rounds):",
        new="if len(own.told) < 0:",
        killers=("tests/federation/test_federated_moments.py::test_a_site_that_missed_a_round_cannot_go_on",),
    ),
)
