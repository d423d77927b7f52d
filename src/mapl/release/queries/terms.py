"""Whether a query was made for the neighbours and the unit that the statement of its answers will name."""

from __future__ import annotations

from typing import Any

from mapl.data.units.bags import Bagged
from mapl.errors import InvalidParameter
from mapl.release.queries.query import MOVES, MostRight, TopCategory
from mapl.types import Adjacency


def refuse_other_data(data: Any, *, unit: str | None) -> None:
    """Refuse bags that know rows by their content where units of ids are to be promised.

    One unit could then be in more bags than was declared: with several rows, or as soon as a row is replaced.
    """
    if unit is not None and isinstance(data, Bagged) and data.by_content:
        raise InvalidParameter(
            f"The unit is {unit}, and the rows were put into bags by their content; give whose each row is: "
            "Bagged.of(..., groups=ids). Or leave the unit away where every row is one."
        )


def refuse_other_terms(query: Any, *, adjacency: Adjacency, unit: str | None) -> None:
    """Refuse a query of mapl whose distance is too large for the adjacency, or counts other units.

    Of other queries nothing is known; their contract is an assumption of the statement.
    """
    if not isinstance(query, (TopCategory, MostRight)):
        return
    if MOVES[query.adjacency] < MOVES[adjacency]:
        raise InvalidParameter(
            f"The query {query.name!r} was made for the adjacency {query.adjacency}, and the answers are promised "
            f"for {adjacency}, where one unit moves more; make it with adjacency={adjacency!r}."
        )
    if isinstance(query, TopCategory) and query.unit != unit:
        counted, promised = ("every row" if one is None else f"every {one}" for one in (query.unit, unit))
        raise InvalidParameter(
            f"The query {query.name!r} counts {counted} once, and the answers are promised for {promised}; give "
            "query and answers the same unit."
        )
    if isinstance(query, MostRight) and adjacency == "add-remove" and unit is not None:
        raise InvalidParameter(
            f"The query {query.name!r} counts every record, and the answers are promised for all records of one "
            f"{unit}; leave the unit away, and hand over one record of each."
        )
