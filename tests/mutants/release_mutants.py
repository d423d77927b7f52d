"""Mutants of the release: what is recorded, limited, composed and stated."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="refund-on-error",
        breaks="Where the ledger fails, the block is published all the same and nothing is charged.",
        file="release/spend.py",
        old="    ledger.append(decision.entry(stage), secret=decision.secret, answers=decision.answers)\n",
        new=(
            "    try:\n"
            "        ledger.append(decision.entry(stage), secret=decision.secret, answers=decision.answers)\n"
            "    except LedgerError:\n"
            "        return\n"
        ),
        killers=(
            "tests/release/test_resume.py::test_a_block_that_cannot_be_recorded_is_not_returned",
            "tests/release/test_every_spend.py::test_what_cannot_be_recorded_is_not_told_and_not_spent",
        ),
    ),
    Mutant(
        name="drawn-anew-after-a-crash",
        breaks="A stage of a single release is decided again by a run that goes on, and told as it fell now.",
        file="release/spend.py",
        old="    if not begin(ledger, entry).state.halted:\n        spend(ledger, entry.stage, decide())\n",
        new=(
            "    if begin(ledger, entry).state.halted:\n"
            "        known = next(one for one in ledger.entries() if one.kind == HALTED)\n"
            "        from dataclasses import replace\n"
            "        return replace(known, payload=canonical(dict(decide().payload)))\n"
            "    spend(ledger, entry.stage, decide())\n"
        ),
        killers=(
            "tests/release/test_every_spend.py::"
            "test_a_killed_run_tells_what_it_had_recorded_and_draws_nothing_anew",
        ),
    ),
    Mutant(
        name="margin-in-the-public-ledger",
        breaks="The public chain of a run tells the distance of every question.",
        file="release/loop.py",
        old="else payload) or {}\n",
        new='else payload) or {"distances": block.distances.tolist()}\n',
        killers=(
            "tests/release/test_release_loop.py::test_the_public_chain_tells_what_was_released_and_nothing_more",
        ),
    ),
    Mutant(
        name="resumed-run-redraws",
        breaks="A resumed run asks the questions again that it has answered.",
        file="release/loop.py",
        old="for start in range(taken, len(tallies), block_rows):",
        new="for start in range(0, len(tallies), block_rows):",
        killers=(
            "tests/release/test_resume.py::test_a_run_stopped_again_and_again_gives_what_an_unbroken_one_gives",
        ),
    ),
    Mutant(
        name="any-budget-admitted",
        breaks="A mechanism may run that costs more than its budget.",
        file="release/loop.py",
        old="if not claimed <= budget.epsilon:",
        new="if not claimed <= math.inf:",
        killers=("tests/release/test_release_loop.py::test_the_budget_is_a_gate",),
    ),
    Mutant(
        name="limits-not-kept",
        breaks="The ledger records more than the plan allows.",
        file="release/ledger/chain/chain.py",
        old="if not Limit(answered, abstained) <= limit:",
        new="if not limit <= limit:",
        killers=("tests/release/test_ledger.py::test_exactly_the_limit_is_granted",),
    ),
    Mutant(
        name="abstentions-refunded",
        breaks="Abstentions of earlier blocks are not counted against the limit.",
        file="release/ledger/chain/chain.py",
        old="abstained = block.abstained + (before.all_abstained if before else 0)",
        new="abstained = block.abstained",
        killers=("tests/release/test_ledger.py::test_exactly_the_limit_is_granted",),
    ),
    Mutant(
        name="ended-stage-goes-on",
        breaks="A stage that has halted takes further answers.",
        file="release/ledger/chain/chain.py",
        old="if before is not None and before.kind == HALTED:",
        new="if before is not None and before.kind == START == HALTED:",
        killers=("tests/release/test_ledger.py::test_a_stage_starts_once_and_ends_once",),
    ),
    Mutant(
        name="limit-raised",
        breaks="A stage may ask for higher limits than its plan.",
        file="release/ledger/chain/chain.py",
        old="    if not limit <= allowed:\n",
        new="    if not limit <= limit:\n",
        killers=("tests/release/test_ledger.py::test_limits_can_only_be_lowered",),
    ),
    Mutant(
        name="database-limits-removed",
        breaks="The database itself takes more abstentions than the limit.",
        file="release/ledger/sql/sqlite_tables.py",
        old=(",\n  CHECK (all_abstained <= most_abstained)"),
        new="",
        killers=("tests/release/test_sqlite_ledger.py::test_the_database_keeps_the_limits_by_itself",),
    ),
    Mutant(
        name="database-forgets",
        breaks="Entries of a ledger file can be deleted.",
        file="release/ledger/sql/sqlite_tables.py",
        old="{table}_remain BEFORE DELETE ON {table} BEGIN",
        new="{table}_remain BEFORE DELETE ON {table} WHEN 0 BEGIN",
        killers=("tests/release/test_sqlite_ledger.py::test_the_database_refuses_changes",),
    ),
    Mutant(
        name="ledger-deepcopied",
        breaks="A ledger can be deep-copied, and both spend the whole budget.",
        file="release/ledger/ledger.py",
        old=("    def __deepcopy__(self, memo: dict[int, Any]) -> Self:\n        return self.__copy__()"),
        new=(
            "    def __deepcopy__(self, memo: dict[int, Any]) -> Self:\n"
            "        twin = object.__new__(type(self))\n"
            "        twin.__dict__.update(self.__dict__)\n"
            "        return twin"
        ),
        killers=("tests/release/test_ledger.py::test_a_ledger_is_never_copied",),
    ),
    Mutant(
        name="copy-of-a-ledger-spends",
        breaks="A copied ledger file may spend the budget once more.",
        file="release/ledger/sql/home_in_tables.py",
        old="        if locked or not self._at_home(place):\n",
        new="        if locked:\n",
        killers=("tests/release/test_locked_ledger.py::test_a_file_that_was_copied_by_hand_is_locked",),
    ),
    Mutant(
        name="inode-is-an-identity",
        breaks="A copy that has the number of the file it was copied from passes for it.",
        file="release/ledger/file_home.py",
        old="return self.inode == other.inode and all(one == two for one, two in pairs if one and two)",
        new="return self.inode == other.inode",
        killers=("tests/release/test_file_home.py::test_every_part_that_is_known_counts",),
    ),
    Mutant(
        name="nonce-left-behind",
        breaks="A copy without the nonce of its ledger is compared by its inode alone.",
        file="release/ledger/file_home.py",
        old="return None if failure.errno in UNSUPPORTED else MISSING",
        new="return None",
        killers=("tests/release/test_file_home.py::test_a_copy_that_left_the_nonce_behind_is_locked",),
    ),
    Mutant(
        name="keys-outside-the-chain",
        breaks="A key that was given more than it was made with passes the check of its ledger.",
        file="release/ledger/sql/check.py",
        old="    if details or replayed.keys != {key.id: key for key in map(key_in, stored)}:\n",
        new="    if details:\n",
        killers=("tests/release/test_sqlite_questions.py::test_tampering_beside_the_chain_is_seen",),
    ),
    Mutant(
        name="takings-outside-the-chain",
        breaks="How much a caller has taken can be changed in the log.",
        file="release/ledger/sql/check.py",
        old='            if digest_of_taken(line, [asked.get(record.number, b"")]) != told[TAKEN]:\n',
        new="            if not line:\n",
        killers=("tests/release/test_sqlite_questions.py::test_tampering_beside_the_chain_is_seen",),
    ),
    Mutant(
        name="requests-outside-the-chain",
        breaks="A stored request can be given to another caller, or another body, and nobody notices.",
        file="release/ledger/sql/check.py",
        old="    if waited is not None or sealed != (len(rows), seal):\n",
        new="    if sealed[0] != len(rows):\n",
        killers=("tests/release/test_sqlite_questions.py::test_tampering_beside_the_chain_is_seen",),
    ),
    Mutant(
        name="log-of-keys-is-public",
        breaks="The public chain tells the names of callers and who made their keys.",
        file="release/ledger/key_log.py",
        old="payload={CHANGED: hashlib.sha256(canonical(told).encode()).hexdigest()}",
        new="payload={CHANGED: line}",
        killers=("tests/release/test_key_log.py::test_every_change_is_an_entry_that_tells_nothing",),
    ),
    Mutant(
        name="ended-key-asks",
        breaks="An API key that has ended still asks.",
        file="release/ledger/inquiries.py",
        old="return not self.revoked and (self.expires is None or now < self.expires)",
        new="return not self.revoked",
        killers=("tests/service/test_api_keys.py::test_a_key_is_recognised_and_nothing_else_is",),
    ),
    Mutant(
        name="rollback-unnoticed",
        breaks="A ledger that was put back to an earlier state passes for whole.",
        file="release/ledger/ledger.py",
        old="if seen is not None and all(record.hash != seen for record in records):",
        new="if seen is not None and not any(records):",
        killers=("tests/release/test_ledger.py::test_a_lost_head_is_seen",),
    ),
    Mutant(
        name="head-goes-back",
        breaks="A ledger that is put back under a running server is gone on with.",
        file="release/ledger/sql/home_in_tables.py",
        old="before.number is None or mark.number <= before.number:\n            raise rolled_back(self.name)\n",
        new="before.number is None or mark.number <= before.number:\n            return\n",
        killers=("tests/service/test_witness.py::test_a_ledger_put_back_under_a_server_is_refused_and_stays_so",),
    ),
    Mutant(
        name="head-of-a-fork",
        breaks="A ledger that was put back and has grown again passes for its own continuation.",
        file="release/ledger/sql/home_in_tables.py",
        old='WHERE number = ?", (before.number,)) != [(before.hash,)]:',
        new='WHERE number = ?", (before.number,)) == []:',
        killers=(
            "tests/service/test_witness.py::test_a_ledger_that_grew_again_after_it_was_put_back_is_another_one",
        ),
    ),
    Mutant(
        name="rollback-forgotten-by-a-restart",
        breaks="A server that saw its ledger put back answers again after a restart.",
        file="release/ledger/sql/home_in_tables.py",
        old="        if isinstance(failure, LedgerRolledBack):\n            self.shut()\n",
        new="",
        killers=("tests/service/test_witness.py::test_a_ledger_put_back_under_a_server_is_refused_and_stays_so",),
    ),
    Mutant(
        name="same-question-drawn-anew",
        breaks="A question that was answered before is decided again, with fresh coins.",
        file="release/ledger/exchange.py",
        old="if q not in known and q not in new]",
        new="if q not in new]",
        killers=("tests/release/test_online.py::test_a_question_is_asked_once_whoever_asks_again",),
    ),
    Mutant(
        name="idempotency-ignored",
        breaks="A request that is sent twice is answered twice, and spends twice.",
        file="release/ledger/exchange.py",
        old="        earlier = seen.get(inquiry.id)\n",
        new="        earlier = None\n",
        killers=(
            "tests/release/test_online.py::test_the_same_id_and_body_has_its_reply_and_another_body_is_refused",
        ),
    ),
    Mutant(
        name="others-replies-told",
        breaks="An Idempotency-Key of somebody else fetches their reply.",
        file="release/ledger/exchange.py",
        old="return one.caller == other.caller and one.body == other.body",
        new="return one.body == other.body",
        killers=(
            "tests/release/test_online.py::test_the_same_id_and_body_has_its_reply_and_another_body_is_refused",
        ),
    ),
    Mutant(
        name="same-row-drawn-anew",
        breaks="An active student that asks for a row again has it decided again.",
        file="release/label_service.py",
        old="if row not in self._told][: self.left]",
        new="][: self.left]",
        killers=("tests/release/test_label_service.py::test_a_row_is_asked_once",),
    ),
    Mutant(
        name="replace-one-priced-as-add-remove",
        breaks="A replaced unit is taken to change one count, and it changes two.",
        file="release/cell_counts.py",
        old='"replace-one": 2, "labels": 2}',
        new='"replace-one": 1, "labels": 1}',
        killers=(
            "tests/pipeline/test_count_in_cells.py::test_a_unit_that_changes_leaves_one_count_and_enters_another",
        ),
    ),
    Mutant(
        name="cell-noise-ignores-sensitivity",
        breaks="Cell counts get the noise of sensitivity one, whatever it is.",
        file="release/cell_counts.py",
        old="return decay(self.epsilon, self.sensitivity)",
        new="return decay(self.epsilon)",
        killers=("tests/release/test_cell_counts.py::test_the_exact_law_keeps_the_promise",),
    ),
    Mutant(
        name="second-winner",
        breaks="The ledger begins stages of a method that was not chosen, as many as a plan foresees.",
        file="release/ledger/chain/chain.py",
        old="        _refuse_unmet(tail, entry.stage)\n",
        new="        pass\n",
        killers=("tests/release/test_ledger_part.py::test_the_stages_of_a_method_that_was_not_chosen_are_refused",),
    ),
    Mutant(
        name="selection-ignores-sensitivity",
        breaks="The private choice among methods may fall twice as fast as was priced.",
        file="release/best_of.py",
        old="if self.sensitivity * Fraction(steepest(self.weights)) > Fraction(self.epsilon):",
        new="if Fraction(steepest(self.weights)) > Fraction(self.epsilon):",
        killers=(
            "tests/release/test_best_of.py::test_weights_that_fall_too_fast_are_refused_before_anything_is_drawn",
        ),
    ),
    Mutant(
        name="selection-of-many-too-cheap",
        breaks="The best of many runs costs twice one run, and should cost three times.",
        file="release/private_selection.py",
        old="others = [2 * (r if math.isinf(b)",
        new="others = [1 * (r if math.isinf(b)",
        killers=("tests/release/test_private_selection.py::test_prices",),
    ),
    Mutant(
        name="error-estimate-sensitivity",
        breaks="The noise of the error estimate hides one step of a teacher's part, which has many.",
        file="release/error_estimate.py",
        old="if Fraction(self.grain) > Fraction(self.epsilon) * Fraction(self.scale):",
        new="if 1 > Fraction(self.epsilon) * Fraction(self.scale):",
        killers=("tests/release/test_error_estimate.py::test_noise_that_is_too_small_is_refused",),
    ),
    Mutant(
        name="stable-distance-too-large",
        breaks="The distance of a leading value is one too large where the gap is a multiple.",
        file="release/queries/leader.py",
        old="max(0, (gap - 1) // moves)",
        new="max(0, gap // moves)",
        killers=("tests/release/test_stable_oracle.py::test_leaders_keep_the_contract_for_whatever_moves_them",),
    ),
    Mutant(
        name="earlier-stage-not-added",
        breaks="The statement leaves out what the error estimate cost.",
        file="release/statement/statement.py",
        old="        return add_costs(spend.epsilon for spend in self.stages)",
        new="        return add_costs(spend.epsilon for spend in self.stages[-1:])",
        killers=("tests/release/test_statement.py::test_earlier_stages_are_part_of_every_epsilon_and_of_delta",),
    ),
    Mutant(
        name="seeded-coins-called-private",
        breaks="A statement calls a run with seeded coins private.",
        file="release/statement/statement.py",
        old="private = coins.private and math.isfinite(spends.guaranteed)",
        new="private = math.isfinite(spends.guaranteed)",
        killers=("tests/cli/test_aggregate.py::test_seeded_coins_repeat_and_taint_everything",),
    ),
    Mutant(
        name="parallel-where-sequential",
        breaks="Mechanisms on the same rows are priced like the dearest of them.",
        file="planning/budgets/shared.py",
        old="return reduce(add, losses).epsilon(delta)",
        new="return max(one.epsilon(delta) for one in losses)",
        killers=(
            "tests/planning/test_shared_budget.py::test_all_of_them_cost_the_sum_of_their_losses_not_the_dearest_one",
        ),
    ),
    Mutant(
        name="earlier-runs-forgotten",
        breaks="Of all earlier runs only the dearest counts against the budget.",
        file="planning/budgets/earlier_runs.py",
        old="left = Fraction(total.epsilon) - sum(Fraction(run.epsilon) for run in self.runs)",
        new="left = Fraction(total.epsilon) - max(Fraction(run.epsilon) for run in self.runs)",
        killers=("tests/planning/test_earlier_runs.py::test_what_is_left_is_the_total_minus_all_promises",),
    ),
    Mutant(
        name="rest-rounded-up",
        breaks="What earlier runs leave of a budget is rounded up.",
        file="planning/budgets/earlier_runs.py",
        old="return Budget(round_safely(left, upwards=False), ",
        new="return Budget(round_safely(left, upwards=True), ",
        killers=(
            "tests/planning/test_earlier_runs.py::test_the_rest_never_exceeds_the_total_not_even_by_rounding",
        ),
    ),
)
