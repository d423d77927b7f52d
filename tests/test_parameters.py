"""Parameters in messages: each face spells them in its own way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mapl
from mapl.cli import app
from mapl.cli.dialect.spelling import COMMAND_LINE, WITHOUT_SCHEMA
from mapl.data.tables.classes import Classes
from mapl.data.tables.table import public_codes
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import PLAIN, speaking, spell, takes
from mapl.pipeline.request import Request
from mapl.types import Budget

OPTION = re.compile(r"--([a-z]|$)")

BOTH_OR_A_COMMAND = {
    "report/plots/log_lines.py",
    "planning/planner/answer.py",
    "planning/planner/command_words.py",
    "planning/rules/cells.py",
    "planning/rules/teachers.py",
    "report/pages/answers.py",
    "report/pages/page.py",
    "report/pages/plan.py",
    "report/plots/margin.py",
    "audit/runs/set_up.py",
}
"""Files that print whole commands, or reasons that a plan keeps and that name both spellings; and two of CSS."""


def refusal() -> str:
    with pytest.raises(InvalidParameter) as refused:
        Request(Budget(1.0, 1e-5), Classes(("no", "yes")), n_teachers=7, n_rows=3)
    return str(refused.value)


def test_every_face_has_its_own_spelling() -> None:
    assert "Ask for fewer with teachers, or correct rows." in refusal()
    with speaking(COMMAND_LINE):
        assert "Ask for fewer with --teachers, or correct --rows." in refusal()
        with speaking(PLAIN):
            assert spell("unit", "none") == 'unit="none"'
        assert spell("unit", "none") == "--unit none"


def test_a_dialect_ends_with_what_failed_in_it() -> None:
    with pytest.raises(ZeroDivisionError), speaking(COMMAND_LINE):
        _ = 1 / 0
    assert spell("time_limit") == "time_limit"


def test_nobody_is_sent_to_a_schema_that_is_not_there() -> None:
    def words() -> str:
        with pytest.raises(InvalidData) as refused:
            public_codes(["perhaps"], Classes(("no", "yes")))
        return str(refused.value)

    with speaking(COMMAND_LINE):
        assert takes("schema")
        assert "with --classes no,yes or in the schema, say what" in words()
        assert "with --label-values 0=no,1=yes, and" in words()
    with speaking(WITHOUT_SCHEMA):
        assert not takes("schema")
        assert "with --classes no,yes, say what" in words()


def shared_code() -> Iterator[tuple[str, ast.AST]]:
    package = Path(mapl.__file__).parent
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        # Claims of papers stand beside the commands that carry them out.
        if not name.startswith(("cli/", "reproduce/")) and name not in BOTH_OR_A_COMMAND:
            text = path.read_text(encoding="utf-8")
            if "--" in text:  # reading the others as programs would take seconds
                yield name, ast.parse(text)


def test_shared_code_spells_no_option_itself() -> None:
    for name, tree in shared_code():
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                assert OPTION.search(node.value) is None, f"{name}, line {node.lineno}: {node.value}"


def test_a_range_of_numbers_is_advised_where_it_can_be_declared(tmp_path: Path) -> None:
    """Sites and kept teachers learn classes only; `mapl learn` learns numbers too."""
    for name in ("public.csv", "private.csv"):
        (tmp_path / name).write_text("age,cost\n" + "".join(f"{n},{n}.5\n" for n in range(300)))
    common = ["--public", str(tmp_path / "public.csv"), "--label", "cost", "--unit", "none", "--epsilon", "1"]
    common += ["--delta", "1e-6", "--out", str(tmp_path / "out")]
    private = [str(tmp_path / "private.csv")]
    for verb, given, numbers in (
        ("learn", private, True),
        ("teach", [*private, "--queries", "100"], False),
        ("federate", ["--rows", "300", "--sites", "2"], False),
    ):
        ran = CliRunner().invoke(app, [verb, *given, *common])
        assert ran.exit_code == 2
        assert "300 different numbers, which are hardly classes. Where they are, list them with" in ran.stderr
        assert ("--regression LOW,HIGH" in ran.stderr) is numbers
