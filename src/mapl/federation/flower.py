"""Sites and coordinator on Flower: its nodes carry the same messages that files carry, and nothing else.

Every answer is noisy before Flower sees it, so its links, its server and its own aggregation are trusted with
nothing. Numbers travel as bytes: nothing is rounded on its way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mapl.errors import InvalidData, InvalidParameter
from mapl.federation.combination import Coordinator
from mapl.federation.masks import agree, mask, new_key
from mapl.federation.message import SiteAnswer
from mapl.federation.plan_folder import PlanFolder
from mapl.federation.rounds import Heard
from mapl.federation.site import Site
from mapl.pipeline.runs.folder import RunFolder

RECORD, HEARD, ANSWER = "mapl", "heard", "answer"
SITE, KEY, SITES, KEYS, SECRET = "site", "key", "sites", "keys", "secret"
PAUSE = 0.5


def site_of_node(context: Any) -> Site:
    """Return the site that a node is, by its configuration: plan, name, private and out."""
    words = ("plan", "name", "private", "out")
    plan, name, private, out = (
        str(_known(context.node_config, word, "node", "where the node is started")) for word in words
    )
    return Site(PlanFolder(Path(plan)), name, private, RunFolder(Path(out)))


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
        try:
            found = reply(dict(message.content[RECORD]), site_of(context), context.state)
        except Exception:  # whatever went wrong is for the site to know; its words do not travel
            found = {}
        return Message(RecordDict({RECORD: ConfigRecord(found)}), reply_to=message)

    app = ClientApp()
    app.query()(answer)
    return app


def reply(asked: Mapping[str, Any], site: Site, state: Any) -> dict[str, Any]:
    """Return what a site says to a question: a public key for masks, or its answer, plain or masked.

    An answer that was given before is found in the site's folder, so that being asked twice costs nothing.

    Parameters
    ----------
    state
        Where the node keeps the secret key of a round until it is asked for the answer.
    """
    from flwr.app import ConfigRecord

    if KEYS not in asked and HEARD not in asked:
        secret, public = new_key()
        state[RECORD] = ConfigRecord({SECRET: secret})
        return {SITE: site.name, KEY: public}
    heard = Heard.of_bytes(asked[HEARD], "What was heard") if asked[HEARD] else None
    found = site.sent(heard) or site.answer(heard)
    if KEYS in asked:
        others = dict(zip(asked[SITES], asked[KEYS], strict=True))
        del others[site.name]
        found = mask(found, agree(bytes(state[RECORD][SECRET]), others))
    return {ANSWER: found.to_bytes()}


def make_server_app(
    plan: Path | None = None,
    out: Path | None = None,
    *,
    timeout: float = 3600.0,
    fewest: int = 2,
    student: Any = None,
    masked: bool = False,
) -> Any:
    """Return the ServerApp of a coordinator: it asks round by round, and publishes as ``mapl combine`` does.

    Parameters
    ----------
    plan, out
        The folders of the plan and of the result; where they are missing, the run's configuration names them.
    timeout
        How many seconds a round waits for sites. One that does not answer is left out from then on.
    fewest
        With how many sites a round may go on.
    masked
        Whether sites mask their answers with each other, so that only sums are seen here. No promise rests on it.
    """
    from flwr.serverapp import ServerApp

    def run(grid: Any, context: Any) -> None:
        given = {"plan": plan, "out": out}
        told = {**context.run_config, **{word: one for word, one in given.items() if one is not None}}
        folders = [Path(str(_known(told, word, "run", "with flwr run"))) for word in given]
        coordinator = Coordinator(PlanFolder(folders[0]), RunFolder(folders[1]))
        carry_out(grid, coordinator, timeout, fewest, student, masked)

    app = ServerApp()
    app.main()(run)
    return app


def carry_out(grid: Any, coordinator: Coordinator, timeout: float, fewest: int, student: Any, masked: bool) -> None:
    """Ask all nodes, add up, and go on with those that answered until there is a student."""
    sites = coordinator.plan.read().sites
    nodes = _wait_for_nodes(grid, len(sites), timeout)
    answers: list[SiteAnswer] = []
    found: Any = Heard("")
    while isinstance(found, Heard):
        ask = _ask_masked if masked else _ask
        told = ask(grid, nodes, found.to_bytes() if found.rounds else b"", timeout, fewest)
        if len(told) < fewest:
            raise InvalidData(
                f"{len(told)} sites answered, and at least {fewest} are waited for; look at the sites' own "
                "messages. What sites answered stays on record there."
            )
        nodes = list(told)
        answers += told.values()
        left_out = [name for name in sites if name not in {one.site for one in told.values()}]
        found = coordinator.combine(answers, left_out=left_out, student=student)


def _known(told: Mapping[str, Any], word: str, whose: str, where: str) -> Any:
    """Return what a configuration says, or tell what it lacks."""
    if told.get(word) is None:
        raise InvalidParameter(f"The {whose}'s configuration lacks {word!r}; give it {where}.")
    return told[word]


def _wait_for_nodes(grid: Any, wanted: int, timeout: float) -> list[int]:
    """Return the nodes that are there, as soon as there are enough, or when time is up."""
    until = time.monotonic() + timeout
    nodes = list(grid.get_node_ids())
    while len(nodes) < wanted and time.monotonic() < until:
        time.sleep(PAUSE)
        nodes = list(grid.get_node_ids())
    return nodes


def _ask(grid: Any, nodes: list[int], heard: bytes, timeout: float, fewest: int) -> dict[int, SiteAnswer]:
    """Return what nodes answer; those that failed, died or took too long are missing."""
    return _answers(_send(grid, nodes, {HEARD: heard}, ANSWER, timeout))


def _ask_masked(grid: Any, nodes: list[int], heard: bytes, timeout: float, fewest: int) -> dict[int, SiteAnswer]:
    """Return answers that are masked with each other; where one is missing, the others are masked anew."""
    while True:
        keys = _send(grid, nodes, {}, KEY, timeout)
        names = [str(one[SITE]) for one in keys.values()]
        if len(set(names)) < len(names):
            raise InvalidData("Two nodes say that they are the same site; correct the configuration of one.")
        asked = {HEARD: heard, SITES: names, KEYS: [bytes(one[KEY]) for one in keys.values()]}
        told = _answers(_send(grid, list(keys), asked, ANSWER, timeout)) if len(keys) >= fewest else {}
        if len(told) == len(keys) or len(told) < fewest:
            return told
        nodes = list(told)


def _answers(replies: Mapping[int, Mapping[str, Any]]) -> dict[int, SiteAnswer]:
    return {node: SiteAnswer.of_bytes(bytes(one[ANSWER]), "What a node sent") for node, one in replies.items()}


def _send(
    grid: Any, nodes: list[int], asked: Mapping[str, Any], wanted: str, timeout: float
) -> dict[int, dict[str, Any]]:
    """Ask nodes, and return what they say; those that failed, died or took too long are missing."""
    from flwr.app import ConfigRecord, Message, MessageType, RecordDict

    messages = [
        Message(RecordDict({RECORD: ConfigRecord(dict(asked))}), dst_node_id=node, message_type=MessageType.QUERY)
        for node in nodes
    ]
    said = {}
    for one in grid.send_and_receive(messages, timeout=timeout):
        content = {} if one.has_error() else dict(one.content[RECORD])
        if wanted in content:
            said[one.metadata.src_node_id] = content
    return said
