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
    Mutant(
        name="votes-move-on-one-side",
        breaks="A vote that moves from one class to another is paid for as if it only came or went.",
        file="release/vote_sums.py",
        old="// (2 * self.n_questions)",
        new="// self.n_questions",
        killers=(
            "tests/release/test_vote_sums.py::test_no_change_of_one_unit_moves_votes_farther_than_is_paid_for",
        ),
    ),
    Mutant(
        name="votes-drawn-anew",
        breaks="A site that is called again after a crash draws new noise for votes that are on record.",
        file="federation/by_votes.py",
        old="if not told:",
        new="if True:",
        killers=("tests/federation/test_federated_votes.py::test_a_killed_site_goes_on_and_draws_nothing_twice",),
    ),
    Mutant(
        name="one-mask-for-all-rounds",
        breaks="Masks of two rounds are equal, so that a coordinator sees by how much a site's numbers differ.",
        file="federation/masks.py",
        old="canonical([answer.agreement, answer.round, answer.heard, together])",
        new="canonical([answer.agreement, together])",
        killers=("tests/federation/test_masks.py::test_other_rounds_and_other_sites_have_other_masks",),
    ),
)
