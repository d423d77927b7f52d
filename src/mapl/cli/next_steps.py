"""What ``mapl`` alone says: the next step from where somebody stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

ABOUT = "mapl learns from a private table and publishes only what differential privacy allows."

BEFORE = (
    ("mapl demo", "the whole job on made-up patients, in seconds; nothing to prepare"),
    ("mapl doctor", "whether everything is in place on this machine"),
    ("mapl schema public.csv", "how public rows are read"),
    ("mapl check private.csv ...", "how private rows would be read; nothing is spent"),
    ("mapl plan ...", "what can be had for a budget, without any private row"),
    ("mapl learn private.csv ...", "learn, and publish a student with its statement: spends the budget"),
)
MOST_RUNS = 3


def suggest_steps(folder: Path) -> str:
    """Return suggestions: about the newest students in the folder, or how to come to a first one."""
    runs = sorted(folder.glob("*/public/student.skops")) + sorted(folder.glob("*/run/public/student.skops"))
    steps = [step for one in runs[:MOST_RUNS] for step in _with_student(one.relative_to(folder))]
    help_on = (("mapl --help", "all verbs"), ("mapl learn --help", "one verb"))
    shell = (("mapl --install-completion", "let the tab key complete verbs and options"),)
    return "\n".join([ABOUT, "", *_aligned([*steps, *(BEFORE[1:] if steps else BEFORE), *help_on, *shell])])


def _with_student(student: Path) -> list[tuple[str, str]]:
    run = student.parent.parent
    return [
        (f"mapl predict {quote(str(student))} new.csv", "predict with the student that is here: free"),
        (f"mapl report {quote(str(run))}", "write its report anew"),
    ]


def _aligned(steps: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(command) for command, _ in steps)
    return [f"  {command:{width}}  {says}" for command, says in steps]
