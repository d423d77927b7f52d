"""Build the package twice to the same bytes, install it without extras, and use it as a newcomer would.

python tests/try_package.py FOLDER leaves wheel and source archive in FOLDER, and beside it sbom.json: what a plain
installation brings along, as CycloneDX. `make package` and CI call this.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parent.parent
PUBLISHED = "1767225600"
"""A date in seconds, for files that hold one: the same archive whenever it is built."""


def run(*command: str | Path, code: int = 0, cwd: Path = ROOT) -> str:
    """Run a command, demand its exit code, and return all that it printed."""
    ended = subprocess.run(list(map(str, command)), cwd=cwd, env=environment(), capture_output=True, text=True)
    said = ended.stdout + ended.stderr
    if ended.returncode != code:
        sys.exit(f"{' '.join(map(str, command))} ended with {ended.returncode} instead of {code}:\n{said}")
    return said


def environment() -> dict[str, str]:
    """Return an environment in which nothing of this checkout is found by accident."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"SOURCE_DATE_EPOCH": PUBLISHED, "COLUMNS": "300"}


def build(folder: Path) -> dict[str, str]:
    """Build both archives into a folder, and return their digests by name."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def use(wheel: Path, folder: Path) -> list[dict[str, str]]:
    """Install a wheel alone, try verbs that do with it and verbs that do not, and return what came along."""
    venv.create(folder / "alone", with_pip=True)
    programs = folder / "alone" / "bin"
    run(programs / "pip", "install", "--quiet", wheel)
    mapl = programs / "mapl"
    expect(run(mapl, cwd=folder), "mapl demo")
    expect(run(mapl, "doctor", folder, cwd=folder), "pip install 'mapl[serve]'", "Next: mapl demo")
    expect(run(mapl, "demo", cwd=folder), "student.skops")
    demo = folder / "mapl-demo"
    told = run(
        mapl, "predict", demo / "run/public/student.skops", demo / "test.parquet", "--out", folder / "said.csv"
    )
    expect(told, "accuracy")
    expect(run(mapl, "keys", "list", demo / "run", code=2), "pip install 'mapl[serve]'")
    expect(run(mapl, "serve", demo / "run", code=2), "pip install 'mapl[serve]'")
    listed: list[dict[str, str]] = json.loads(run(programs / "pip", "list", "--format", "json").splitlines()[0])
    return listed


def check_description(wheel: Path) -> None:
    """End where the long description has a link or a picture that leads nowhere outside of the repository."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        described = archive.read(name).decode()
    expect(described, "Content-Type: text/markdown", "Model-agnostic private learning for Python.")
    lost = [one for one in re.findall(r"\]\(([^)]*)\)", described) if not one.startswith("https://")]
    if lost:
        sys.exit(f"The long description links to {lost[0]}, which nobody has who has the package alone.")


def expect(said: str, *parts: str) -> None:
    """End with what was said where it lacks something."""
    for part in parts:
        if part not in said:
            sys.exit(f"{part!r} was expected in:\n{said}")


def bill_of_materials(installed: list[dict[str, str]]) -> str:
    """Return what is installed as CycloneDX 1.5, without what every environment has."""
    parts = [one for one in installed if one["name"] not in ("pip", "setuptools", "mapl")]
    (own,) = (one for one in installed if one["name"] == "mapl")
    components = [
        {**one, "type": "library", "purl": f"pkg:pypi/{one['name'].lower()}@{one['version']}"} for one in parts
    ]
    about = {"component": {**own, "type": "library"}}
    form = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    return json.dumps({**form, "metadata": about, "components": components}, indent=2) + "\n"


def main() -> None:
    """Leave both archives in the folder that was named."""
    target = Path(sys.argv[1]).resolve()
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        first, second = build(target), build(Path(made) / "again")
        if first != second:
            sys.exit(f"Two builds differ: {first} and {second}.")
        (wheel,) = target.glob("*.whl")
        check_description(wheel)
        target.with_name("sbom.json").write_text(bill_of_materials(use(wheel, Path(made))))
    print("\n".join(f"{digest}  {name}" for name, digest in first.items()))


if __name__ == "__main__":
    main()
