"""At a site: its private table in, one file out that may leave. The spend is on disk before it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mapl.errors import InvalidData, InvalidParameter
from mapl.federation.message import SiteAnswer, read_answers
from mapl.federation.plan_folder import PlanFolder
from mapl.federation.rounds import Heard
from mapl.federation.stated import state_site
from mapl.federation.ways import way_of
from mapl.noise import SeededCoins, SystemCoins
from mapl.parameters import spell
from mapl.pipeline.learners import TIME_LIMIT
from mapl.pipeline.methods.method import Prepared
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.published import LEDGER, STATEMENT, publish_files
from mapl.pipeline.runs.run import FolderPlace
from mapl.pipeline.votes.labelling import Effort
from mapl.release.statement.statement import to_json


@dataclass(frozen=True, slots=True)
class Site:
    """One site: its name in the plan, its private table, and the folder in which it keeps account."""

    plan: PlanFolder
    name: str
    private: str
    folder: RunFolder
    memory: int | None = None
    n_jobs: int = -1
    """How many processes train teachers, where there are some; -1 for one per processor."""

    def answer(self, heard: Heard | None = None, *, seed: int | None = None) -> SiteAnswer:
        """Answer the next round, or find the answer again that is on record.

        Parameters
        ----------
        heard
            The rounds that are over, as the coordinator tells them; None for the first one.
        seed
            For tests only: a result that is NOT PRIVATE.

        Notes
        -----
        *Guarantee.* All answers of a site together satisfy the agreement's budget for a site, whatever the
        coordinator and other sites do. Proof: docs/proofs/federation.md.
        """
        agreed = self.plan.read()
        agreed.check_site(self.name)
        heard = Heard(agreed.digest) if heard is None else heard
        if heard.agreement != agreed.digest:
            raise InvalidData("The rounds that are over belong to another plan; fetch those of this one.")
        if self.folder.finished:
            return self._told_before(heard)
        self.folder.refuse_if_used()
        coins = SystemCoins() if seed is None else SeededCoins(seed)
        key = self.folder.read_key(seed)
        case = self.plan.case(agreed, self.private, key=key, coins=coins, memory=self.memory)
        way = way_of(agreed, case)
        number, last = len(heard.rounds) + 1, len(way.entries)
        for one, size in zip(heard.rounds, way.entries, strict=False):
            if len(one.numbers) != size:
                raise InvalidData("The rounds that are over have other numbers than the plan; fetch them anew.")
        if number > last:
            raise InvalidParameter(f"All {last} rounds of this plan are over; there is nothing to answer.")
        table = case.private()
        settings = {"method": agreed.method, "agreement": agreed.digest, "site": self.name, "label": agreed.label}
        prepared = Prepared(way.planned.plan, settings, agreed.learner, None, way)
        with FolderPlace(self.folder, case.key).opened(prepared, case, table) as place:
            numbers = way.answer(table, case, place, heard, Effort(self.n_jobs, TIME_LIMIT))
            ledger = place.ledger
            said = state_site(agreed, self.name, way.mechanism, way.planned, coins, ledger)
            statement = json.loads(said.to_json())
            found = SiteAnswer(agreed.digest, self.name, number, heard.digest, numbers, statement)
            publish_files(self.folder, {file_name(found): found.to_bytes()})
            if number == last:
                chain = "".join(json.dumps(one, sort_keys=True) + "\n" for one in ledger.export())
                publish_files(
                    self.folder, {STATEMENT: (to_json(statement, indent=2) + "\n").encode(), LEDGER: chain.encode()}
                )
        if number == last:
            self.folder.finish()
        return found

    def sent(self, heard: Heard | None = None) -> SiteAnswer | None:
        """Return the answer to the next round that is in the folder already, None where it has yet to be given."""
        heard = Heard(self.plan.read().digest) if heard is None else heard
        path = self.folder.public / f"{self.name}-{len(heard.rounds) + 1}.json"
        if not path.exists():
            return None
        (found,) = read_answers([path])
        return found if (found.agreement, found.heard) == (heard.agreement, heard.digest) else None

    def _told_before(self, heard: Heard) -> SiteAnswer:
        """Return an answer of a site that has answered all rounds, which costs nothing."""
        found = self.sent(heard)
        if found is None:
            raise InvalidParameter(
                f"{self.folder.path} holds all answers of a site, and none of {self.name} to this round of this "
                "plan. Give name, plan and rounds that belong to it; for another site or plan, give another "
                f"{spell('out')}. Nothing was spent now."
            )
        return found

    def file_of(self, answer: SiteAnswer) -> Path:
        """Return the file that may leave the site."""
        return self.folder.public / file_name(answer)


def file_name(answer: SiteAnswer) -> str:
    """Return what the file of an answer is called."""
    return f"{answer.site}-{answer.round}.json"
