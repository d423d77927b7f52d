"""Teachers that will wait for questions: what every face does before it trains them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mapl.errors import InvalidParameter
from mapl.pipeline.case import Case
from mapl.pipeline.learn import ask_about_ids
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.teachers import DEFAULT_TEACHER, Teaching, for_teaching, prepare_teaching, try_out
from mapl.pipeline.request import Request
from mapl.pipeline.votes.teachers_plan import Planned, plan_teachers
from mapl.pipeline.watch import Watch
from mapl.teachers import Learner


@dataclass(frozen=True, slots=True)
class ReadyAnswerers:
    """A plan with its mechanism, and who teaches."""

    planned: Planned
    teaching: Teaching


def prepare_answerers(
    case: Case,
    request: Request,
    learners: Learners,
    watch: Watch,
    *,
    admit: Callable[[Learner], object] = lambda learner: None,
) -> ReadyAnswerers:
    """Fix what may be answered, and try out on public rows how teachers learn. No private row is read.

    Parameters
    ----------
    admit
        Refuses a learner whose teachers could not be kept; asked before it is tried out.
    """
    ask_about_ids(case, watch)
    n_queries = request.n_queries
    if n_queries is None or request.adjacency == "labels" or request.method != "teachers":
        raise InvalidParameter(
            "Teachers are kept for a planned number of questions, and protect whole rows: give the number of "
            'queries, the method "teachers" and the adjacency "add-remove" or "replace-one".'
        )
    # Who learns later, if anybody, is not known here, and has no part in the encoding.
    alone = replace(learners, student=learners.teacher or DEFAULT_TEACHER)
    admit(prepare_teaching(case, alone).learner)
    teaching = try_out(case, alone)
    planned = plan_teachers(for_teaching(case, request, teaching), n_queries)
    watch.warn(planned.warning)
    return ReadyAnswerers(planned, teaching)
