"""The one list of cases: every verb and method that reads private rows, and every verb that does not, with why.

A case is some command lines, or a function of a side and a private table. Its kind says which neighbours it gets:
"rows", "replaced", "labels", "images", "held" (and more of these), "votes" or "single votes" (`neighbours`).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass

import estimator_cases as faces
from neighbours import N_PUBLIC, STORED, Private, parquet, pictures, public, stored
from served import asked_in_every_way
from side import Side

BUDGET = "--epsilon 20 --delta 1e-5 --jobs 1 --out run"
LEARN = f"learn PRIVATE --public public.parquet --label y --classes no,yes --unit person {BUDGET}"
TEACHERS = f"{LEARN} --student ridge --teachers 5"
SURE = f"{TEACHERS} --epsilon 500 --delta 0.01"
MOMENTS = f"{LEARN} --method moments"
ALONE = MOMENTS.replace("--public public.parquet", "--schema alone.json")
NUMBERS = f"learn PRIVATE --public test.parquet --label dose --regression 0,1.5 --unit person {BUDGET}"
"""Of the strange cells that other cases have in a column, some are labels here."""
CELLS = f"{LEARN} --student ridge --method cells --cells 6"
LABELS = f"learn PRIVATE --label-private --label y --classes no,yes --unit person --student ridge {BUDGET}"
ANSWER = "answer PRIVATE --label y --classes no,yes --questions public.parquet --features age,dose --epsilon 20"
ANSWER += " --unit none --out run"
DECLARED = f"{ANSWER} --adjacency add-remove --rows 40"
TEACH = f"{LEARN.replace('learn', 'teach')} --queries 30 --teachers 5 --epsilon 500"
FEDERATE = "federate --public public.parquet --label y --classes no,yes --unit person --rows 80 --sites a,b"
FEDERATE += " --sites-per-person 1 --epsilon 20 --delta 1e-5 --out plan"
AT_SITES = ("site plan PRIVATE --name a --out run", "site plan PRIVATE --name b --out other")
COMBINED = ("combine plan run/public/a-1.json other/public/b-1.json --student ridge --out together",)
NEXT_ROUND = "site plan PRIVATE --name a --past-rounds together/public/rounds-1.json --out run"
AGGREGATE = "aggregate PRIVATE --epsilon 20 --delta 1e-5 --classes no,yes --out run"
BY_PRESET = ("logistic", "ridge", "ridge-bins", "forest", "nb", "svm", "mlp", "text", "lgbm")
"""The learners of `mapl learners` that read text; image and hgb have cases of their own."""
PROGRAM = shlex.quote(f"{sys.executable} HERE/program.py {{shard}} {{queries}} {{votes}}")
AFTERWARDS = (
    "report run --out again.html",
    "predict run/public/student.skops public.parquet --out predicted.csv",
    "ledger show run --json",
    "ledger verify run",
    "ledger export run --out exported.jsonl",
)

HALTING = ("stable-queries", "btt18", "lzcw21-sparse", "stable-once")
BY = {
    **dict.fromkeys(("ladder", "threshold-ladder", "ladder-then-max", "ladder-then-link", "confident-max"), ""),
    **dict.fromkeys(("noisy-max", "link", "exponential-vote", "permute-and-flip", "laplace-max", "gibbs-flip"), ""),
    **dict.fromkeys(HALTING[:3], "--max-abstentions 2"),
    "stable-once": "",
    "lzcw21-gaussian": "",
    "majority": "--epsilon inf",
}
"""Every mechanism, and what it has to be told; some halt before the last question."""

Script = Callable[[Side, Private], None]


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    run: tuple[str, ...] | Script
    code: int = 0
    """How its last command ends."""

    def __str__(self) -> str:
        return self.name


CASES = (
    Case("teachers, a preset", "rows", (TEACHERS,)),
    Case("verbs on a finished run", "rows", (TEACHERS, *AFTERWARDS)),
    *(Case(f"teachers by {name}", "rows", (f"{TEACHERS} --learner {name}",)) for name in BY_PRESET),
    Case("teachers, two processes", "rows", (f"{TEACHERS} --jobs 2",)),
    Case("teachers, labels by value", "rows", (f"{TEACHERS} --label-values 0=no,1=yes",)),
    Case("teachers, an estimator", "rows", (f"{TEACHERS} --learner own_learners:TREE",)),
    Case("teachers, a function", "rows", (f"{TEACHERS} --learner own_learners:train",)),
    Case("teachers, a program", "rows", (f"{TEACHERS} --learner-command {PROGRAM}",)),
    Case("columns by hand", "rows", (f"{TEACHERS} --schema columns.json",)),
    Case("columns by hand, cells", "rows", (f"{CELLS} --schema columns.json --drop note --categories age",)),
    Case("teachers, three classes", "rows", (f"{TEACHERS} --classes no,yes,other --mechanism link",)),
    Case("teachers that may abstain", "rows", (f"{SURE} --may-abstain --max-abstentions 9",)),
    Case("teachers, their error told", "rows", (f"{TEACHERS} --error-share 0.2",)),
    Case(
        "teachers, several labels",
        "rows",
        (
            f"{TEACHERS} --label smoker",
            "report run --out again.html",
            "predict run public.parquet --out predicted.csv",
        ),
    ),
    Case("teachers, replaced", "replaced", (f"{LEARN} --student ridge --method teachers --adjacency replace-one",)),
    Case("images", "images", (f"{TEACHERS.replace('public.parquet', 'pictures.parquet')} --learner image",)),
    Case("student plain", "rows", (f"{TEACHERS} --strategy plain --json",)),
    Case("student imputed", "rows", (f"{TEACHERS} --strategy imputed",)),
    Case("student imputed at random", "rows", (f"{TEACHERS} --strategy imputed --fill random",)),
    Case("student self-training", "rows", (f"{TEACHERS} --strategy self-training",)),
    Case("student voting", "rows", (f"{TEACHERS} --strategy voting --voters 3",)),
    Case("student cleaned", "rows", (f"{TEACHERS} --strategy cleaned",)),
    Case(
        "student by default", "rows", (f"{LEARN} --teachers 5 --strategy auto --group colour --test test.parquet",)
    ),
    Case("active, margin", "rows", (f"{TEACHERS} --strategy active --active margin --label-service link",)),
    Case(
        "active, committee", "rows", (f"{TEACHERS} --strategy active --active committee --label-service noisy-max",)
    ),
    Case("active, robust-cal", "rows", (f"{SURE} --strategy active --active robust-cal --label-service ladder",)),
    Case("active, hybrid", "rows", (f"{SURE} --strategy active --label-service hybrid",)),
    Case("active, the paper's", "rows", (f"{TEACHERS} --strategy active --label-service lzcw21-gaussian",)),
    Case("active by default", "rows", (f"{TEACHERS} --strategy active --label-service auto",)),
    Case("soft", "rows", (f"{LEARN} --teachers 5 --student logistic --strategy soft",)),
    Case("soft, three classes", "rows", (f"{LEARN} --teachers 5 --classes no,yes,other --strategy soft",)),
    Case("soft medians", "rows", (f"{SURE} --student logistic --strategy soft-medians",)),
    Case("soft, both", "rows", (f"{SURE} --epsilon 80 --student logistic --strategy soft-both",), 3),
    Case("method by public facts", "rows", (f"{LEARN} --student ridge --method auto --rows 40",)),
    Case("cells, points", "rows", (f"{CELLS} --partition points",)),
    Case("cells, centroids", "rows", (f"{CELLS} --partition centroids --per-unit keyed",)),
    Case("cells, leaves", "rows", (f"{CELLS} --partition leaves --per-unit latest:seen",)),
    Case("cells, only one record", "single records", (f"{CELLS} --per-unit only",)),
    Case("cells, twice", "rows", (f"{CELLS} --rounds 2",)),
    Case("cells, replaced", "replaced", (f"{CELLS} --adjacency replace-one",)),
    Case("moments", "rows", (f"{MOMENTS} --rows 40",)),
    Case("moments, everybody in one round", "rows", (f"{MOMENTS} --rows 9000000 --drop note",)),
    Case("moments, taught", "rows", (f"{MOMENTS} --student ridge", *AFTERWARDS)),
    Case(
        "moments, alone",
        "rows",
        (
            "schema public.parquet --label y --unit person --drop note --out alone.json",
            ALONE,
            *(f"export run/public/student.skops --to {form}" for form in ("onnx", "sklearn", "json")),
        ),
    ),
    Case("moments, replaced", "replaced", (f"{MOMENTS} --adjacency replace-one",)),
    Case("moments, images", "images", (MOMENTS.replace("public.parquet", "pictures.parquet"),)),
    Case(
        "regression",
        "rows",
        (f"{NUMBERS} --rows 40", *(line.replace("public.parquet", "test.parquet") for line in AFTERWARDS)),
    ),
    Case("regression, replaced", "replaced", (f"{NUMBERS} --adjacency replace-one",)),
    Case(
        "regression, alone",
        "rows",
        (
            "schema test.parquet --label dose --unit person --drop note --out alone.json",
            NUMBERS.replace("--public test.parquet", "--schema alone.json"),
        ),
    ),
    Case("selection", "rows", (f"{LEARN} --student ridge --rows 40 --method select:teachers/ridge,cells/points",)),
    Case("selection, balanced", "rows", (f"{LEARN} --rows 40 --method select:moments,cells --metric balanced",)),
    Case("labels, teachers", "labels", (f"{LABELS} --method teachers",)),
    Case("labels, several", "labels", (f"{LABELS} --label smoker --method teachers",)),
    Case("labels, cells", "labels", (f"{LABELS} --method cells",)),
    Case("labels, moments", "labels", (f"{LABELS} --method moments",)),
    Case(
        "labels, regression",
        "labels",
        (f"{LABELS.replace('--classes no,yes', '--regression 0,9')} --student auto",),
    ),
    Case(
        "going on",
        "rows",
        (TEACHERS.replace("run", "first"), f"{CELLS} --epsilon 40 --delta 2e-5 --continue first"),
    ),
    Case("answer, padded stumps", "replaced", (f"{ANSWER} --method padded-stumps --model stumps",)),
    Case("answer, stable", "replaced", (f"{ANSWER} --method stable --model rectangles",)),
    Case("answer, gibbs", "replaced", (f"{ANSWER} --method gibbs --model decision-lists:2",)),
    Case("answer, realizable", "replaced", (f"{ANSWER} --method realizable --realizable --model conjunctions:2",)),
    Case("answer, two stages", "replaced", (f"{ANSWER} --method two-stage --model stumps",), 2),
    Case("answer, once for all", "replaced", (f"{ANSWER} --method semi-private --model halfspaces",)),
    Case("answer, thresholds", "rows", (f"{DECLARED} --features age --model thresholds --method auto",)),
    Case("answer, intervals", "rows", (f"{DECLARED} --features age --model intervals --method auto",)),
    Case("answer, unions", "rows", (f"{DECLARED} --features age --model unions:3 --method auto",)),
    Case("teach and serve", "rows", asked_in_every_way(TEACH)),
    Case("sites, cells", "rows", (f"{FEDERATE} --method cells --cells 6", *AT_SITES, *COMBINED)),
    Case("sites, moments", "rows", (f"{FEDERATE} --method moments", *AT_SITES, *COMBINED, NEXT_ROUND)),
    Case("sites, votes", "rows", (f"{FEDERATE} --method votes --teachers 5 --queries 20", *AT_SITES, *COMBINED)),
    Case("aggregate counts", "votes", (f"{AGGREGATE} --mechanism auto",)),
    Case("aggregate single votes", "single votes", (f"{AGGREGATE} --per-teacher --mechanism noisy-max",)),
    *(
        Case(
            f"aggregate by {name}",
            "votes",
            (f"{AGGREGATE} --mechanism {name} {more}",),
            3 if name in HALTING else 0,
        )
        for name, more in BY.items()
    ),
    Case("classifier, teachers", "held", faces.classifier(method="teachers", n_teachers=5)),
    Case("classifier, cells", "held", faces.classifier(method="cells", n_cells=6)),
    Case("classifier, moments", "held", faces.classifier(method="moments", student=None)),
    Case("classifier, moments of records", "held numbers", faces.classifier(method="moments", of_groups=False)),
    Case("classifier, records", "held numbers", faces.classifier(method="teachers", n_teachers=5, of_groups=False)),
    Case("classifier, hgb", "held numbers", faces.classifier(learner="hgb", n_teachers=5)),
    Case("classifier, labels", "held labels", faces.classifier(adjacency="labels", n_teachers=5)),
    Case("classifier, cells of labels", "held labels", faces.classifier(adjacency="labels", method="cells")),
    Case("classifier, replaced", "held replaced", faces.classifier(adjacency="replace-one", n_teachers=5)),
    Case("classifier, replaced in cells", "held replaced", faces.classifier(adjacency="replace-one", n_cells=6)),
    Case("classifier, active", "held numbers", faces.classifier(strategy="active", n_teachers=5)),
    Case("classifier, selection", "held numbers", faces.classifier(method="select:teachers,cells", n_rows=40)),
    Case("classifier, error told", "held numbers", faces.classifier(error_share=0.2, n_teachers=5)),
    Case("regressor", "held", faces.regressor()),
    Case("regressor of records", "held numbers", faces.regressor(of_groups=False)),
    Case("oracle", "held", faces.oracle()),
    Case("several labels", "held numbers", faces.several_labels()),
    Case("soft classifier", "held", faces.soft(release="means")),
    Case("soft classifier, medians", "held numbers", faces.soft(release="medians", epsilon=500.0, delta=0.01)),
    Case("soft classifier, both", "held numbers", faces.soft(release="both", epsilon=80.0, delta=0.01)),
    Case("predictor", "held numbers", faces.predictor()),
    Case("stable classifier", "held numbers", faces.stable()),
    Case("semi-private", "held numbers", faces.semi_private()),
    Case("stable oracle", "held", faces.stable_oracle()),
)

NOTHING_PRIVATE = {
    "audit": "attacks mechanisms on votes of its own, and set-ups on made-up records",
    "bounds": "computes theorems from numbers given",
    "demo": "makes its own table",
    "doctor": "looks at packages, the machine and an empty folder",
    "learners": "lists names",
    "mechanisms": "lists names",
    "federate": "reads public rows; replayed before sites answer",
    "combine": "reads what sites released; replayed after they answered",
    "margin": "reads labelled rows that are public; it says so",
    "plan": "reads declared facts, or public rows",
    "reproduce": "makes up its own worlds; votes and tables that it may be given are published ones",
    "schema": "reads public rows",
    "predict": "reads a published student and rows to predict; replayed on a finished run",
    "export": "reads a published student alone; replayed on a finished run",
    "report": "reads RUN/public; replayed on a finished run",
    "keys create": "writes random tokens into a ledger; replayed before serving",
    "keys list": "reads names of keys; replayed before serving",
    "keys rotate": "replaces a key by a random one; as keys create",
    "keys log": "reads who changed keys; nothing private is in a ledger's log of them",
    "keys revoke": "marks a key; replayed before serving",
    "ledger show": "reads what was released; replayed on a finished run",
    "ledger verify": "reads what was released; replayed on a finished run",
    "ledger export": "writes what was released; replayed on a finished run",
    "ledger backup": "copies a ledger from one private place to another",
    "ledger unlock": "marks a ledger as the only one",
}
"""Verbs that read no private row, and why there is nothing to replay."""

FOR_THE_OWNER = {"check": "tells the owner of a private table how it is read; what it prints is private itself"}


def carry_out(case: Case, side: Side, private: Private, suffix: str) -> None:
    """Run a case on one private table."""
    table = stored(public(), {name: kind for name, kind in STORED.items() if name not in ("person", "y")})
    side.put("public.parquet", parquet(table))
    side.put("test.parquet", parquet(table.append_column("y", [["no", "yes"] * N_PUBLIC])))
    side.put("pictures.parquet", parquet(pictures(8).drop_columns(["person", "y"])))
    for name, text in LAID_OUT.items():
        side.put(name, text.encode())
    if callable(case.run):
        case.run(side, side.put(f"table{suffix}", private).name if isinstance(private, bytes) else private)
        return
    name = side.put(f"table{suffix}", private).name
    for line in case.run:
        side.mapl(*shlex.split(line.replace("PRIVATE", name).replace("HERE", str(side.folder))))


LAID_OUT = {
    "own_learners.py": """
