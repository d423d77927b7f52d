"""Files that mapl did not write, or that were changed since, are refused before anything is built."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import skops.io
from export_students import questions_of, student_of
from forger import Change, node, nodes, of_numbers, rewritten
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.students import load, train_student
from mapl.students.file.allow_list import refuse_forged
from mapl.students.file.student_file import dumps, loads

TWO = Classes(("no", "yes"))


def honest_file() -> bytes:
    return dumps(of_numbers(GaussianNB())[0])


class Trap:
    """What a forger puts into a pickle: opening it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def test_a_renamed_pickle_is_refused_unopened(tmp_path: Path) -> None:
    mark, path = tmp_path / "mark", tmp_path / "student.skops"
    path.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(InvalidData, match="Pickle and joblib files can run code when they are opened"):
        load(path)
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists()  # the trap works


def test_types_that_run_code_are_refused_unbuilt(tmp_path: Path) -> None:
    """Files whose model is a call in disguise, in each of the ways in which skops can make one."""
    mark = tmp_path / "mark"
    text = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(str(mark)),
    }
    arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text]}
    empty = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}
    no_keys = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    nothing = {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": {},
        "key_types": no_keys,
    }
    function = {"__class__": "mkdir", "__module__": "os", "__loader__": "FunctionNode"}
    disguises = [
        node("os.mkdir", "ConstructorFromReduceNode", content=arguments),
        node("os.mkdir", "ListNode", content=[text]),
        node(
            "functools.partial",
            "PartialNode",
            content={"func": function, "args": arguments, "kwds": nothing, "namespace": nothing},
        ),
        node("operator.methodcaller", "OperatorFuncNode", attrs=arguments),
        node(
            "lightgbm.basic.Booster",
            "ConstructorFromReduceNode",
            content=node("builtins.tuple", "TupleNode", content=[empty, empty, text]),
        ),
    ]
    honest = honest_file()
    for disguise in disguises:

        def put(plan: dict[str, Any], disguise: dict[str, Any] = disguise) -> None:
            extra = {key: plan[key] for key in ("protocol", "_skops_version")}
            plan.clear()
            plan.update(disguise, **extra)

        with pytest.raises(InvalidData, match=r"does not build from files|in an unusual way") as refusal:
            loads(rewritten(honest, plan=put))
        named = disguise["__class__"] if disguise["__class__"] != "partial" else "mkdir"
        assert named in str(refusal.value)
        assert not mark.exists()


def test_a_foreign_module_is_not_even_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "trapped_module.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Model: pass\n")
    monkeypatch.syspath_prepend(tmp_path)

    def put(plan: dict[str, Any]) -> None:
        plan["__module__"], plan["__class__"] = "trapped_module", "Model"

    with pytest.raises(InvalidData, match=r"trapped_module\.Model"):
        loads(rewritten(honest_file(), plan=put))
    assert "trapped_module" not in sys.modules
    assert not mark.exists()


def test_what_skops_users_write_is_no_student(tmp_path: Path) -> None:
    skops.io.dump(GaussianNB().fit([[0.0], [1.0]], [0, 1]), tmp_path / "model.skops")
    with pytest.raises(InvalidData, match=r"was not written by mapl; expected a student.skops with its mapl.json"):
        load(tmp_path / "model.skops")
    with pytest.raises(InvalidData, match="cannot be read"):
        load(tmp_path / "missing.skops")


def test_older_forms_and_other_versions() -> None:
    honest = honest_file()

    def form(about: dict[str, Any]) -> None:
        about["format_version"] = 2

    with pytest.raises(InvalidData, match="this mapl reads form 1 of 'mapl student'"):
        loads(rewritten(honest, about=form))

    def protocol(plan: dict[str, Any]) -> None:
        plan["protocol"] = 0

    with pytest.raises(InvalidData, match="form 0 of skops; mapl reads form 2 and later"):
        loads(rewritten(honest, plan=protocol))

    def libraries(about: dict[str, Any]) -> None:
        about["libraries"]["scikit-learn"] = "0.24.1"

    student = loads(rewritten(honest, about=libraries))
    assert student.warnings[0].startswith("This student was saved with scikit-learn 0.24.1 and is read with")


