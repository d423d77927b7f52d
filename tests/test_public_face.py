"""The names a user imports, the README's example and the index of the docs stay true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mapl
from mapl.mechanisms import REGISTRY

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", mapl.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(mapl, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = mapl.no_such_name


@pytest.mark.parametrize(
    ("name", "today"),
    [
        *((short, f"{short}_mechanism") for short in ("admit", "choose", "make")),
        ("MultiLabelPrivateClassifier", "PrivateMultiLabelClassifier"),
    ],
)
def test_former_names_still_work(name: str, today: str) -> None:
    with pytest.deprecated_call(match=f"mapl.{today} now"):
        former = getattr(mapl, name)
    assert former is getattr(mapl, today)


def test_estimators_have_one_word_order() -> None:
    """First how it is private, then what it learns: `PrivateMultiLabelClassifier`."""
    found = [name for name in mapl.__all__ if hasattr(getattr(mapl, name), "get_params")]
    assert len(found) == 8
    assert [name for name in found if not re.match("Private|SemiPrivate|Stable", name)] == []


def test_examples_need_nothing_from_deep_inside() -> None:
    for path in (ROOT / "examples").glob("*.py"):
        homes = re.findall(r"^from mapl((?:\.\w+)*) import", path.read_text(), flags=re.MULTILINE)
        deep = [home for home in homes if home.count(".") > 1 and home != ".data.synthetic"]
        assert deep == [], path.name


def test_importing_mapl_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "pyarrow", "sklearn", "typer")
    code = f"import sys, mapl; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_the_readme_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    shown = subprocess.run([sys.executable, "-c", example], check=True, capture_output=True, text=True)
    said = r"accuracy 0\.\d+\n.* epsilon 1\), plus at most delta, 1e-06.* one record is added"
    assert re.match(said, shown.stdout)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("name", REGISTRY)
def test_every_mechanism_is_documented_and_names_an_existing_proof(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "mechanisms.md").read_text()
    mechanism = REGISTRY[name].mechanism
    classes = [mechanism, *mechanism.__mro__]
    docs = " ".join((c.__doc__ or "") for c in classes if c.__module__.startswith("mapl"))
    assert "Guarantee" in docs
    proofs = re.findall(r"docs/proofs/[\w-]+\.md", docs)
    assert proofs
    for proof in proofs:
        assert (ROOT / proof).exists(), proof


def test_links_between_the_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_an_interrupt_while_loading_ends_quietly() -> None:
    code = (
        "import builtins\n"
        "real = builtins.__import__\n"
        "def stop(name, *rest, **named):\n"
        "    if name == 'mapl.cli':\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *rest, **named)\n"
        "builtins.__import__ = stop\n"
        "from mapl.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "mapl: interrupted\n")


def test_the_command_line_looks_for_garbage_less_often() -> None:
    code = (
        "import gc, sys; sys.argv = ['mapl', '--version']\n"
        "from mapl.__main__ import NEW_OBJECTS, main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert gc.isenabled() and gc.get_threshold()[0] == NEW_OBJECTS\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_command_line_ends_without_looking_for_garbage() -> None:
    code = (
        "import atexit, gc, sys; sys.argv = ['mapl', '--version']\n"
        "atexit.register(lambda: print('kept', gc.get_freeze_count() > 10_000))\n"
        "from mapl.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.endswith("kept True\n")


def test_every_error_and_warning_is_exported() -> None:
    from mapl import errors

    own = {
        name for name, one in vars(errors).items() if isinstance(one, type) and one.__module__ == errors.__name__
    }
    assert own <= set(mapl.__all__)
    assert all(getattr(mapl, name) is getattr(errors, name) for name in own)
