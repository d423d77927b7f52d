"""A made-up population with a known truth, for demonstrations and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mapl.types import Floats

REGIONS = ("north", "east", "south", "west")
SMOKING = ("never", "former", "current")
CLASSES = ("no", "yes")
LABEL, UNIT = "diabetes", "patient_id"
MOST_VISITS = 4


@dataclass(frozen=True, slots=True)
class Clinic:
    """Patients with one to four visits each; whether a visit finds diabetes is a coin with a known bias.

    Age, weight and blood values of a patient's visits go together, so the unit to protect is the patient and
    not the visit.
    """

    seed: int = 2018

    def visits(self, n: int, *, stream: int = 0) -> tuple[pa.Table, Floats]:
        """Draw at least n visits, whole patients only, cut to n; return them with the true chance of a "yes"."""
        world = np.random.default_rng((self.seed, stream))  # makes up people; it protects nobody
        n_visits = world.integers(1, MOST_VISITS + 1, size=n)
        patient = np.repeat(np.arange(n), n_visits)[:n]
        age = np.clip(world.normal(52, 16, n), 18, 95)[patient]
        bmi = np.clip(world.normal(27, 4.5, n), 15, 55)[patient] + world.normal(0, 0.5, n)
        region = world.integers(len(REGIONS), size=n)[patient]
        smoking = world.choice(len(SMOKING), p=[0.55, 0.25, 0.2], size=n)[patient]
        active = world.random(n)[patient] < 0.4
        glucose = world.normal(96, 11, n) + 0.5 * (bmi - 27) + 0.1 * (age - 52)
        pressure = world.normal(126, 14, n) + 0.3 * (age - 52)
        logit = (
            -2.4
            + 0.055 * (age - 52)
            + 0.21 * (bmi - 27)
            + 0.17 * (glucose - 96)
            + 0.02 * (pressure - 126)
            + np.array([0.0, 0.4, 1.2])[smoking]
            + np.where(active, -1.0, 0.8)
            + np.where((age > 60) & (bmi > 30), 1.8, 0.0)
        )
        chance = 1 / (1 + np.exp(-1.4 * logit))
        positive = world.random(n) < chance
        table = pa.table(
            {
                UNIT: pa.array([f"p{stream}-{i}" for i in patient]),
                "age": np.round(age),
                "bmi": np.round(bmi, 1),
                "glucose": np.round(glucose, 1),
                "pressure": np.round(pressure),
                "smoking": pa.array([SMOKING[i] for i in smoking]),
                "region": pa.array([REGIONS[i] for i in region]),
                "active": pa.array(np.where(active, "yes", "no")),
                LABEL: pa.array([CLASSES[i] for i in positive.astype(int)]),
            }
        )
        return table, chance


def best_accuracy(chance: Floats) -> float:
    """Return the accuracy that no model can beat: that of the one who knows every true chance."""
    return float(np.maximum(chance, 1 - chance).mean())