def test_damaged_files_are_refused_in_words() -> None:
    honest = dumps(of_numbers(HistGradientBoostingClassifier(max_iter=20))[0])
    draws = np.random.default_rng(0)
    for _ in range(150):
        content = bytearray(honest)
        kind = draws.integers(3)
        at = int(draws.integers(len(content)))
        if kind == 0:
            del content[at:]
        elif kind == 1:
            content[at] ^= 1 << int(draws.integers(8))
        else:
            content[at : at + 64] = draws.bytes(64)
        try:
            loads(bytes(content))
        except InvalidData:
            continue
    for content in (b"", b"PK", honest[:-1]):
        with pytest.raises(InvalidData, match="The student file"):
            loads(content)


def test_a_zip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapl.students.file.student_file.MOST_BYTES", 1 << 20)
    bomb = io.BytesIO(honest_file())
    with ZipFile(bomb, "a", compression=ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(1 << 21))
    with pytest.raises(InvalidData, match="unpacks to more than"):
        loads(bomb.getvalue())


def test_deeply_nested_plans_are_refused() -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    with pytest.raises(InvalidData, match="damaged"):
        loads(rewritten(honest_file(), **{"schema.json": deep}))


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 10**6), ("right", 10**6), ("left", 0), ("feature_idx", 10**6), ("feature_idx", -1)],
)
def test_boosted_trees_that_point_outside_are_refused(field: str, value: int) -> None:
    student, _ = of_numbers(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5))
    student.model._predictors[1][0].nodes[field][0] = value
    with pytest.raises(InvalidData, match="points outside itself"):
        loads(dumps(student))


@pytest.mark.parametrize(("field", "value"), [("bitset_idx", 10**6), ("feature_idx", 1)])
def test_category_sets_that_are_not_there_are_refused(field: str, value: int) -> None:
    learner = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, categorical_features=[0])
    draws = np.random.default_rng(0)
    rows = np.stack([draws.integers(0, 9, 300), draws.normal(size=300)], axis=1)
    student = train_student(rows, (rows[:, 0] % 2).astype(int), classes=TWO, learner=learner)
    assert loads(dumps(student)).predict_codes(rows).tolist() == student.predict_codes(rows).tolist()
    nodes_ = student.model._predictors[0][0].nodes
    assert nodes_["is_categorical"][0]
    nodes_[field][0] = value
    with pytest.raises(InvalidData, match="points outside itself"):
        loads(dumps(student))


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", 10**6), ("right_child", 0), ("feature", 10**6), ("feature", -2)]
)
def test_forests_that_point_outside_are_refused(field: str, value: int) -> None:
    student, _ = of_numbers(RandomForestClassifier(3))
    tree = student.model.estimators_[1].tree_
    state = tree.__getstate__()
    state["nodes"][field][0] = value
    tree.__setstate__(state)
    with pytest.raises(InvalidData, match="points outside itself"):
        loads(dumps(student))


def test_forests_for_more_columns_than_they_check_are_refused() -> None:
    student, _ = of_numbers(RandomForestClassifier(3))
    student.model.n_features_in_ = 1
    with pytest.raises(InvalidData, match="points outside itself"):
        loads(dumps(student))


def test_trees_that_claim_more_nodes_than_stored_are_cut_to_these() -> None:
    student, rows = of_numbers(DecisionTreeClassifier())

    def more(plan: dict[str, Any]) -> None:
        (tree,) = nodes(plan, "Tree")
        tree["content"]["content"]["node_count"]["content"] = "1000000"

    again = loads(rewritten(dumps(student), plan=more))
    assert again.model.tree_.node_count == student.model.tree_.node_count
    np.testing.assert_array_equal(again.predict(rows), student.predict(rows))


