"""What BTT18's theorems rest on, as data: one sentence each, so that every printed number can carry them."""

from __future__ import annotations

from mapl.types import ADJACENCY, UNIT

PRIVACY = f"epsilon is promised at delta for this adjacency: {ADJACENCY}; unit: {UNIT}."
LABEL_PRIVACY = (
    "epsilon is promised at delta for this adjacency: the label of one row changes, features are public; "
    "unit: the label of one row."
)
CHUNKS = (
    "The rows are cut into equal chunks by position, whatever they contain; n is public, so replacing a row "
    "changes one teacher only."
)
INDEPENDENT = "Private rows and questions are independent draws from one distribution with two classes."
CONSISTENT = "Some classifier of the class never errs, and every teacher is one that makes no error on its rows."
MINIMISER = "Every teacher minimises the error on its rows over the class."
STUDENT_CONSISTENT = "The student is a classifier of the class without error on the released labels."
STUDENT_MINIMISER = (
    "The student minimises the error on the released labels over the class; an abstention counts as a random label."
)
DISTANCE = (
    "Votes are compared by their distance to instability, not by the printed gap - 1, which one vote moves by two."
)
LAPLACE = "The noise is Laplace, on the line or on the integers."
TAUGHT = "m public rows of the same distribution are labelled by Algorithm 2 and taught to the student."
HALVES = "The rows are split in two; one part keeps its labels, the other is labelled by Algorithm 2 and taught."

SHARED = (PRIVACY, DISTANCE, LAPLACE, CHUNKS, INDEPENDENT)
"""What everything that Algorithm 2 answers for rows of a given class rests on."""


def with_probability(failures: str) -> str:
    """Say how often the promise may fail, and over what."""
    return f"It holds with probability at least 1 - {failures} over rows, questions and noise."
