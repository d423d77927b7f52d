"""Teachers or cells: the classifier goes the way that `mapl learn` goes, and says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowd import Crowd, crowd
from sklearn.linear_model import LogisticRegression

from mapl import PrivateClassifier, SqliteLedger
from mapl.data.synthetic import LABEL, UNIT
from mapl.errors import InvalidParameter, PlanMismatch, PrivacyWarning
from mapl.pipeline.counts import counting as the_cells
from mapl.students import load, save

CLASSES = ("no", "yes")
CHEAP: dict[str, Any] = {"epsilon": 4.0, "classes": CLASSES, "student": "logistic", "n_jobs": 1}


def fitted(people: Crowd | None = None, **settings: Any) -> PrivateClassifier:
    people = crowd() if people is None else people
    return PrivateClassifier(**{**CHEAP, **settings}).fit(people.X, people.y, public=people.public)


@pytest.mark.parametrize("partition", ["points", "centroids", "leaves"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_cells_make_a_classifier(partition: str, rounds: int) -> None:
    people = crowd()
    clf = fitted(people, method="cells", n_cells=20, partition=partition, rounds=rounds)
    assert clf.score(people.public, people.truth) > 0.8
    said = clf.statement_
    assert (said.delta, said.teachers, said.cells is not None) == (0.0, 0, True)
    assert said.guaranteed_epsilon <= 4
    assert len(said.stages) == rounds
    assert clf.plan_.digest == said.plan_digest
    assert clf.released_.shape == (60,)
    assert clf.error_rate_ is None
    assert clf.predict_proba(people.public).shape == (60, 2)


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({"epsilon": 4.0}, "moments"),
        ({"epsilon": 4.0, "delta": 0.0}, "cells"),
        ({"learner": "ridge"}, "teachers"),
        ({"learner": LogisticRegression()}, "teachers"),
        ({"n_teachers": 20}, "teachers"),
        ({"mechanism": "link"}, "teachers"),
        ({"strategy": "plain"}, "teachers"),
        ({"epsilon": 0.5, "n_cells": 20}, "cells"),
        ({"method": "teachers"}, "teachers"),
        ({"epsilon": 0.5, "method": "cells"}, "cells"),
    ],
)
def test_the_way_is_a_matter_of_public_facts(settings: dict[str, Any], way: str) -> None:
    clf = fitted(**{"n_rows": 600, "seed": 1, **settings})
    assert (clf.statement_.cells is not None) == (way == "cells")
    assert way in clf.plan_.why


@pytest.mark.filterwarnings("ignore:Column 'patient_id'")
def test_it_is_the_way_of_the_command_line(mapl: Callable[..., Any], clinic: Any) -> None:
    """The same tables and settings make the same plan, word by word."""
    private, public = (pd.read_parquet(path) for path in (clinic.private, clinic.public))
    command = ["learn", clinic.private, "--public", clinic.public, "--label", LABEL, "--classes", "no,yes"]
    command += ["--unit", UNIT, "--epsilon", 2, "--delta", 1e-5, "--student", "logistic", "--out", "run"]
    assert mapl(*command).code == 0
    clf = PrivateClassifier(**{**CHEAP, "epsilon": 2.0})
    columns = [name for name in public.columns if name != UNIT]
    clf.fit(private[columns], private[LABEL], public=public[columns], groups=private[UNIT])
    theirs, ours = json.loads(Path("run/public/plan.json").read_text()), json.loads(clf.plan_.to_json())
    assert theirs.pop("unit") == UNIT
    assert ours.pop("unit") == "group"
    assert ours == theirs
    assert clf.statement_.mechanism == "moment-sums"


def test_of_a_group_one_row_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    people, seen = crowd(), []
    real = the_cells.release_counts

    def noting(mechanism: Any, counts: Any, *given: Any, **named: Any) -> Any:
        seen.append(int(counts.sum()))
        return real(mechanism, counts, *given, **named)

    monkeypatch.setattr(the_cells, "release_counts", noting)
    clf = PrivateClassifier(**CHEAP, method="cells", n_cells=20)
    clf.fit(people.X, people.y, public=people.public, groups=np.arange(600) % 150)
    with pytest.warns(PrivacyWarning, match="unit group"):
        clf.fit(people.X, people.y, public=people.public)
    assert seen == [150, 600]
    assert "one record" in clf.statement_.unit


@pytest.mark.parametrize("adjacency", ["replace-one", "labels"])
def test_other_neighbours_need_more_noise(adjacency: str) -> None:
    people = crowd()
    clf = PrivateClassifier(**CHEAP, method="cells", n_cells=20, adjacency=adjacency)
    if adjacency == "labels":
        clf.fit(people.X, people.y)
    else:
        clf.fit(people.X, people.y, public=people.public, groups=np.arange(600))
    assert clf.statement_.parameters["sensitivity"] == 2
    assert clf.score(people.public, people.truth) > 0.8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "squares"}, "The method is 'squares'; choose one of auto, teachers, cells"),
        ({"method": "select:teachers"}, "2 to 8 different methods"),
        ({"method": "select:teachers/nobody,cells"}, "is 'teachers/nobody'; allowed are"),
        (
            {"method": "cells", "learner": "ridge"},
            "a learner was asked for; leave it away, or take method=.teachers",
        ),
        ({"method": "cells", "strategy": "plain"}, "a strategy of the student was asked for"),
        ({"method": "teachers", "n_cells": 20}, "a number of cells was asked for"),
        ({"learner": "ridge", "rounds": 2}, "Only teachers have a learner, and only cells a second round"),
        ({"method": "cells", "n_cells": 0}, "whole number of at least 1"),
        ({"method": "cells", "partition": "squares"}, "squares"),
        ({"method": "cells", "rounds": 3}, "once or twice"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_spent(
    settings: dict[str, Any], words: str, tmp_path: Path
) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(InvalidParameter, match=words):
        fitted(**settings, ledger=ledger)
    assert ledger.entries() == []


def test_a_ledger_serves_one_fit(tmp_path: Path) -> None:
    people, ledger = crowd(), SqliteLedger(tmp_path / "ledger.sqlite")
    clf = PrivateClassifier(**CHEAP, method="cells", ledger=ledger)
    clf.fit(people.X, people.y, public=people.public)
    assert ledger.head == clf.statement_.ledger_head
    with pytest.raises(PlanMismatch, match="belongs to an earlier run"):
        clf.fit(people.X, people.y, public=people.public)


def test_a_seeded_fit_is_reproducible_and_not_private() -> None:
    one, other = (fitted(method="cells", seed=3) for _ in range(2))
    assert (one.released_ == other.released_).all()
    assert not one.statement_.private


def test_far_records_are_told() -> None:
    people = crowd()
    away = people.X.copy()
    away[::2] = 1000
    with pytest.warns(UserWarning, match="lie far from all public rows"):
        fitted(Crowd(away, people.y, people.public, people.truth), method="cells")


def test_the_student_of_cells_can_be_saved(tmp_path: Path) -> None:
    people = crowd()
    clf = fitted(people, method="cells", student=LogisticRegression())
    save(clf.student_, tmp_path / "student.skops", statement=clf.statement_.to_json())
    again = load(tmp_path / "student.skops")
    assert (again.predict(people.public) == clf.predict(people.public)).all()


@pytest.mark.parametrize("adjacency", ["add-remove", "labels"])
def test_learners_of_a_short_list_are_tried_and_one_is_chosen_privately(adjacency: str) -> None:
    people = crowd()
    settings: dict[str, Any] = {**CHEAP, "epsilon": 40.0, "delta": 1e-3, "n_teachers": 10, "adjacency": adjacency}
    settings |= {"method": "select:teachers/ridge,teachers/nb,cells", "mechanism": "auto"}
    clf = PrivateClassifier(**settings)
    clf.fit(people.X, people.y, public=people.public if adjacency == "add-remove" else None)
    said = clf.statement_
    assert said.selected in ("teachers/ridge", "teachers/nb", "cells")
    assert said.guaranteed_epsilon <= 40.0
    assert said.delta <= 1e-3
    assert said.private
    assert {stage.name.split(":")[0] for stage in said.stages} == {
        "pilot teachers/ridge",
        "pilot teachers/nb",
        "pilot cells",
        "selection",
        said.selected,
    }
    assert clf.score(people.public, people.truth) > 0.8
    assert clf.plan_.digest == said.plan_digest


def test_a_learner_of_your_own_is_teachers_on_the_list() -> None:
    people = crowd()
    settings: dict[str, Any] = {**CHEAP, "epsilon": 40.0, "delta": 1e-3, "n_teachers": 10, "seed": 2}
    clf = PrivateClassifier(LogisticRegression(), method="select:teachers,teachers/nb", **settings)
    clf.fit(people.X, people.y, public=people.public)
    assert clf.statement_.selected in ("teachers", "teachers/nb")
    assert not clf.statement_.private  # seeded
    with pytest.raises(InvalidParameter, match="Cells have no teachers"):
        PrivateClassifier(LogisticRegression(), method="select:cells,cells/leaves", **CHEAP).fit(
            people.X, people.y, public=people.public
        )
