"""Numbers for people: bounds are rounded up, only all is 100%, and paths lose their folders."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.report.figures import at_most, one_in, share, share_at_most, tiny, write_setting

POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text: str) -> float:
    """Read a number back as a person would."""
    plain = text.replace(",", "")
    if "10" in plain and re.search("[⁰-⁹⁻¹²³]", plain):
        mantissa, _, power = plain.rpartition("10")
        return float(mantissa.replace("×", "").strip() or 1) * 10.0 ** int(power.translate(POWERS))
    return float(plain)


@given(st.floats(1e-12, 1e12))
def test_a_bound_is_rounded_up_and_stays_close(value: float) -> None:
    shown = read(at_most(value))
    assert value * (1 - 1e-9) <= shown <= value * 1.0101


@given(st.floats(1e-300, 0.99))
def test_a_small_probability_is_rounded_up(value: float) -> None:
    assert read(tiny(value)) >= value * (1 - 1e-9)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1"), (0.1, "0.1"), (0.30000000000000004, "0.3"), (0.9996, "1"), (1.001, "1.01"), (1234.5, "1,240")],
)
def test_bounds_read_well(value: float, shown: str) -> None:
    assert at_most(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(1e-5, "10⁻⁵"), (1.234e-6, "1.24 × 10⁻⁶"), (0.0, "0"), (0.05, "0.05")]
)
def test_deltas_read_well(value: float, shown: str) -> None:
    assert tiny(value) == shown


def test_one_in_so_many_is_never_fewer_than_it_is() -> None:
    assert one_in(1e-5) == "1 in 100,000"
    assert one_in(3e-7) == "1 in 3,333,333"
    assert one_in(0.0) == "never"


@given(st.floats(0, 1))
def test_only_all_is_all_and_only_nothing_is_nothing(value: float) -> None:
    assert (share(value) == "100%") == (value == 1)
    assert (share(value) == "0%") == (value == 0)


@given(st.floats(1e-9, 1))
def test_a_share_that_is_a_bound_is_rounded_up(value: float) -> None:
    shown = float(share_at_most(value).removesuffix("%")) / 100
    assert value * (1 - 1e-9) <= shown <= value + 0.0011


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("/home/someone/project/data.csv", "data.csv"),
        ("C:\\Users\\someone\\data.csv", "data.csv"),
        ("~/secret/fit.R", "fit.R"),
        ("Rscript /opt/x/fit.R {shard} {votes}", "Rscript fit.R {shard} {votes}"),
        ("a/b split", "a/b split"),
        ("Pipeline(steps=['/srv/cache', 1/2])", "Pipeline(steps=['cache', 1/2])"),
        (math.pi, "3.14159"),
        (None, "–"),
        ({"depth": 3, "files": ["/etc/a", "b"]}, "depth: 3; files: a, b"),
        (list(range(20)), "0, 1, 2, 3, 4, 5, 6, 7, … (20 in all)"),
    ],
)
def test_settings_lose_the_folders_of_the_machine(given: object, shown: str) -> None:
    assert write_setting(given) == shown
