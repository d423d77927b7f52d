"""A taught run that answers questions: its plan, its mechanism, its teachers, and how questions are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mapl.data.tables.classes import Classes
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter, PlanMismatch
from mapl.mechanisms import AnyMechanism, Task
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.pipeline.online.panel_file import PreparedPanel, read_panel
from mapl.pipeline.online.questions import QuestionForm, Questions
from mapl.pipeline.online.table_file import read_ladder
from mapl.pipeline.online.teach import KIND, SEED, SERVICE_KEY_BYTES
from mapl.pipeline.request import Request
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.published import PLAN, SCHEMA, SETTINGS
from mapl.pipeline.runs.run import digest_fixed
from mapl.pipeline.votes.teachers_plan import calibrate_mechanism
from mapl.planning import Agreement
from mapl.planning.plan import Plan, canonical
from mapl.release import Ledger, Limits, Released, Statement, statement_of
from mapl.release.loop import begin_stage
from mapl.release.statement.promise import Promise
from mapl.types import Tallies

if TYPE_CHECKING:
    from mapl.data.encoding.quick_encoder import QuickEncoder

DIGEST_BYTES = 32
PERSON = b"mapl question"
STAGE = "labels"


class OnlineRun:
    """What a service needs of a run that `teach` made. Private: it holds the teachers and a secret key.

    Parameters
    ----------
    folder
        The run's folder.
    plan, schema, settings
        Its public half.
    service_key
        The secret of the service, 32 bytes.
    seed
        For tests only: the seed of its coins, by its private half.
    """

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        schema: Schema,
        *,
        settings: dict[str, Any],
        service_key: bytes,
        seed: int | None = None,
    ) -> None:
        self.folder = folder
        self.plan = plan
        self.schema = schema
        self.settings = settings
        self.service_key = service_key
        self._seed = seed
        self.classes = Classes(plan.classes)
        self.task = Task(plan.stage(STAGE).budget, plan.n_teachers, len(plan.classes), plan.n_queries)
        self._form = QuestionForm(schema)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a taught run; its teachers are read when they are needed.

        Raises
        ------
        InvalidParameter
            If the folder holds no run that `teach` finished.
        InvalidData
            If one of its files is damaged.
        PlanMismatch
            If its public half is not the one that was taught.
        """
        folder = RunFolder(Path(path))
        missing = [name for name in (PLAN, SCHEMA, SETTINGS) if not (folder.public / name).is_file()]
        if missing or not folder.finished or not folder.service_key.is_file():
            raise InvalidParameter(
                f"{path} holds no finished run of kept teachers; give the folder that mapl teach wrote. An "
                "unfinished one is gone on with by the same mapl teach command."
            )
        texts = [(folder.public / name).read_text(encoding="utf-8") for name in (PLAN, SETTINGS)]
        try:
            settings, key = json.loads(texts[1]), folder.service_key.read_bytes()
            sound = settings["kind"] == KIND and len(key) == SERVICE_KEY_BYTES
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise InvalidData(f"The settings or the key in {path} are damaged; restore them.")
        plan, schema = Plan.from_json(texts[0]), Schema.read(folder.public / SCHEMA)
        _refuse_edited(folder, plan, schema, settings)
        seed = folder.request().get(SEED)
        return cls(folder, plan, schema, settings=settings, service_key=key, seed=seed)

    @cached_property
    def mechanism(self) -> AnyMechanism:
        """The plan's mechanism: its stored table, certified once more, or calibrated anew; as the plan says."""
        stage, groups = self.plan.stage(STAGE), self.settings["agreement"]
        stored = read_ladder(self.folder.table, self.plan, stage)
        if stored is not None:
            return stored
        agreement = Agreement.default() if groups is None else Agreement(tuple((s, w) for s, w in groups))
        choice, _ = calibrate_mechanism(self._request, self.task, agreement)
        made = choice.mechanism
        if made.name != stage.mechanism or dict(made.parameters) != dict(stage.parameters):
            raise PlanMismatch(
                f"The plan in {self.folder.path} says {stage.mechanism}, and calibrating it again gives another "
                "mechanism: the plan was edited, or another version of mapl made it. Serve it with the mapl that "
                "taught it."
            )
        return made

    @cached_property
    def _request(self) -> Request:
        """What was asked for when the run was taught, as far as its public files tell."""
        said = self.settings
        return Request(
            self.plan.budget,
            self.classes,
            n_teachers=self.plan.n_teachers,
            mechanism=said["mechanism"],
            settings=said["settings"],
            n_queries=self.plan.n_queries,
            may_abstain=said["may_abstain"],
            adjacency=self.plan.adjacency,  # type: ignore[arg-type]  # Request checks it
            unit=said["unit"],
        )

    @property
    def promise(self) -> Promise:
        """What is promised about all answers together, and to whom."""
        return self._request.promise_by_teachers

    @cached_property
    def panel(self) -> OnlinePanel:
        """The teachers."""
        panel = read_panel(self.folder.teachers)
        if (panel.n_teachers, panel.n_classes) != (self.task.n_teachers, self.task.n_classes):
            raise InvalidData(f"The teachers in {self.folder.path} are not those of its plan; restore them.")
        return OnlinePanel.of(self._form, panel)

    def coins(self) -> Coins:
        """Return the coins that this run answers with; those of a seed are for tests and taint every statement."""
        return SystemCoins() if self._seed is None else SeededCoins(int(self._seed))

    def conformed(self, rows: Sequence[Any]) -> Questions:
        """Read rows as JSON has them, lists or objects; the result can be taken from by place (`rows.take`).

        Raises
        ------
        InvalidData
            If a row is not as the schema declares; the words name the column and what is allowed, and no cell. Also
            if the learner's models cannot take it, which models of public rows tell.
        """
        questions = self._form.read(rows)
        if len(questions):
            self.panel.refuse_unanswerable(questions)
        return questions

    def digests(self, rows: Questions) -> list[bytes]:
        """Return 32 bytes per question, keyed by the service's secret: equal for equal questions, else nothing."""
        key = self.service_key
        return [blake2b(row, key=key, digest_size=DIGEST_BYTES, person=PERSON).digest() for row in rows]

    def begin(self, ledger: Ledger, coins: Coins) -> None:
        """Begin the chain of a ledger with this plan, or go on with it, and record the mechanism's secret first."""
        ledger.open(self.plan.digest, Limits.of_plan(self.plan))
        begin_stage(ledger, self.mechanism, coins, self.task, stage=STAGE)

    def statement(self, ledger: Ledger, coins: Coins) -> Statement:
        """Return what may be printed about all answers so far."""
        progress = ledger.progress(STAGE)
        released = Released(progress.labels, progress.fallback, progress.state, len(progress.labels))
        return statement_of(
            self.mechanism,
            self.task,
            released,
            coins,
            promise=self.promise,
            stage=STAGE,
            plan_digest=self.plan.digest,
            ledger_head=ledger.head,
        ).recorded_by(ledger)

    def __repr__(self) -> str:
        return f"OnlineRun({self.plan.n_teachers} teachers, private)"