def test_trees_with_outputs_that_are_not_there_are_refused() -> None:
    student, _ = of_numbers(DecisionTreeClassifier())

    def outputs(plan: dict[str, Any]) -> None:
        (tree,) = nodes(plan, "Tree")
        tree["__reduce__"]["args"]["content"][2]["content"] = "1000000"

    with pytest.raises(InvalidData, match="points outside itself"):
        loads(rewritten(dumps(student), plan=outputs))


def npy(array: Any) -> bytes:
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    return written.getvalue()


def test_a_tree_whose_nodes_are_no_row_is_refused_before_it_is_built() -> None:
    """scikit-learn takes the length of the row before it looks whether there is one: that ended the process."""
    student, _ = of_numbers(DecisionTreeClassifier(max_depth=2))
    content = dumps(student)
    with ZipFile(io.BytesIO(content)) as archive:
        (tree,) = nodes(json.loads(archive.read("schema.json")), "Tree")
        member = tree["content"]["content"]["nodes"]["file"]
        array = np.load(io.BytesIO(archive.read(member)))
    read = {member: npy(array[0]), tree["__reduce__"]["args"]["content"][1]["file"]: npy(np.array([3]))}
    with pytest.raises(InvalidData, match="points outside itself"):  # first without anybody who would build it
        refuse_forged({"protocol": 2, "tree": tree}, read.__getitem__)
    refuse_forged({"protocol": 2, "tree": tree}, {**read, member: npy(array)}.__getitem__)
    for other in (array[0], array[None], np.array(7)):
        with pytest.raises(InvalidData, match="points outside itself"):
            loads(rewritten(content, **{member: npy(other)}))

    def put_together(plan: dict[str, Any]) -> None:
        (tree,) = nodes(plan, "Tree")
        tree["content"]["content"]["nodes"].update(type="json", shape=[], content=[])

    with pytest.raises(InvalidData, match="points outside itself"):
        loads(rewritten(content, plan=put_together))


def test_an_array_that_is_endless_and_takes_no_byte_is_refused() -> None:
    """What asks it anything, entry by entry, would never come to an end."""
    student, _ = of_numbers(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5))
    content = dumps(student)
    with ZipFile(io.BytesIO(content)) as archive:
        arrays = {one: np.load(io.BytesIO(archive.read(one))) for one in archive.namelist() if one.endswith(".npy")}
    (member,) = [name for name, array in arrays.items() if array.dtype == np.uint8]
    for kind in ("|V0", "<U0", "|S0"):
        written = io.BytesIO()
        facts = {"descr": kind, "fortran_order": False, "shape": (1 << 40,)}
        np.lib.format.write_array_header_1_0(written, facts)
        with pytest.raises(InvalidData, match="damaged"):
            loads(rewritten(content, **{member: written.getvalue()}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", [LogisticRegression(), GaussianNB()])
def test_answers_that_are_no_numbers_are_refused_in_words(learner: Any) -> None:
    """Weights may be finite, and too large to compute with: no score is a number, and the first class would win."""
    student, rows = of_numbers(learner)
    for name in {"coef_", "theta_"} & vars(student.model).keys():
        setattr(student.model, name, np.full_like(getattr(student.model, name), 1e308))
    again = loads(dumps(student))
    with pytest.raises(InvalidData, match=r"failed on the rows to predict \(ValueError\)"):
        again.predict_proba(np.concatenate([rows[:3], -rows[:3]]))


def test_one_number_for_two_objects_is_refused() -> None:
    """skops builds the first object it meets under a number, so what was checked could be something else."""
    student, _ = of_numbers(LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1))

    def swap(plan: dict[str, Any]) -> None:
        (booster,) = nodes(plan, "Booster")
        decoy = plan["content"]["content"]["boosting_type"]
        decoy["__id__"] = booster["content"]["content"]["_handle"]["__id__"]

    with pytest.raises(InvalidData, match="gives one number to two objects"):
        loads(rewritten(dumps(student), plan=swap))


def _change(before: str, after: str) -> Change:
    def change(plan: dict[str, Any]) -> None:
        for booster in nodes(plan, "Booster"):
            handle = booster["content"]["content"]["_handle"]
            text = json.loads(handle["content"])
            assert before in text
            handle["content"] = json.dumps(text.replace(before, after, 1))

    return change


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tree_sizes=", "tree_sizes=9"),
        ("num_leaves=", "num_leaves=9"),
        ("left_child=", "left_child=77 "),
        ("left_child=1", "left_child=0"),
        ("split_feature=", "split_feature=9"),
        ("split_feature=", "split_feature=-"),
        ("max_feature_idx=3", "max_feature_idx=9"),
        ("num_class=3", "num_class=1"),
        ("num_class:3", "num_class:99"),
        ("num_cat=0", "num_cat=1"),
        ("decision_type=2", "decision_type=3"),
        ("is_linear=0", "is_linear=1"),
        ("objective=", "objective=custom "),
        ("num_class=3", "num_class=3\nnum_class=3"),
        ("end of trees", "end of bees"),
        ("tree\n", "tree\nTree=0\n"),
    ],
)
def test_lightgbm_models_that_do_not_add_up_are_refused(before: str, after: str) -> None:
    student, _ = of_numbers(LGBMClassifier(n_estimators=2, min_child_samples=5, n_jobs=1, verbose=-1))
    with pytest.raises(InvalidData, match="LightGBM model that does not add up"):
        loads(rewritten(dumps(student), plan=_change(before, after)))


