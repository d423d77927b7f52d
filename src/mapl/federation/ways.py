"""The three ways in which sites answer, and how an agreement is made."""

from __future__ import annotations

import math
from dataclasses import replace

from mapl.data.tables.rows import n_rows
from mapl.errors import PlanMismatch
from mapl.federation.agreement import CELLS, VOTES, SitesPlan
from mapl.federation.by_cells import ByCells
from mapl.federation.by_moments import ByMoments
from mapl.federation.by_votes import ByVotes, settle_votes
from mapl.pipeline.case import Case
from mapl.planning.rules.cells import cells_for
from mapl.release.cell_counts import SENSITIVITY

SiteWay = ByCells | ByMoments | ByVotes


def complete(agreed: SitesPlan, case: Case) -> SitesPlan:
    """Fix what an agreement leaves open, from public rows alone, and note what is drawn of them."""
    if agreed.method == CELLS and agreed.n_cells is None:
        # The counts of all sites together are as noisy as those of one with a smaller epsilon.
        seen = agreed.site_budget.epsilon / SENSITIVITY[agreed.adjacency] / math.sqrt(len(agreed.sites))
        agreed = replace(agreed, n_cells=cells_for(agreed.n_rows, n_rows(case.public.rows), seen)[0])
    if agreed.method == VOTES:
        agreed = settle_votes(agreed, n_rows(case.public.rows))
    way = _draw(agreed, case)
    return replace(agreed, plan=way.planned.plan.digest, drawn=way.drawn)


def way_of(agreed: SitesPlan, case: Case) -> SiteWay:
    """Draw cells or map anew, and make sure that they are those that were agreed on."""
    way = _draw(agreed, case)
    if (way.planned.plan.digest, way.drawn) != (agreed.plan, agreed.drawn):
        raise PlanMismatch(
            "This machine draws another map of the public rows than the plan has, so its numbers could not be "
            "added to those of other sites. Use the same versions of mapl, numpy and scikit-learn; nothing was "
            "spent."
        )
    return way


def _draw(agreed: SitesPlan, case: Case) -> SiteWay:
    if agreed.method == CELLS:
        return ByCells.of(agreed, case)
    return ByVotes.of(agreed, case) if agreed.method == VOTES else ByMoments.of(agreed, case)
