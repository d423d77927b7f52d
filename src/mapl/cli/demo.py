"""``mapl demo``: a small built-in ensemble on made-up people, and the main job on its votes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from mapl.cli.aggregate import Request, carry_out, plan, table
from mapl.cli.console import out
from mapl.errors import InvalidParameter
from mapl.noise import SystemCoins
from mapl.release import Classes, ReleaseFolder, Votes
from mapl.types import Budget, Labels, Tallies

MARKER = ".mapl-demo"
CLASSES = Classes(("low", "medium", "high"))
N_FEATURES, N_PEOPLE, N_QUESTIONS, N_TEACHERS = 6, 25_000, 1_000, 250

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Population:
    """People of three classes, normally distributed around each class's centre; the truth is known."""

    centres: Rows

    @classmethod
    def of(cls, world: np.random.Generator) -> Population:
        """Draw the centres."""
        return cls(1.4 * world.standard_normal((len(CLASSES), N_FEATURES)))

    def sample(self, n: int, world: np.random.Generator) -> tuple[Rows, Labels]:
        """Draw n people and their true classes."""
        labels = world.integers(len(CLASSES), size=n).astype(np.int32)
        return self.centres[labels] + world.standard_normal((n, N_FEATURES)), labels


def shards(people: list[str], key: bytes) -> NDArray[np.int64]:
    """Assign each person to a teacher by a keyed hash, so that nobody's shard depends on anybody else."""
    digests = (hmac.digest(key, person.encode(), hashlib.sha256) for person in people)
    return np.array([int.from_bytes(digest) % N_TEACHERS for digest in digests], dtype=np.int64)


def teacher_votes(rows: Rows, labels: Labels, questions: Rows) -> Labels:
    """Fit a nearest-centroid classifier on one shard and let it vote; without rows of two classes it votes 0."""
    present = np.unique(labels)
    if len(present) < 2:
        return np.zeros(len(questions), dtype=np.int32)
    centroids = np.stack([rows[labels == y].mean(axis=0) for y in present])
    squared = ((questions[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(present[squared.argmin(axis=1)], dtype=np.int32)


def ensemble() -> tuple[Tallies, Labels]:
    """Train every teacher on its own shard only; return the tallied votes and the questions' true classes."""
    world = np.random.default_rng(2018)  # makes up the people; it protects nobody
    population = Population.of(world)
    rows, labels = population.sample(N_PEOPLE, world)
    questions, truth = population.sample(N_QUESTIONS, world)
    shard = shards([f"person-{i}" for i in range(N_PEOPLE)], secrets.token_bytes(32))
    counts = np.zeros((N_QUESTIONS, len(CLASSES)), dtype=np.int32)
    for k in range(N_TEACHERS):
        mine = shard == k
        counts[np.arange(N_QUESTIONS), teacher_votes(rows[mine], labels[mine], questions)] += 1
    return Tallies.checked(counts), truth


def demo(
    to: Path = typer.Option(Path("mapl-demo"), "--out", help="Folder of the demo; an earlier demo's is replaced."),
    epsilon: float = typer.Option(2.0, help="Privacy budget."),
    delta: float = typer.Option(1e-5, help="Failure probability."),
) -> None:
    """Train 250 small teachers on made-up people and release labels for 1,000 questions."""
    request = Request(Budget(epsilon, delta))
    refuse_foreign(to)
    out.print(
        f"{N_PEOPLE:,} made-up people in {N_TEACHERS} shards, one nearest-centroid teacher per shard, "
        f"{N_QUESTIONS:,} public questions, {len(CLASSES)} classes."
    )
    tallies, truth = ensemble()
    planned = plan(request, tallies)
    private, folder = prepare(to, tallies, truth), ReleaseFolder(to / "public")
    result = carry_out(planned, Votes(tallies, CLASSES), truth, folder, SystemCoins())
    out.print(table(result))
    plurality = float((tallies.values == truth).mean())
    out.print(
        f"For comparison: without privacy the teachers' plurality is right on {plurality:.2%} of all questions. "
        "With real people that figure would be private; it may be shown here because these are made up."
    )
    out.print(f"The result is in {folder.path}; the votes, which stay private, are in {private}.")
    out.print(
        "The same by hand, or with another file on your own votes (releasing the same votes again spends again):"
    )
    out.print(
        f"  mapl aggregate {private / 'votes.npy'} --epsilon {epsilon:g} --delta {delta:g} "
        f"--classes {','.join(CLASSES.names)} --truth {to / 'truth.npy'}",
        soft_wrap=True,
    )


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is not an earlier demo's."""
    if folder.exists() and not (folder / MARKER).is_file() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InvalidParameter(f"{folder} exists and is not an earlier demo's; choose another folder with --out.")


def prepare(folder: Path, tallies: Tallies, truth: Labels) -> Path:
    """Replace an earlier demo by the votes and the truth of this one; return the private half of the folder."""
    private = folder / "private"
    try:
        if (folder / MARKER).is_file():
            shutil.rmtree(folder)
        private.mkdir(parents=True, mode=0o700)
        (folder / MARKER).touch()
        np.save(private / "votes.npy", tallies.counts)
        (private / "votes.npy").chmod(0o600)
        np.save(folder / "truth.npy", truth)
    except OSError as failure:
        raise InvalidParameter(
            f"{folder} cannot be written ({failure.strerror}); choose another folder with --out."
        ) from None
    return private