def test_a_booster_without_a_model_is_refused() -> None:
    student, _ = of_numbers(LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1))

    def empty(plan: dict[str, Any]) -> None:
        (booster,) = nodes(plan, "Booster")
        booster["content"]["content"]["_handle"]["content"] = "null"

    with pytest.raises(InvalidData, match="LightGBM model that does not add up"):
        loads(rewritten(dumps(student), plan=empty))


def _changed(array: Any, how: str) -> bytes:
    other = {
        "shorter": lambda: array[:-1],
        "flat": lambda: array.ravel()[:, None],
        "words": lambda: np.full(array.shape, "seven"),
        "gaps": lambda: np.full(array.shape, np.nan),
    }[how]()
    written = io.BytesIO()
    np.save(written, other)
    return written.getvalue()


@pytest.mark.parametrize("name", ["moments", "moments, numbers", "logistic", "nb", "soft, three", "scaled"])
def test_arrays_that_do_not_fit_are_refused_in_words(name: str) -> None:
    """One array after the other: the file is refused, or what the student answers, or it answers every row."""
    content, rows = dumps(student_of(name)), questions_of(student_of(name))[:20]
    with ZipFile(io.BytesIO(content)) as archive:
        arrays = {one: np.load(io.BytesIO(archive.read(one))) for one in archive.namelist() if one.endswith(".npy")}
    refused = 0
    for member, how, to_predict in product(arrays, ("shorter", "flat", "words", "gaps"), (False, True)):
        try:
            if arrays[member].ndim == 0:
                continue
            student = loads(rewritten(content, **{member: _changed(arrays[member], how)}), to_predict=to_predict)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert len(student.predict(rows)) == len(rows)
                if student.number_range is None:
                    assert student.predict_proba(rows).shape == (len(rows), len(student.classes))
        except InvalidData:
            refused += 1
    assert refused > 2


def test_the_words_of_a_failing_model_are_not_told() -> None:
    """They may quote rows; whoever predicts may not want them in a log."""
    student, rows = of_numbers(GaussianNB())
    student.model.theta_ = student.model.theta_[:, :-1]
    with pytest.raises(InvalidData, match=r"failed on the rows to predict \(ValueError\)") as refusal:
        loads(dumps(student)).predict(rows)
    assert "shape" not in str(refusal.value)
    assert "fetch it again" in str(refusal.value)
