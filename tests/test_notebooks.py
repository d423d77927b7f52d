"""The notebooks run from their first cell to the last, draw what they say, and are stored without output."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"
PROMISE = r"epsilon ([\d.]+) at delta ([\de.-]+).*adjacency: .*unit: "
PICTURES = {"quickstart": 0, "moments_on_a_table": 2}
RUN = (
    "import sys, nbformat; from nbclient import NotebookClient; "
    "told = nbformat.read(sys.argv[1], as_version=4); "
    "NotebookClient(told, timeout=600, kernel_name='python3').execute(); print(nbformat.writes(told))"
)
"""In a process of its own: what a kernel's channels warn of is none of our tests' business."""


def cells_of(notebook: str) -> list[dict[str, object]]:
    return [one for one in json.loads(notebook)["cells"] if one["cell_type"] == "code"]


def test_every_notebook_is_listed() -> None:
    names = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    assert names == set(PICTURES)
    index = (NOTEBOOKS.parent / "README.md").read_text("utf-8")
    assert all(f"(notebooks/{name}.ipynb)" in index for name in names)


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_is_stored_without_output(name: str) -> None:
    for cell in cells_of((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8")):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="nbclient runs notebooks, and is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel runs notebooks, and is not installed")
    if PICTURES[name]:
        pytest.importorskip("matplotlib", reason="matplotlib draws, and is not installed")
    path = NOTEBOOKS / f"{name}.ipynb"
    ran = subprocess.run([sys.executable, "-c", RUN, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = [output for cell in cells_of(ran.stdout) for output in cell["outputs"]]  # type: ignore[attr-defined]
    assert [one for one in told if one.get("name") == "stderr"] == []
    words = "".join("".join(one["text"]) for one in told if one["output_type"] == "stream")
    assert re.search(PROMISE, words, flags=re.DOTALL), words
    assert all(float(figure) > 0.7 for figure in re.findall(r"accuracy ([\d.]+)", words)), words
    assert len([one for one in told if "image/png" in one.get("data", {})]) == PICTURES[name]
