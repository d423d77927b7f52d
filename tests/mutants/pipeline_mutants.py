"""Mutants of the whole job: the folder of a run, identities, units that are set aside."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="private-folder-open",
        breaks="Everybody on the machine may enter the private half of a run.",
        file="pipeline/runs/folder.py",
        old="self.private.chmod(0o700)",
        new="self.private.chmod(0o755)",
        killers=("tests/pipeline/test_run_folder.py::test_only_the_owner_enters_the_private_half",),
    ),
    Mutant(
        name="other-settings-go-on",
        breaks="An unfinished run is gone on with under other settings.",
        file="pipeline/runs/folder.py",
        old='if self._request.read_text(encoding="utf-8") != wanted or ShardKey.read(self.key) != key:',
        new="if ShardKey.read(self.key) != key:",
        killers=("tests/pipeline/test_run_folder.py::test_other_requests_and_other_keys_are_refused",),
    ),
    Mutant(
        name="finished-run-reopened",
        breaks="A finished run can be run again, and spends again.",
        file="pipeline/runs/folder.py",
        old="        if self._finished.exists():\n",
        new="        if not self.path.name:\n",
        killers=("tests/pipeline/test_run_folder.py::test_a_finished_run_is_closed",),
    ),
    Mutant(
        name="points-at-the-price-of-one",
        breaks="A unit of a rare class moves the private choice by sixteen points at the price of one.",
        file="pipeline/methods/selection.py",
        old="step * SENSITIVITY[request.adjacency]",
        new="SENSITIVITY[request.adjacency]",
        killers=("tests/pipeline/test_judgement.py::test_the_plan_pays_for_all_points",),
    ),
    Mutant(
        name="points-without-bounds",
        breaks="A student that misbehaves on a private row gives its unit as many points as it likes.",
        file="pipeline/choice/judgement.py",
        old="np.clip(given, 0, most)",
        new="np.nan_to_num(given)",
        killers=("tests/pipeline/test_judgement.py::test_whatever_a_student_does_points_have_bounds",),
    ),
    Mutant(
        name="unit-ids-ignored",
        breaks="The identity of a row is its content even where there are ids: one person, many shards.",
        file="pipeline/votes/labelling.py",
        old="    if table.unit_ids is not None:\n",
        new="    if table.unit_ids is not None and not len(table.unit_ids):\n",
        killers=("tests/pipeline/test_neighbours.py::test_a_patient_more_or_less",),
    ),
    Mutant(
        name="label-moves-the-shard",
        breaks="Where only labels are private, a changed label moves its row to another shard.",
        file="pipeline/votes/labelling.py",
        old='labels = None if adjacency == "labels" else table.labels',
        new="labels = table.labels",
        killers=("tests/pipeline/test_neighbours.py::test_changed_labels",),
    ),
    Mutant(
        name="unit-on-both-sides",
        breaks="Nobody notices that a unit is in two of the parts that try, choose and learn.",
        file="pipeline/choice/set_aside.py",
        old="if (same_unit & (np.diff(parts[order]) != 0)).any():",
        new="if len(order) < 0:",
        killers=("tests/pipeline/test_set_aside.py::test_a_unit_in_two_parts_is_refused",),
    ),
    Mutant(
        name="parts-overlap",
        breaks="Methods are also tried on those who choose, and on all others.",
        file="pipeline/choice/set_aside.py",
        old="np.flatnonzero(parts == number)",
        new="np.flatnonzero(parts >= number)",
        killers=("tests/pipeline/test_set_aside.py::test_a_unit_is_in_one_part_whoever_else_is_there",),
    ),
    Mutant(
        name="winner-on-everybody",
        breaks="The chosen method learns with all of epsilon from units that have paid for the choice already.",
        file="pipeline/methods/selection.py",
        old="case, parts.others, _part(place, winner), watch)",
        new="case, table, _part(place, winner), watch)",
        killers=("tests/pipeline/test_selected_runs.py::test_somebody_is_seen_by_one_part",),
    ),
    Mutant(
        name="one-failure-for-all",
        breaks="Whoever makes a student fail makes it fail for every unit that is scored with them.",
        file="pipeline/choice/set_aside.py",
        old="            if len(members) > 1:\n",
        new="            if len(members) > PLACES:\n",
        killers=(
            "tests/pipeline/test_set_aside.py::test_one_record_more_is_right_or_wrong_and_changes_nothing_else",
        ),
    ),
    Mutant(
        name="cell-lot-by-the-label",
        breaks="Where only labels are private, a label decides which record of its unit counts.",
        file="pipeline/counts/one_record.py",
        old='None if request.adjacency == "labels" else table.labels',
        new="table.labels",
        killers=("tests/pipeline/test_count_in_cells.py::test_a_changed_label_stays_in_its_cell",),
    ),
    Mutant(
        name="units-counted-in-every-record",
        breaks="Cells are counted with all records of every unit.",
        file="pipeline/counts/counting.py",
        old="records = keep_one_record(table, request, key)",
        new="records = table",
        killers=("tests/pipeline/test_count_in_cells.py::test_a_unit_more_is_one_count_more",),
    ),
)