from sklearn.base import BaseEstimator, ClassifierMixin


class Tree(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, self.most_ = sorted(set(y)), sorted(y)[len(y) // 2]
        return self

    def predict(self, X):
        return [self.most_] * len(X)


TREE = Tree()


def train(X, y):
    most = sorted(y)[len(y) // 2]
    return lambda Q: [most] * len(Q)
""",
    "columns.json": """
{"mapl_schema": 1, "columns": [
  {"name": "age", "kind": "number", "centre": 50, "spread": 20, "missing": true, "blanks": ["abc", "unknown"]},
  {"name": "dose", "kind": "category", "categories": ["0", "0.5"], "rest": true},
  {"name": "colour", "kind": "category", "categories": ["red"], "rest": true},
  {"name": "smoker", "kind": "category", "categories": ["no", "yes"]},
  {"name": "seen", "kind": "date", "centre": 18400, "spread": 80, "order": "day-first"},
  {"name": "note", "kind": "text"}],
 "dropped": ["stamp"]}
""",
    "program.py": """
import csv
import sys

shard, queries, votes = sys.argv[1:4]
with open(shard, newline="") as rows:
    labels = sorted(row["y"] for row in csv.DictReader(rows))
with open(queries, newline="") as rows, open(votes, "w") as out:
    out.writelines(labels[len(labels) // 2] + "\\n" for _ in csv.DictReader(rows))
""",
}
"""What lies in the folder of every case besides its tables."""
