"""At the coordinator: answers of all sites in, a student out. Nothing private is here, and nothing is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mapl.errors import InvalidData, InvalidParameter
from mapl.federation.message import SiteAnswer, gather
from mapl.federation.plan_folder import PlanFolder
from mapl.federation.rounds import Heard, add_up
from mapl.federation.ways import SiteWay, way_of
from mapl.noise import SeededCoins, SystemCoins
from mapl.parameters import spell
from mapl.pipeline.case import Case
from mapl.pipeline.learn import Learned
from mapl.pipeline.learners import Learners
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.published import publish_card, publish_cells, publish_files, publish_labels, publish_student
from mapl.planning.plan import canonical
from mapl.students.threads import one_thread

SITES = "sites.json"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Whoever adds up: the plan, and the folder for what all sites say together."""

    plan: PlanFolder
    folder: RunFolder

    @one_thread()
    def combine(
        self, answers: Sequence[SiteAnswer], *, left_out: Sequence[str] = (), student: Any = None
    ) -> Learned | Heard:
        """Add up the answers to all rounds so far; after the last one, train and publish a student.

        Returns
        -------
        The finished run, or the rounds that are over, which the sites have to hear before they answer the next one.

        Notes
        -----
        Guarantee: none of its own and none needed; this is post-processing of what sites released.
        """
        agreed = self.plan.read()
        if self.folder.private.exists():
            raise InvalidParameter(f"{self.folder.path} holds another run; choose another {spell('out')}.")
        rounds = gather(answers, agreed, left_out)
        if not rounds:
            raise InvalidParameter("There are no answers; give the files that the sites sent.")
        case = self.plan.case_of_nobody(agreed)
        way = way_of(agreed, case)
        _check(rounds, way)
        heard = add_up(agreed.digest, rounds)
        self.folder.public.mkdir(parents=True, exist_ok=True)
        if len(rounds) < len(way.entries):
            publish_files(self.folder, {f"rounds-{len(rounds)}.json": heard.to_bytes()})
            return heard
        private = all(one.private for given in rounds for one in given)
        coins = SystemCoins() if private else SeededCoins(0)
        results = way.combine(heard, case, coins)
        learned = Learned(way.planned.plan, results, None, case.declared, case.public)
        self._publish(learned, rounds, case, Learners(student=student))
        if results.lesson is None:
            return learned
        statement = results.labelled.statement.to_json()
        if self.folder.student.exists():
            return replace(learned, student=publish_card(self.folder, statement))
        return replace(learned, student=publish_student(self.folder, way.train(case, results, student), statement))

    def _publish(
        self, learned: Learned, rounds: Sequence[Sequence[SiteAnswer]], case: Case, learners: Learners
    ) -> None:
        """Write what follows from all answers, and from whom they came."""
        results, given = learned.results, case.declared
        sites = [{"site": one.site, "round": one.round, "seal": one.seal} for some in rounds for one in some]
        publish_files(self.folder, {SITES: (canonical(sites) + "\n").encode(), **results.files})
        publish_labels(
            self.folder,
            results.labelled,
            learned.plan,
            [],
            classes=given.classes,
            schema=given.schema,
            settings={**results.settings, **learners.names, "label": given.label, "groups": []},
            questions=case.public.rows,
        )
        if results.counted is not None:
            publish_cells(self.folder, results.counted, given.classes, case.public.rows)


def _check(rounds: Sequence[Sequence[SiteAnswer]], way: SiteWay) -> None:
    """Refuse answers that do not fit the plan, and costs that are not those agreed on."""
    if len(rounds) > len(way.entries):
        raise InvalidData(f"The plan has {len(way.entries)} rounds, and there are answers to {len(rounds)}.")
    budget = way.planned.plan.stages[0].budget
    for size, answers in zip(way.entries, rounds, strict=False):
        for one in answers:
            said = one.statement
            costs = (said.get("guaranteed_epsilon"), said.get("delta"), said.get("plan_digest"))
            if len(one.numbers) != size or costs != (budget.epsilon, budget.delta, way.planned.plan.digest):
                raise InvalidData(
                    f"The answer of {one.site!r} to round {one.round} does not fit the plan; let the site send the "
                    "file that mapl site wrote."
                )
