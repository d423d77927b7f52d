"""``mapl learn`` by counting in cells: options, files, exit codes, and what it refuses before it spends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.cli.options.labels import FOR_THE_OWNER
from mapl.data.synthetic import LABEL, UNIT

Mapl = Callable[..., Any]
Command = Callable[..., list[Any]]

FILES = {
    *("card.md", "cells.parquet", "labels.parquet", "ledger.jsonl", "plan.json", "report.html", "schema.json"),
    *("settings.json", "statement.json", "student.skops"),
}


DROWNED = 312
"""A seed whose noise for six counts at epsilon 0.01 is below -130 near public rows, and positive far from them."""


@pytest.fixture
def command(clinic: Any) -> Command:
    """A command that names nothing that only teachers have."""
    return lambda *more, **named: clinic.arguments(*more, teachers="auto", **named)


def done(ran: Any) -> dict[str, Any]:
    assert ran.code == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def refused(ran: Any, *parts: str) -> None:
    """Check that a run ended with words that say what to do, and that nothing was begun."""
    assert (ran.code, ran.stdout) == (2, ""), ran.stderr
    message = " ".join(ran.stderr.split())
    for part in parts:
        assert part in message, message
    assert "fault of mapl" not in message
    assert not Path("run").exists()


def cells_of(run: str = "run") -> pa.Table:
    return pa.parquet.read_table(f"{run}/public/cells.parquet")


class TestRuns:
    def test_a_run_counts_in_cells(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        ran = mapl(*command("--method", "cells", "--test", clinic.test, "--json"))
        assert ran.stderr == FOR_THE_OWNER.format(file="run/private/check.json") + "\n"
        said = done(ran)
        assert {one.name for one in Path("run/public").iterdir()} == FILES
        statement = json.loads(Path("run/public/statement.json").read_text())
        assert {**said, **statement} == said
        assert (said["mechanism"], said["epsilon"], said["delta"], said["budget_epsilon"]) == (
            "cell-counts",
            20,
            0,
            20,
        )
        assert (said["teachers"], said["cells"], said["queries"], said["halted"]) == (0, 151, 150, False)
        assert said["answered"] + said["abstained"] == 150
        assert said["accuracy"] > 0.75
        assert said["why"].startswith("cells as asked; ")
        assert (said["strategy"], said["student_learner"]) == ("counts", "ridge")
        settings = json.loads(Path("run/public/settings.json").read_text())
        assert (settings["method"], settings["per_unit"], settings["rounds"]) == ("cells", "keyed", 1)
        table = cells_of()
        assert table.num_rows == 151
        assert sum(table["public rows"].to_pylist()) == 150
        assert {one.name for one in Path("run/private").iterdir()} == {
            *("check.json", "finished", "ledger.sqlite", "lock", "request.json", "shard.key")
        }
        assert mapl("report", "run", "--test", clinic.test).code == 0
        assert mapl("predict", "run/public/student.skops", clinic.test).code == 0
        assert "holds a finished run" in mapl(*command()).stderr

    def test_what_people_read(self, mapl: Mapl, command: Command) -> None:
        ran = mapl(*command("--cells", 30))
        assert ran.code == 0, ran.stderr
        text = " ".join(ran.stdout.replace("│", " ").split())
        for part in ("20 at delta 0, of 20", "all records of one patient_id", "30 cells as asked", "cell-counts"):
            assert part in text
        assert "a number of cells was asked for" in text

    @pytest.mark.parametrize(
        ("more", "n_cells", "stages"),
        [
            (("--partition", "centroids", "--cells", 40), range(20, 42), ["counts"]),
            (("--partition", "leaves", "--cells", 40), range(40, 41), ["counts"]),
            (("--rounds", 2, "--cells", 40), range(20, 42), ["counts", "counts again"]),
        ],
        ids=["centroids", "leaves", "rounds"],
    )
    def test_other_cells(
        self, mapl: Mapl, clinic: Any, command: Command, more: Any, n_cells: Any, stages: Any
    ) -> None:
        said = done(mapl(*command(*more, "--test", clinic.test, "--student", "auto", "--json")))
        assert said["cells"] in n_cells
        assert [stage["name"] for stage in said["stages"]] == stages
        assert said["guaranteed_epsilon"] <= said["budget_epsilon"]
        assert said["accuracy"] > 0.7
        assert set(cells_of()["round"].to_pylist()) == set(range(1, len(stages) + 1))

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ("latest:glucose", "the record with the largest glucose was counted"),
            ("keyed", "drawn by a keyed hash of its own id and content"),
        ],
    )
    def test_the_record_of_a_unit_that_counts(self, mapl: Mapl, command: Command, rule: str, words: str) -> None:
        said = done(mapl(*command("--method", "cells", "--per-unit", rule, "--json")))
        assert any(words in one for one in said["checked"])
        plan = json.loads(Path("run/public/plan.json").read_text())
        assert plan["stages"][0]["parameters"]["per unit"] == rule

    def test_who_has_one_record_each_may_say_so(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        table = pa.parquet.read_table(clinic.private)
        first = np.unique(table[UNIT].to_pylist(), return_index=True)[1]
        once = table.take(
            pa.array(np.concatenate([first, first[:5]]))
        )  # some are written twice, which is no matter
        pa.parquet.write_table(once, "once.parquet")
        said = done(mapl(*command("--per-unit", "only", "--json", private=Path("once.parquet"))))
        assert any("has one record, as you declared" in one for one in said["assumptions"])

    @pytest.mark.parametrize("adjacency", ["replace-one", "labels"])
    def test_other_neighbours(self, mapl: Mapl, clinic: Any, command: Command, adjacency: str) -> None:
        arguments = command("--method", "cells", "--test", clinic.test, "--json")
        if adjacency == "labels":
            place = arguments.index("--public")
            arguments = [*arguments[:place], *arguments[place + 2 :], "--label-private"]
        else:
            arguments += ["--adjacency", adjacency]
        said = done(mapl(*arguments))
        assert said["parameters"]["sensitivity"] == 2
        assert "declared units" in said["why"]  # who is in the table is public, and so is their number
        assert said["accuracy"] > 0.7

    def test_seeded_coins_are_marked(self, mapl: Mapl, command: Command) -> None:
        ran = mapl(*command("--seed", 3))
        assert ran.code == 0
        assert "NOT PRIVATE" in ran.stdout
        for name in ("statement.json", "report.html", "card.md"):
            assert "NOT PRIVATE" in Path("run/public", name).read_text(), name

    def test_counts_that_drown_in_noise_leave_no_student(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        """Ten people and noise of 141; with this seed all counts near public rows are far below zero."""
        pa.parquet.write_table(pa.parquet.read_table(clinic.private).slice(0, 10), "few.parquet")
        ran = mapl(
            *command("--cells", 2, "--epsilon", 0.01, "--seed", DROWNED, "--json", private=Path("few.parquet"))
        )
        assert ran.code == 3, ran.stderr
        said = json.loads(ran.stdout)
        assert (said["answered"], said["student"], said["epsilon"]) == (0, None, 0.01)
        assert "there is no student; the budget is spent all the same" in " ".join(ran.stderr.split())
        assert not Path("run/public/student.skops").exists()
        assert mapl("report", "run").code == 0

    def test_progress_is_told_in_rounds_and_not_in_rows(
        self, mapl: Mapl, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[Any] = []

        @contextmanager
        def shown(what: str, total: int) -> Iterator[Callable[[int], None]]:
            told.append((what, total))
            yield told.append

        monkeypatch.setattr("mapl.cli.learning.learn.progress_of", lambda quiet: shown)
        assert mapl(*command("--rounds", 2)).code == 0
        assert told == [("Counting in cells", 2), 1, 2]


class TestMethods:
    def test_a_named_learner_or_strategy_means_teachers(self, mapl: Mapl, command: Command) -> None:
        for more, why in ((("--learner", "ridge"), "teachers"), (("--strategy", "imputed"), "teachers")):
            said = done(mapl(*command(*more, "--rows", 100, "--out", more[0].strip("-"), "--json")))
            assert said["teachers"] > 0
            assert why in said["why"]

    def test_auto_means_moments(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        pa.parquet.write_table(pa.parquet.read_table(clinic.public).slice(0, 40), "few.parquet")
        for more in ((), ("--public", "few.parquet", "--out", "few")):
            said = done(mapl(*command(*more, "--json")))
            assert (said["mechanism"], said["teachers"], said["cells"]) == ("moment-sums", 0, None)

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--method", "cells", "--teachers", 30), "a number of teachers was asked for"),
            (("--method", "cells", "--mechanism", "ladder"), "a mechanism was asked for"),
            (("--method", "cells", "--queries", 10), "a number of queries was asked for"),
            (("--method", "cells", "--learner", "ridge"), "a learner was asked for"),
            (("--method", "cells", "--strategy", "voting"), "a strategy of the student was asked for"),
            (("--method", "teachers", "--cells", 40), "a number of cells was asked for"),
            (("--method", "teachers", "--partition", "leaves"), "a partition was asked for"),
            (("--method", "teachers", "--rounds", 2), "a second round was asked for"),
            (("--method", "teachers", "--per-unit", "only"), "a choice among a unit's records was asked for"),
            (
                ("--learner", "ridge", "--cells", 40),
                "Only teachers have a learner, and only cells a number of cells",
            ),
            (("--method", "trees"), "The method is 'trees'; choose one of auto, teachers, cells"),
            (("--method", "momnets"), "Did you mean 'moments'?"),
            (("--method", "select:cells,teachers/rigde"), "Did you mean 'teachers/ridge'"),
        ],
    )
    def test_mixtures_are_refused(self, mapl: Mapl, command: Command, more: Any, words: str) -> None:
        refused(mapl(*command(*more)), words)

    def test_moments_are_named_for_text(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        for name in ("private", "public"):
            table = pa.parquet.read_table(getattr(clinic, name))
            notes = [f"patient {i * 7919 % 1000} felt rather well again today" for i in range(table.num_rows)]
            pa.parquet.write_table(table.append_column("note", pa.array(notes)), f"{name}.parquet")
        arguments = command("--public", "public.parquet", private=Path("private.parquet"))
        for way in ("teachers", "cells"):
            ran = mapl(*arguments, "--method", way, "--out", way, "--json")
            said = done(ran)
            assert (said["teachers"] > 0) == (way == "teachers")
            hint = " ".join(ran.stderr.split())
            for part in (f"moments are likely to do much better than {way}", "delta 1e-5; adjacency: one record"):
                assert part in hint


class TestBadInput:
    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--cells", 151), "151 cells and 150 public rows; every cell needs a public row. Ask for fewer"),
            (("--cells", 1), "There would be one cell"),
            (("--cells", 0), "cells"),
            (("--cells", "many"), "The number of cells is 'many'; give a whole number, or auto"),
            (("--per-unit", "first"), "'first'; choose keyed (drawn by lot), only"),
            (("--per-unit", "latest:"), "'latest:'; choose keyed"),
            (("--per-unit", "latest:smoking"), "'smoking' is to say which record of a unit is the latest"),
            (("--per-unit", f"latest:{LABEL}"), "no number or date of that name; choose among age, bmi"),
            (("--epsilon", 0.0001), "epsilon"),
        ],
    )
    def test_settings(self, mapl: Mapl, command: Command, more: Any, words: str) -> None:
        refused(mapl(*command("--method", "cells", *more)), words)

    @pytest.mark.parametrize("more", [("--partition", "squares"), ("--rounds", 3), ("--rounds", 0)])
    def test_settings_that_the_parser_refuses(self, mapl: Mapl, command: Command, more: Any) -> None:
        assert mapl(*command(*more)).code == 2
        assert not Path("run").exists()

    @pytest.mark.parametrize("rule", ["keyed", "only", "latest:age"])
    def test_which_record_of_a_unit_without_units(
        self, mapl: Mapl, clinic: Any, command: Command, rule: str
    ) -> None:
        arguments = command("--per-unit", rule)
        place = arguments.index("--unit")
        refused(mapl(*arguments[:place], *arguments[place + 2 :]), "there is no column of ids: name it with --unit")

    def test_nothing_about_contradictory_units_is_told(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        """One unit's two records differ in their label alone."""
        table = pa.parquet.read_table(clinic.private)
        first = np.unique(table[UNIT].to_pylist(), return_index=True)[1]
        once = table.take(pa.array(first))
        turned = once.slice(17, 1).set_column(
            once.column_names.index(LABEL), LABEL, pa.array(["no" if once[LABEL][17].as_py() == "yes" else "yes"])
        )
        pa.parquet.write_table(pa.concat_tables([once, turned]), "contradictory.parquet")
        pa.parquet.write_table(once, "once.parquet")
        said = [
            mapl(*command("--per-unit", "only", "--out", name, private=Path(f"{name}.parquet")))
            for name in ("once", "contradictory")
        ]
        assert [ran.code for ran in said] == [0, 0]
        assert said[0].stderr.replace("once/private", "contradictory/private") == said[1].stderr

    def test_public_rows_that_do_not_look_like_the_private_ones(
        self, mapl: Mapl, clinic: Any, command: Command
    ) -> None:
        public = pa.parquet.read_table(clinic.public)
        for table, words in (
            (public.append_column("height", pa.array(np.arange(150.0))), "private rows lack column 'height'"),
            (public.drop_columns(["bmi"]), "private rows have column 'bmi', which the schema does not declare"),
            (
                public.rename_columns([f"c{i}" for i in range(public.num_columns)]),
                "few or none of the schema's columns",
            ),
        ):
            pa.parquet.write_table(table, "public.parquet")
            ran = mapl(*command("--method", "cells", "--public", "public.parquet"))
            refused(ran, words)

    def test_a_constant_column_is_named_before_anything_is_spent(
        self, mapl: Mapl, clinic: Any, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is no reason to stop, and good to know."""
        public = pa.parquet.read_table(clinic.public)
        here = public.set_column(public.column_names.index("region"), "region", pa.array(["north"] * 150))
        pa.parquet.write_table(here, "public.parquet")
        arguments = command("--method", "cells", "--public", "public.parquet", "--json")

        def never(*given: Any, **named: Any) -> Any:
            raise AssertionError("counted too early")

        with monkeypatch.context() as patched:
            patched.setattr("mapl.pipeline.methods.cells.count", never)
            ran = mapl(*arguments)
        assert ran.code == 1
        assert "All public rows have the same value in 'region'" in ran.stderr
        assert done(mapl(*arguments))["cells"] > 50

    def test_public_rows_that_are_all_alike(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        public = pa.parquet.read_table(clinic.public)
        pa.parquet.write_table(public.take(pa.array([0] * 150)), "alike.parquet")
        refused(
            mapl(*command("--method", "cells", "--public", "alike.parquet")),
            "There would be one cell",
            "Give public rows that differ",
        )

    def test_private_rows_that_lie_elsewhere_are_warned_of(self, mapl: Mapl, clinic: Any, command: Command) -> None:
        table = pa.parquet.read_table(clinic.private)
        moved = table.set_column(1, "age", pa.array(table["age"].to_numpy() + 500))
        for name in ("bmi", "glucose"):
            moved = moved.set_column(moved.column_names.index(name), name, pa.array(table[name].to_numpy() * 9))
        pa.parquet.write_table(moved, "moved.parquet")
        ran = mapl(*command("--method", "cells", "--json", private=Path("moved.parquet")))
        assert ran.code in (0, 3)
        assert "of the private records (by noisy counts) lie far from all public rows" in " ".join(
            ran.stderr.split()
        )

    def test_a_student_that_takes_no_weights_is_refused_before_anything_is_spent(
        self, mapl: Mapl, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "unweighted.py").write_text(
            "from sklearn.compose import make_column_transformer\n"
            "from sklearn.neighbors import KNeighborsClassifier\n"
            "from sklearn.pipeline import make_pipeline\n"
            "numbers = make_column_transformer(('passthrough', ['age', 'bmi']))\n"
            "student = make_pipeline(numbers, KNeighborsClassifier())\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        refused(mapl(*command("--student", "unweighted:student")), "KNeighborsClassifier takes no weights")

    def test_an_unfinished_run_goes_on_with_the_same_choice_only(
        self, mapl: Mapl, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*given: Any, **named: Any) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("mapl.pipeline.runs.published.write_once", full)
            assert mapl(*command()).code == 2
        for more in (("--per-unit", "latest:age"), ("--rounds", 2), ("--partition", "leaves"), ("--cells", 60)):
            assert "unfinished run with other settings" in mapl(*command(*more)).stderr
        assert mapl(*command()).code == 0
