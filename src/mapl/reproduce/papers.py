"""The papers by name, and their claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from mapl.reproduce.claim import PaperClaim


@dataclass(frozen=True, slots=True)
class ReproducedPaper:
    """A paper: who wrote it, what it is called, and the groups of its claims, each a module with `CLAIMS`."""

    authors: str
    title: str
    groups: Mapping[str, str]


PAPERS: Mapping[str, ReproducedPaper] = {
    "btt18": ReproducedPaper(
        "Bassily, Thakkar, Thakurta (NeurIPS 2018)",
        "Model-Agnostic Private Learning",
        {
            "release": "Algorithms 1 and 2: what they promise",
            "counting": "Counting contested questions",
            "rates": "How many labels are wrong or missing",
            "samples": "How many rows a private student takes",
        },
    ),
    "lzcw21": ReproducedPaper(
        "Liu, Zhu, Chaudhuri, Wang (AISTATS 2021)",
        "Revisiting Model-Agnostic Private Learning: Faster Rates and Active Learning",
        {
            "release": "Algorithms 1 and 2: what they promise",
            "table": "Table 1: rates of students",
            "noise": "Students where labels are noisy",
            "voting": "What votes are worth",
            "vote_class": "The class of votes",
            "vote_students": "Students of a crowd that agrees",
            "active": "Active queries",
        },
    ),
    "df20": ReproducedPaper(
        "Dagan, Feldman (COLT 2020)",
        "PAC learning with stable and private predictions",
        {
            "stability": "The stable learner",
            "private": "Private predictions",
            "relabelling": "Theorem 2",
        },
    ),
    "pate": ReproducedPaper(
        "Papernot and others (ICLR 2017, ICLR 2018)",
        "Semi-supervised knowledge transfer (PATE), and Scalable private learning with PATE",
        {"laplace": "2017: noisy max with Laplace noise", "gaussian": "2018: confident noisy max"},
    ),
}


def claims_of(paper: str) -> dict[str, tuple[PaperClaim, ...]]:
    """Return the claims of a paper, by the words of their group."""
    return {
        words: import_module(f"mapl.reproduce.{paper}.{group}").CLAIMS
        for group, words in PAPERS[paper].groups.items()
    }
