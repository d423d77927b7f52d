"""Learning curves: what is read, what is refused, and what lies between and beyond the points."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.planning.votes.learning_curve import LearningCurve

CURVE = "100:0.2,1000:0.16"


class TestReading:
    def test_text_and_back(self) -> None:
        curve = LearningCurve.parse(" 1000:0.16 , 100:0.20")
        assert curve.points == ((100.0, 0.2), (1000.0, 0.16))
        assert str(curve) == CURVE
        assert LearningCurve.parse(str(curve)) == curve

    @pytest.mark.parametrize(
        "content",
        [
            '{"100": 0.2, "1000": 0.16}',
            "rows,error\n100,0.2\n1000,0.16\n",
            "100,0.2\n\n1000,0.16",
            "100, 0.2\r\n1000,.16",
        ],
    )
    def test_files_as_json_and_csv(self, content: str) -> None:
        assert LearningCurve.read(content) == LearningCurve.parse(CURVE)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "write rows:error"),
            ("100", "write rows:error"),
            ("100:x", "write rows:error"),
            ("100:0.2:3", "write rows:error"),
            ("100:0.2,", "write rows:error"),
            ("100:1.2", r"\[0, 1\]"),
            ("100:-0.1", r"\[0, 1\]"),
            ("100:nan", r"\[0, 1\]"),
            ("0:0.2", "at least 1"),
            ("0.5:0.2", "at least 1"),
            ("inf:0.2", "at least 1"),
            ("nan:0.2", "at least 1"),
            ("100:0.2,1000:0.3", "never grows"),
            ("100:0.2,100:0.2", "two points"),
        ],
    )
    def test_what_is_no_curve_is_refused(self, text: str, words: str) -> None:
        with pytest.raises(InvalidParameter, match=words):
            LearningCurve.parse(text)

    @pytest.mark.parametrize(
        "content",
        [
            *("[0.2, 0.1]", '{"100": "a"}', '{"100": true}', '{"100": [0.2]}', "{", '{"100": 0.2, "100": 0.1}'),
            *("rows,error,x\n1,2,3", "a,b\n100,0.2", "100;0.2"),
        ],
    )
    def test_files_that_hold_no_curve_are_refused(self, content: str) -> None:
        with pytest.raises(InvalidParameter, match="no learning curve"):
            LearningCurve.read(content)

    @pytest.mark.parametrize("content", ["", "{}", "rows,error"])
    def test_no_points(self, content: str) -> None:
        with pytest.raises(InvalidParameter, match="no points"):
            LearningCurve.read(content)


class TestError:
    def test_points_are_met_and_between_them_it_is_straight_in_log_n(self) -> None:
        curve = LearningCurve.parse(CURVE)
        assert curve.error(100) == pytest.approx(0.2)
        assert curve.error(1000) == pytest.approx(0.16)
        assert curve.error(math.sqrt(100 * 1000)) == pytest.approx(0.18)

    def test_one_point_holds_everywhere(self) -> None:
        curve = LearningCurve.parse("100:0.2")
        assert [curve.error(n) for n in (1, 100, 1e9)] == [0.2, 0.2, 0.2]

    def test_two_points_have_the_usual_exponent_or_no_floor(self) -> None:
        curve = LearningCurve.parse(CURVE)
        assert curve.exponent == 0.5
        assert 0.13 < curve.floor < 0.16
        steep = LearningCurve.parse("100:0.2,1000:0.02")
        assert steep.floor == 0
        assert steep.error(10_000) == pytest.approx(0.002)

    @pytest.mark.parametrize(("floor", "exponent"), [(0.0, 1.0), (0.1, 0.5), (0.05, 0.8)])
    def test_a_power_law_is_found_again(self, floor: float, exponent: float) -> None:
        law = [(float(n), floor + 2 * n**-exponent) for n in (50, 200, 800, 3200)]
        curve = LearningCurve(tuple(law))
        assert curve.floor == pytest.approx(floor, abs=0.005)
        assert curve.error(50_000) == pytest.approx(floor + 2 * 50_000**-exponent, abs=0.005)

    def test_what_happens_with_few_rows_does_not_bend_the_end(self) -> None:
        """With ten classes and few rows a curve starts flat at guessing; its floor is read off the last points."""
        curve = LearningCurve(
            ((3, 0.88), (8, 0.86), (20, 0.7), (50, 0.5), (200, 0.3), (800, 0.27), (3200, 0.265)), 0.9
        )
        assert 0.25 < curve.floor < 0.265

    def test_guessing_is_the_worst(self) -> None:
        assert LearningCurve.parse("100:0.3,1000:0.1").error(1) == 0.5
        assert LearningCurve.parse("100:0.3,1000:0.1", n_classes=10).error(1) == 0.9
        assert LearningCurve.parse("100:0.7").error(1) == 0.7
        assert LearningCurve.parse("100:0.3,1000:0.1").error(0) == 0.5

    @given(
        st.lists(
            st.tuples(st.integers(1, 10**6), st.floats(0, 1)), min_size=1, max_size=6, unique_by=lambda p: p[0]
        ),
        st.lists(st.floats(1e-3, 1e12), min_size=2, max_size=8),
    )
    def test_more_rows_never_hurt(self, points: list[tuple[int, float]], sizes: list[float]) -> None:
        rates = sorted((rate for _, rate in points), reverse=True)
        rows = sorted(n for n, _ in points)
        curve = LearningCurve(tuple((float(n), rate) for n, rate in zip(rows, rates, strict=True)))
        errors = [curve.error(n) for n in sorted(sizes)]
        assert all(0 <= error <= max(0.5, rates[0]) for error in errors)
        assert all(b <= a + 1e-9 for a, b in itertools.pairwise(errors))
        assert 0 <= curve.floor <= rates[-1] + 1e-9


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    for content in ("rows,error\n100,0.2\n1000,0.16\n", '{"100": 0.2, "1000": 0.16}'):
        assert str(LearningCurve.read("\ufeff" + content)) == "100:0.2,1000:0.16"
