"""Mutants of accounting: losses that forget, conversions and calibrations on the wrong side."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="addition-forgets-one",
        breaks="Two losses together cost what the dearer one costs.",
        file="accounting/loss.py",
        old="(mine[a] + theirs[a]) * (1 + 1e-15)",
        new="max(mine[a], theirs[a])",
        killers=("tests/accounting/test_loss.py::test_repeating_is_adding_again_and_again",),
    ),
    Mutant(
        name="addition-forgets-a-delta",
        breaks="Two losses together have the larger delta, not the sum.",
        file="accounting/loss.py",
        old="return Loss.of(total, (self.delta + other.delta) * (1 + 1e-15))",
        new="return Loss.of(total, max(self.delta, other.delta))",
        killers=("tests/accounting/test_loss.py::test_repeating_is_adding_again_and_again",),
    ),
    Mutant(
        name="delta-charged-once",
        breaks="A loss that repeats pays its delta once.",
        file="accounting/loss.py",
        old="self.delta * int(times) * (1 + 1e-15)",
        new="self.delta",
        killers=("tests/accounting/test_loss.py::test_repeating_is_adding_again_and_again",),
    ),
    Mutant(
        name="delta-not-deducted",
        breaks="Epsilon is read off at the whole delta, although part of it is spent.",
        file="accounting/loss.py",
        old="rest = delta - self.delta",
        new="rest = delta",
        killers=("tests/accounting/test_loss.py::test_a_spent_delta_cannot_be_spent_again",),
    ),
    Mutant(
        name="epsilon-rounded-down",
        breaks="The slack for rounding lowers epsilon instead of raising it.",
        file="accounting/conversion.py",
        old="return max(0.0, epsilon + slack)",
        new="return max(0.0, epsilon - slack)",
        killers=("tests/accounting/test_conversion.py::test_capacity_is_rounded_down_and_epsilon_up",),
    ),
    Mutant(
        name="conversion-at-the-wrong-order",
        breaks="A Renyi moment of order a is divided by a, not by a - 1.",
        file="accounting/conversion.py",
        old="epsilon = (log_moment - math.log(delta) - shape) / (order - 1)",
        new="epsilon = (log_moment - math.log(delta) - shape) / order",
        killers=("tests/accounting/test_conversion.py::test_a_moment_over_a_subset_bounds_the_hockey_stick_there",),
    ),
    Mutant(
        name="capacity-on-the-wrong-side",
        breaks="The slack for rounding raises the capacity that prices are paid from.",
        file="accounting/conversion.py",
        old="return value - 8 * SLACK *",
        new="return value + 8 * SLACK *",
        killers=("tests/accounting/test_conversion.py::test_capacity_is_rounded_down_and_epsilon_up",),
    ),
    Mutant(
        name="filter-stops-too-late",
        breaks="A ladder is priced for one abstention fewer than it stops at: the prices pass the capacity.",
        file="mechanisms/votes/ladder.py",
        old="price = room / max_abstentions - also_per_abstention(float(order))",
        new="price = room / max(1, max_abstentions - 1) - also_per_abstention(float(order))",
        killers=("tests/mechanisms/test_ladder.py::test_the_whole_run_stays_within_the_budget",),
    ),
    Mutant(
        name="calibrated-on-the-wrong-side",
        breaks="Calibration returns the noise just below what is affordable.",
        file="accounting/calibration.py",
        old=("        low, high = (low, middle) if affordable(middle) else (middle, high)\n    return high"),
        new=("        low, high = (low, middle) if affordable(middle) else (middle, high)\n    return low"),
        killers=("tests/accounting/test_calibration.py::test_the_smallest_real_is_affordable_and_nearly_smallest",),
    ),
    Mutant(
        name="largest-integer-too-large",
        breaks="Calibration returns one answer more than is affordable.",
        file="accounting/calibration.py",
        old="    return low",
        new="    return high",
        killers=("tests/accounting/test_calibration.py::test_the_largest_integer_is_exact",),
    ),
    Mutant(
        name="pure-loss-at-the-wrong-order",
        breaks="The Renyi divergence of a pure loss is divided by a, not by a - 1.",
        file="accounting/loss.py",
        old="math.log1p(max(excess, 0.0)) / (order - 1)",
        new="math.log1p(max(excess, 0.0)) / order",
        killers=("tests/accounting/test_loss.py::test_pure_divergences_are_rounded_up",),
    ),
    Mutant(
        name="growth-of-the-certain-half",
        breaks="Hockey-stick accounting certifies half of the growth that it needs.",
        file="accounting/hockey_stick.py",
        old=(
            "    while high - low > 1e-5 * high:\n"
            "        middle = (low + high) / 2\n"
            "        low, high = (low, middle) if holds(middle) else (middle, high)\n"
            "    return high"
        ),
        new=(
            "    while high - low > 1e-5 * high:\n"
            "        middle = (low + high) / 2\n"
            "        low, high = (low, middle) if holds(middle) else (middle, high)\n"
            "    return high / 2"
        ),
        killers=(
            "tests/accounting/test_hockey_stick.py::TestCertificate::test_one_step_inequality_on_a_dense_grid",
        ),
    ),
)
