"""The encoder of a student made of scikit-learn's own transformers, each in the state that a fit would leave.

They are fitted on made-up rows, which gives them their shapes, and then told what the student's encoder knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mapl.data.encoding.layout import CLIP
from mapl.students.exports.parts import BINS, CATEGORIES, MISSING, NUMBER, EncodedPart
from mapl.students.exports.plain_student import PlainStudent

LOWEST = -1e300
"""What stands for a missing number where bins are looked for; a bin of its own ends above it, and is dropped."""

REST = "\ufffdrest"
"""What is met once only, and so stands for all that is rare. No table says it: reading leaves no such sign."""


def sklearn_encoder(student: PlainStudent) -> Any:
    """Return a fitted ColumnTransformer that encodes as the student does."""
    from sklearn.compose import ColumnTransformer

    groups = _grouped(student.parts)
    steps = []
    for number, (how, parts) in enumerate(groups):
        columns = [part.place if student.on_matrix else part.column for part in parts]
        steps.append((f"{how} {number}", BUILDERS[how](parts) if how in BUILDERS else "passthrough", columns))
    encoder = ColumnTransformer(steps, sparse_threshold=0, verbose_feature_names_out=False)
    encoder.fit(_made_up_rows(student))
    for (name, _, _), (how, parts) in zip(steps, groups, strict=True):
        if how == NUMBER:
            _tell_numbers(encoder.named_transformers_[name], parts)
        elif how == BINS:
            edges = np.array([-np.inf, LOWEST / 10, *parts[0].cuts, np.inf])
            encoder.named_transformers_[name]["bins"].bin_edges_[0] = edges
    return encoder


def _grouped(parts: tuple[EncodedPart, ...]) -> list[tuple[str, list[EncodedPart]]]:
    """Return parts of one kind that stand side by side together; categories and bins one by one."""
    found: list[tuple[str, list[EncodedPart]]] = []
    for part in parts:
        if found and found[-1][0] == part.how and part.how not in (CATEGORIES, BINS):
            found[-1][1].append(part)
        else:
            found.append((part.how, [part]))
    return found


def _numbers(parts: list[EncodedPart]) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    fill = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    cut = MinMaxScaler(feature_range=(-CLIP, CLIP), clip=True)
    return Pipeline([("fill", fill), ("scale", StandardScaler()), ("cut", cut)])


def _tell_numbers(pipeline: Any, parts: list[EncodedPart]) -> None:
    """A missing number is its centre, which becomes 0; what cuts off neither moves nor stretches."""
    centres, spreads = np.array([part.centre for part in parts]), np.array([part.spread for part in parts])
    fill, scale, cut = (step for _, step in pipeline.steps)
    fill.statistics_ = centres
    scale.mean_, scale.scale_, scale.var_ = centres, spreads, spreads**2
    cut.scale_, cut.min_ = np.ones(len(parts)), np.zeros(len(parts))
    cut.data_min_, cut.data_max_, cut.data_range_ = (np.full(len(parts), end) for end in (-CLIP, CLIP, 2 * CLIP))


def _gaps(parts: list[EncodedPart]) -> Any:
    from sklearn.impute import MissingIndicator

    return MissingIndicator(features="all")


def _categories(parts: list[EncodedPart]) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    (part,) = parts
    if not part.rest:
        return OneHotEncoder(categories=[list(part.values)], handle_unknown="ignore", sparse_output=False)
    rare = OneHotEncoder(
        categories=[np.array([*part.values, "", REST], dtype=object)],
        handle_unknown="infrequent_if_exist",
        min_frequency=2,
        sparse_output=False,
    )
    return _without(rare, len(part.values))


def _bins(parts: list[EncodedPart]) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import KBinsDiscretizer

    fill = SimpleImputer(strategy="constant", fill_value=LOWEST, keep_empty_features=True)
    n_bins = len(parts[0].cuts) + 2
    bins = KBinsDiscretizer(n_bins, encode="onehot-dense", strategy="uniform", subsample=None)
    return Pipeline([("fill", fill), ("bins", bins), ("keep", _kept([*range(1, n_bins)]))])


def _without(encoder: Any, place: int) -> Any:
    """Drop the column of an encoder that tells of missing cells; the one of all rare values follows it."""
    from sklearn.pipeline import Pipeline

    return Pipeline([("mark", encoder), ("keep", _kept([*range(place), place + 1]))])


def _kept(columns: list[int]) -> Any:
    from sklearn.compose import ColumnTransformer

    return ColumnTransformer([("keep", "passthrough", columns)], sparse_threshold=0)


def _made_up_rows(student: PlainStudent) -> Any:
    """Return rows that meet every category twice and the rest once, and numbers from 0 to 1."""
    sizes = [2 * len(part.values) + 3 for part in student.parts if part.how == CATEGORIES]
    cells = {name: np.linspace(0.0, 1.0, max([*sizes, 4])) for name, _ in student.columns}
    if student.on_matrix:
        return np.column_stack(list(cells.values()))
    import pandas as pd

    for part in student.parts:
        if part.how == CATEGORIES:
            met = [*part.values, "", *part.values, "", REST] if part.rest else list(part.values)
            spare = len(cells[part.column]) - len(met)
            cells[part.column] = np.array([*met, *[met[0]] * spare], dtype=object)
    return pd.DataFrame(cells)


BUILDERS = {NUMBER: _numbers, MISSING: _gaps, CATEGORIES: _categories, BINS: _bins}
"""How parts are built; raw ones are passed through."""
