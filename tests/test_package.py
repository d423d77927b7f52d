"""What the package says about itself, and what it asks of a newcomer's machine."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mapl"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_nothing_that_users_install_is_pinned() -> None:
    # The tests pin torch, so that no index offers builds for graphics cards; nobody else has to.
    asked = [*PROJECT["dependencies"], *(one for name, extra in EXTRAS.items() if name != "test" for one in extra)]
    assert not [one for one in asked if "==" in one]
    assert "torch==2.13.0" in EXTRAS["test"]


def test_what_has_no_build_for_windows_is_not_asked_for_there() -> None:
    (loop,) = (one for one in EXTRAS["serve"] if one.startswith("uvloop"))
    assert loop.endswith("; sys_platform != 'win32'")


@pytest.mark.parametrize("name", ["riskcal", "dp-accounting", "torch", "pandas", "matplotlib"])
def test_a_plain_installation_does_without(name: str) -> None:
    assert not [one for one in PROJECT["dependencies"] if one.startswith(name)]


def test_classifiers_name_the_versions_of_python_that_are_allowed() -> None:
    least, beyond = map(int, re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    named = [int(one) for one in re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))]
    assert named == list(range(least, beyond))
    assert PROJECT["authors"]
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (SOURCE / "py.typed").exists()


@pytest.mark.parametrize("address", [None, "https://example.org/mapl/"])
def test_the_long_description_has_no_link_that_leads_nowhere(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    interface = types.ModuleType("interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]  # of hatchling, which only builds need
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = hook["described"](readme, address)
    assert "[proof](docs/proofs/README.md)" in readme
    assert ("[proof](https://example.org/mapl/docs/proofs/README.md)" in said) is (address is not None)
    links = re.findall(r"\]\(([^)]*)\)", said)
    assert all(one.startswith("https://") for one in links)
    assert bool(links) is (address is not None)
    assert PROJECT["dynamic"] == ["readme", "urls"]
    pages = hook["addresses"](address)
    assert pages == {} or pages["Changelog"] == "https://example.org/mapl/CHANGELOG.md"
    assert bool(pages) is (address is not None)
    assert all((ROOT / path).exists() for path in hook["PAGES"].values())


def test_constraints_name_versions_and_hashes_and_no_address() -> None:
    write = runpy.run_path(str(ROOT / "tests" / "write_constraints.py"))
    parts = [
        {
            "metadata": {"name": name, "version": "1.2"},
            "download_info": {
                "url": "https://example.org/x.whl",
                "archive_info": {"hashes": {"sha256": "ab" * 32}},
            },
        }
        for name in ("Second", "first")
    ]
    said = write["constraints"](parts)
    assert said == "".join(f"{name}==1.2 --hash=sha256:{'ab' * 32}\n" for name in ("first", "second"))


def test_no_module_imports_what_only_unix_has_at_its_top() -> None:
    top = re.compile(r"^(?:import|from) (fcntl|resource|pwd|grp|termios)\b", re.MULTILINE)
    files = [path for path in SOURCE.rglob("*.py") if "service" not in path.parts]  # a server runs where runs do
    assert not [path.name for path in files if top.search(path.read_text(encoding="utf-8"))]
