"""What was measured on public test rows: as rows of a table for people, and as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mapl.report import Evaluation, NumberEvaluation

MOST_CLASSES = 5
"""Of more classes the rarest are shown; the report has all of them."""


def measured_rows(found: Evaluation | NumberEvaluation | None) -> Iterator[tuple[str, str]]:
    """Return lines for a table: how often the student is right, beside whoever always says the commonest class."""
    from mapl.report import NumberEvaluation

    if found is None:
        return
    if isinstance(found, NumberEvaluation):
        yield from _measured_numbers(found)
        return
    yield (
        "student accuracy",
        f"{found.accuracy:.2%} on {found.rows} {_rows(found)}; always saying {found.commonest.name!r}: "
        f"{found.majority:.2%}",
    )
    for name, accuracy in found.by_label:
        yield f"accuracy of {name}", f"{accuracy:.2%}"
    yield "balanced accuracy", f"{found.balanced:.2%}, the mean over the classes"
    quality = found.calibration
    if quality is not None:
        auc = "" if quality.auc is None else f"AUC {quality.auc:.4f}, "
        yield (
            "probabilities",
            f"{auc}log-loss {quality.log_loss:.4f}, Brier {quality.brier:.4f}, off by {quality.gap:.4f} on average",
        )
    tested = "labels" if found.by_label else "test rows"
    rarest = sorted(found.per_class, key=lambda one: one.rows)[:MOST_CLASSES]
    for one in rarest:
        recall, precision = ("–" if value is None else f"{value:.1%}" for value in (one.recall, one.precision))
        yield f"class {one.name}", f"{one.rows} {tested}, {recall} found; {precision} of its predictions right"


def _rows(found: Evaluation) -> str:
    return "labels of public test rows" if found.by_label else "public test rows"


def _measured_numbers(found: NumberEvaluation) -> Iterator[tuple[str, str]]:
    """Return the same about predicted numbers, beside whoever always says the same one."""
    yield (
        "student error",
        f"{found.mae:.4g} on average on {found.rows} public test rows; always saying the mean of its predictions, "
        f"{found.mean:.4g}: {found.mean_mae:.4g}; the middle of the range, {found.middle:.4g}: "
        f"{found.middle_mae:.4g}",
    )
    yield "R2", "unknown, as all test labels are equal" if found.r2 is None else f"{found.r2:.4f}"


def measured_record(found: Evaluation | NumberEvaluation | None) -> dict[str, Any]:
    """Return the same as plain values, None where nothing was measured."""
    from mapl.report import NumberEvaluation

    if isinstance(found, NumberEvaluation):
        return {name: value for name, value in asdict(found).items() if name != "rows"}
    quality = None if found is None else found.calibration
    return {
        "accuracy": None if found is None else found.accuracy,
        "majority_accuracy": None if found is None else found.majority,
        "balanced_accuracy": None if found is None else found.balanced,
        "auc": None if quality is None else quality.auc,
        "log_loss": None if quality is None else quality.log_loss,
        "brier": None if quality is None else quality.brier,
        "calibration_gap": None if quality is None else quality.gap,
        **({"accuracy_by_label": dict(found.by_label)} if found is not None and found.by_label else {}),
        "per_class": None
        if found is None
        else [
            {"name": one.name, "rows": one.rows, "recall": one.recall, "precision": one.precision}
            for one in found.per_class
        ],
    }
