"""What a model card says of the different things that students learn from."""

from __future__ import annotations

from dataclasses import dataclass, replace

WAYS = {
    "plain": "Questions without an answer were left out.",
    "imputed": "Questions without an answer got an arbitrary label, as in the papers that mapl implements.",
    "self-training": "Questions without an answer were labelled by the student itself, the surest first.",
    "voting": "The student is an ensemble of models that decide by majority vote.",
    "cleaned": "Every row got the class that the released labels of rows like it speak for.",
    "active": "The student chose the rows to ask about, by public rows and the labels released before.",
    "soft": "It learned from the released values as they are, noise included, and predicts probabilities.",
    "counts": "Each row was taught what the noisy counts of its cell say, weighted by how clearly they say it.",
}


UNLIKE_PUBLIC = "Rows that differ from the public ones (other years, places, instruments) may be predicted badly."
UNLIKE_DECLARED = "Rows that differ from what the columns were declared to be may be predicted badly."


@dataclass(frozen=True, slots=True)
class CardSource:
    """What a student learned from, in words.

    Parameters
    ----------
    like
        What the rows should be like that it is asked about.
    rows
        What it was trained on, in two words.
    """

    title: str
    taught: str
    people: str
    seen: str
    limits: tuple[str, ...]
    like: str = "the public rows it was trained on"
    rows: str = "public rows"


VOTES = CardSource(
    title="A student of a private vote",
    taught="labels",
    people="the people whose records trained the teachers",
    seen="Only public rows, with labels that were released under the privacy statement below. No private row, "
    "label or vote was seen by this model, and none is in its file.",
    limits=(
        "It repeats what the teachers' majority says, mistakes and unfairness included, and the noise of the "
        "release adds mistakes of its own.",
        "Rare classes and small groups suffer most: few teachers agree on them. Look at them before use.",
        UNLIKE_PUBLIC,
        "Its probabilities describe the released labels, which are noisy; those of the true classes are higher.",
    ),
)

SCORES = CardSource(
    title="A student of private scores",
    taught="probabilities",
    people="the people whose records trained the teachers",
    seen="Only public rows, with probabilities that were released under the privacy statement below. No private "
    "row, label or score was seen by this model, and none is in its file.",
    limits=(
        "It repeats what the teachers' scores say together, mistakes and unfairness included, and the noise of the "
        "release adds mistakes of its own.",
        "Rare classes and small groups suffer most: few released values are about them. Look at them before use.",
        UNLIKE_PUBLIC,
        "Its probabilities are what was released of the teachers' scores, smoothed; check them on labelled rows.",
    ),
)

COUNTS = CardSource(
    title="A student of noisy counts",
    taught="counts",
    people="the people whose records were counted",
    seen="Only public rows, with the noisy counts of private records around them, which were released under the "
    "privacy statement below. No private row, label or true count was seen by this model, and none is in its file.",
    limits=(
        "Where there are no public rows, nothing was learned: private records far from all of them taught it "
        "nothing, and there it guesses.",
        "It repeats what most records in each cell say, mistakes and unfairness included, and the noise of the "
        "counts adds mistakes of its own.",
        "Rare classes and small groups suffer most: their counts are small, and the noise is not. Look at them "
        "before use.",
        UNLIKE_PUBLIC,
        "Its probabilities describe noisy counts, not the true ones.",
    ),
)

SUMS = CardSource(
    title="A student of noisy sums",
    taught="noisy sums",
    people="the people whose records were added up",
    seen="Noisy sums over all private records, which were released under the privacy statement below, and public "
    "rows without labels. No private row, label or true sum was seen by this model, and none is in its file.",
    limits=(
        "It is a linear model, was taught by one, or both: what only several columns together tell it hardly "
        "learns.",
        "It repeats what most records say, mistakes and unfairness included, and the noise of the sums adds "
        "mistakes of its own; weights.parquet tells by how much noise may have moved each column.",
        "Rare classes and small groups suffer most: they add little to a sum, and the noise is the same. Look at "
        "them before use.",
        UNLIKE_PUBLIC,
        "Its probabilities are estimates from noisy sums; check them on labelled rows.",
    ),
)

SUMS_OF_NUMBERS = replace(
    SUMS,
    limits=(
        SUMS.limits[0],
        SUMS.limits[1],
        "Small groups suffer most: they add little to a sum, and the noise is the same. Look at them before use.",
        SUMS.limits[3],
        "It never predicts a number beyond the declared range, to which the labels that taught it were cut, and "
        "labels far from all predictions counted as nearer ones.",
    ),
)


def without_public_rows(source: CardSource) -> CardSource:
    """Return what is said of sums where nothing but the declared columns stood in for public rows."""
    return replace(
        source,
        seen="Noisy sums over all private records, which were released under the privacy statement below, and "
        "rows that were made up from what the columns were declared to be. No private row, label or true sum was "
        "seen by this model, and none is in its file.",
        limits=(*source.limits[:3], UNLIKE_DECLARED, *source.limits[4:]),
        like="what its columns were declared to be",
        rows="made-up rows",
    )