def _refuse_edited(folder: RunFolder, plan: Plan, schema: Schema, settings: dict[str, Any]) -> None:
    """Refuse a public half that says something else than the run was begun with.

    Whoever may write there must not decide about noise: about coins, mechanism, budget, or how questions are read.
    """
    kept = folder.request()
    found = {**settings, **digest_fixed(plan, schema)}
    # The private half describes the learner, the public one only names it.
    compared = (found.keys() & kept.keys()) - {"learner"} | {SEED}
    edited = sorted(name for name in compared if canonical(found.get(name)) != canonical(kept.get(name)))
    if edited:
        raise PlanMismatch(
            f"The public half of {folder.path} was edited, or belongs to another run: {', '.join(edited)} is not "
            "what it was taught with. Nothing is answered from it; restore its files."
        )


@dataclass(frozen=True, slots=True, repr=False)
class OnlinePanel:
    """The teachers of a run, asked by questions as `OnlineRun.conformed` reads them. Private."""

    form: QuestionForm
    inner: PreparedPanel
    quick: QuickEncoder | None

    @classmethod
    def of(cls, form: QuestionForm, inner: PreparedPanel) -> Self:
        """Encode quickly where the encoder allows."""
        from mapl.data.encoding.quick_encoder import QuickEncoder

        encoder = inner.encoder
        return cls(
            form, inner, None if encoder is None or not QuickEncoder.fits(encoder) else QuickEncoder(encoder)
        )

    @property
    def n_teachers(self) -> int:
        return self.inner.n_teachers

    @property
    def n_classes(self) -> int:
        return self.inner.n_classes

    def refuse_unanswerable(self, rows: Questions) -> None:
        """Refuse questions that the learner's models fail on; what goes through mapl's encoder never is."""
        if self.inner.stand_in is not None:
            self.inner.refuse_unanswerable(self.form.table(rows))

    def votes(self, rows: Questions) -> Tallies:
        """Count one vote of every teacher on each question."""
        if self.quick is None:
            return self.inner.votes(self.form.table(rows))
        return self.inner.inner.votes(self.quick.encode(*self.form.values(rows)))

    def __repr__(self) -> str:
        return f"OnlinePanel({self.n_teachers} teachers, private)"
