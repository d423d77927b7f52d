"""Sites and coordinator on Flower: its nodes carry the same messages that files carry, and nothing else.

Every answer is noisy before Flower sees it, so its links, its server and its own aggregation are trusted with
nothing. Numbers travel as bytes: nothing is rounded on its way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mapl.errors import InvalidData, InvalidParameter
from mapl.federation.combination import Coordinator
from mapl.federation.message import SiteAnswer
from mapl.federation.plan_folder import PlanFolder
from mapl.federation.rounds import Heard
from mapl.federation.site import Site
from mapl.pipeline.runs.folder import RunFolder

RECORD, HEARD, ANSWER = "mapl", "heard", "answer"
PAUSE = 0.5


def site_of_node(context: Any) -> Site:
    """Return the site that a node is, by its configuration: plan, name, private and out."""
    told = context.node_config
    missing = [word for word in ("plan", "name", "private", "out") if word not in told]
    if missing:
        raise InvalidParameter(f"The node's configuration lacks {missing[0]!r}; give it where the node is started.")
    plan, folder = PlanFolder(Path(str(told["plan"]))), RunFolder(Path(str(told["out"])))
    return Site(plan, str(told["name"]), str(told["private"]), folder)


def make_client_app(site_of: Callable[[Any], Site] = site_of_node) -> Any:
    """Return the ClientApp of a site: every question is answered as ``mapl site`` does.

    Parameters
    ----------
    site_of
        Returns the site that a node is, given its context.
    """
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    def answer(message: Any, context: Any) -> Any:
        heard = bytes(message.content[RECORD][HEARD])
        try:
            found = site_of(context).answer(Heard.of_bytes(heard, "What was heard") if heard else None).to_bytes()
        except Exception:  # whatever went wrong is for the site to know; its words do not travel
            found = b""
        return Message(RecordDict({RECORD: ConfigRecord({ANSWER: found})}), reply_to=message)

    app = ClientApp()
    app.query()(answer)
    return app


def make_server_app(plan: Path, out: Path, *, timeout: float = 3600.0, fewest: int = 2, student: Any = None) -> Any:
    """Return the ServerApp of a coordinator: it asks round by round, and publishes as ``mapl combine`` does.

    Parameters
    ----------
    timeout
        How many seconds a round waits for sites. One that does not answer is left out from then on.
    fewest
        With how many sites a round may go on.
    """
    from flwr.serverapp import ServerApp

    def run(grid: Any, context: Any) -> None:
        carry_out(grid, Coordinator(PlanFolder(plan), RunFolder(out)), timeout, fewest, student)

    app = ServerApp()
    app.main()(run)
    return app


def carry_out(grid: Any, coordinator: Coordinator, timeout: float, fewest: int, student: Any) -> None:
    """Ask all nodes, add up, and go on with those that answered until there is a student."""
    sites = coordinator.plan.read().sites
    nodes = _wait_for_nodes(grid, len(sites), timeout)
    answers: list[SiteAnswer] = []
    found: Any = Heard("")
    while isinstance(found, Heard):
        told = _ask(grid, nodes, found.to_bytes() if found.rounds else b"", timeout)
        if len(told) < fewest:
            raise InvalidData(
                f"{len(told)} sites answered, and at least {fewest} are waited for; look at the sites' own "
                "messages. What sites answered stays on record there."
            )
        nodes = list(told)
        answers += told.values()
        left_out = [name for name in sites if name not in {one.site for one in told.values()}]
        found = coordinator.combine(answers, left_out=left_out, student=student)


def _wait_for_nodes(grid: Any, wanted: int, timeout: float) -> list[int]:
    """Return the nodes that are there, as soon as there are enough, or when time is up."""
    until = time.monotonic() + timeout
    nodes = list(grid.get_node_ids())
    while len(nodes) < wanted and time.monotonic() < until:
        time.sleep(PAUSE)
        nodes = list(grid.get_node_ids())
    return nodes


def _ask(grid: Any, nodes: list[int], heard: bytes, timeout: float) -> dict[int, SiteAnswer]:
    """Return what nodes answer; those that failed, died or took too long are missing."""
    from flwr.app import ConfigRecord, Message, MessageType, RecordDict

    asked = [
        Message(
            RecordDict({RECORD: ConfigRecord({HEARD: heard})}), dst_node_id=node, message_type=MessageType.QUERY
        )
        for node in nodes
    ]
    told = {}
    for reply in grid.send_and_receive(asked, timeout=timeout):
        content = b"" if reply.has_error() else bytes(reply.content[RECORD][ANSWER])
        if content:
            told[reply.metadata.src_node_id] = SiteAnswer.of_bytes(content, "What a node sent")
    return told
