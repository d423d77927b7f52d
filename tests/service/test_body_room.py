"""Memory for requests: what is here, what it becomes, who waits and who is refused."""

from __future__ import annotations

import asyncio
import tracemalloc
from contextlib import ExitStack

import orjson
import pytest

from mapl.service.answering.body_room import BodyRoom, parsed_size
from mapl.service.problem import Problem


def test_one_caller_fills_half_of_the_room_and_all_of_them_all() -> None:
    room = BodyRoom(100)
    with ExitStack() as held:
        mine, also_mine, theirs, last = (held.enter_context(room.body(who)) for who in ("a", "a", "b", "c"))
        mine.add(b"x" * 30)
        with pytest.raises(Problem, match="Too many large requests"):
            also_mine.add(b"x" * 21)
        also_mine.add(b"x" * 20)
        theirs.add(b"x" * 45)
        with pytest.raises(Problem, match="Too many large requests") as refused:
            last.add(b"x" * 6)
        assert (refused.value.kind.status, refused.value.headers) == (503, {"Retry-After": "1"})
    with room.body("a") as again:
        again.add(b"x" * 50)


@pytest.mark.parametrize(
    "cell",
    ["[]", "{}", "1.5", "null", '"ab"', '""', '{"a":1}', "[[1]]", "123456789012", '"\\u20ac\U0001f600 abc"', "0"],
)
def test_a_text_never_becomes_more_than_was_estimated(cell: str) -> None:
    body = bytearray(f'{{"rows":[{",".join([cell] * 20_000)}]}}'.encode())
    tracemalloc.start()
    try:
        rows = orjson.loads(body)
        became = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(rows["rows"]) == 20_000
    assert became <= parsed_size(body)


def test_a_few_megabytes_of_brackets_are_refused_before_they_are_parsed() -> None:
    async def scene() -> None:
        with pytest.raises(Problem, match="too many cells"):
            async with BodyRoom(1 << 20).parsing(bytearray(b"[]," * 20_000)):
                raise AssertionError("it was let in")

    asyncio.run(scene())


def test_parsing_waits_in_line_and_small_bodies_pass() -> None:
    async def scene() -> None:
        room, done = BodyRoom(64_000), []

        async def parse(name: str, size: int, go: asyncio.Event) -> None:
            async with room.parsing(bytearray(size)):
                done.append(name)
                await go.wait()

        first, rest = asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(parse("large", 60_000, first))]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(parse(name, 40_000, rest)) for name in ("second", "third", "gone")]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(parse("small", 500, rest)))
        await asyncio.sleep(0)
        assert done == ["large", "small"]
        tasks[3].cancel()
        first.set()
        for _ in range(20):  # more turns of the loop than anybody needs to come in; the clock has no say
            await asyncio.sleep(0)
        assert done == ["large", "small", "second"]
        rest.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert done == ["large", "small", "second", "third"]
        async with room.parsing(bytearray(64_000)):
            pass  # all room is there again

    asyncio.run(scene())
