"""Connections that do not end what they began: each is cut, and nobody else notices."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from stand_in import GatedPanel, Served, StandInRun, questions, serving

from mapl.service.settings import ServerSettings

PATIENCE = 300.0
"""Seconds that a test waits for what must come at some time."""

TRIES = 20

HEAD = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@contextmanager
def connection(served: Served) -> Iterator[socket.socket]:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as made:
        yield made


def all_of(one: socket.socket) -> bytes:
    """Return everything until the server ends the connection."""
    said = b""
    while part := one.recv(65_536):
        said += part
    return said


def ended(one: socket.socket) -> bool:
    try:
        return one.recv(100) == b""
    except ConnectionResetError:
        return True


def is_told(served: Served, said: bytes, *parts: bytes) -> bool:
    """Send something in parts, and say whether what comes back begins as it must.

    On a busy machine this test may itself run into the limit between two parts, so it tries again for a while.
    """
    for _ in range(TRIES):
        with connection(served) as slow, suppress(ConnectionResetError, BrokenPipeError):
            for part in parts:
                slow.sendall(part)
            if all_of(slow).startswith(said):
                return True
    return False


def send_until_refused(one: socket.socket, part: bytes) -> bool:
    """Send the same again and again; the other side resets the connection at some time, or this never ends."""
    try:
        while True:
            one.sendall(part)
    except (ConnectionResetError, BrokenPipeError):
        return True


@pytest.fixture(scope="module")
def hasty() -> Iterator[Served]:
    with serving(StandInRun(queries=2000), settings=ServerSettings(head_seconds=0.2, body_seconds=0.2)) as running:
        yield running


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", b""),
        (b"GET /healthz HT", b"HTTP/1.1 408 "),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half", b"HTTP/1.1 408 "),
        (HEAD % b"/page/sign-in" + b"Content-Length: 9\r\n\r\nkey=", b"HTTP/1.1 408 "),
        (HEAD % b"/page/sign-in" + b"Transfer-Encoding: chunked\r\n\r\n4\r\nkey=", b"HTTP/1.1 408 "),
        (HEAD % b"/v1/answers" + b"Content-Length: 9\r\n\r\n{", b"HTTP/1.1 401 "),
    ],
    ids=["nothing", "half a line", "half a head", "half a form", "half a chunk", "half a body without a key"],
)
def test_whoever_does_not_go_on_is_cut_off(hasty: Served, sent: bytes, said: bytes) -> None:
    assert is_told(hasty, said, sent)


def test_half_a_body_is_cut_with_a_key_too(hasty: Served) -> None:
    key = f"Authorization: Bearer {hasty.key()}\r\n".encode()
    assert is_told(hasty, b"HTTP/1.1 408 ", HEAD % b"/v1/answers" + key + b"Content-Length: 9\r\n\r\n{")


def test_a_second_request_of_a_connection_has_its_time_too(hasty: Served) -> None:
    for _ in range(TRIES):  # as in `is_told`
        with connection(hasty) as slow, suppress(ConnectionResetError, BrokenPipeError):
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            if slow.recv(4096).startswith(b"HTTP/1.1 200 "):
                slow.sendall(b"GET /healthz HTTP/1.1\r\n")
                if all_of(slow).startswith(b"HTTP/1.1 408 "):
                    return
    pytest.fail("a second request that does not go on is not told so")


def test_a_head_without_end_is_refused(hasty: Served) -> None:
    with connection(hasty) as endless:
        endless.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert send_until_refused(endless, b"X-Much: %b\r\n" % (b"y" * 1000))
    with connection(hasty) as long:
        long.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"y" * 70_000)
        assert b" 431 " in all_of(long)


def test_a_refused_body_is_not_listened_to_for_ever(hasty: Served) -> None:
    with connection(hasty) as endless:
        endless.sendall(HEAD % b"/v1/answers" + b"Transfer-Encoding: chunked\r\n\r\n")
        assert send_until_refused(endless, b"3e8\r\n%b\r\n" % (b"y" * 1000))


def test_what_follows_a_body_is_not_kept(hasty: Served) -> None:
    """Trailers count neither as headers nor as anything else."""
    body = b"POST /page/sign-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    trailers = b"".join(b"X-%d: y\r\n" % i for i in range(100)) + b"\r\n"
    assert is_told(hasty, b"HTTP/1.1 401 ", body, trailers)


def test_hundreds_of_slow_sign_ins_take_nobodys_place() -> None:
    """300 of them gave everybody 503 as long as requests were counted before they were whole."""
    patient = ServerSettings(head_seconds=PATIENCE, body_seconds=PATIENCE)
    with serving(StandInRun(), settings=patient) as served, ExitStack() as open_ones:
        for _ in range(300):
            slow = open_ones.enter_context(connection(served))
            slow.sendall(HEAD % b"/page/sign-in" + b"Content-Length: 9\r\n\r\nkey=")
        with served.client() as client:
            replies = [client.post("/v1/answers", json={"rows": questions(1, start=i)}) for i in range(20)]
        assert {reply.status_code for reply in replies} == {200}


def test_slow_uploads_of_one_key_are_no_others_trouble() -> None:
    few = ServerSettings(head_seconds=PATIENCE, body_seconds=PATIENCE, most_requests=4)
    with serving(settings=few) as served, ExitStack() as open_ones:
        key = f"Authorization: Bearer {served.key('ask')}\r\n".encode()
        for _ in range(4):
            slow = open_ones.enter_context(connection(served))
            slow.sendall(HEAD % b"/v1/answers" + key + b"Content-Length: 9\r\n\r\n{")
        with served.client("ask") as same, served.client() as other:
            while (reply := same.get("/v1/budget")).status_code == 200:
                pass  # the slow ones have not all come in
            assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")
            assert other.post("/v1/answers", json={"rows": questions(1)}).status_code == 200


def test_beyond_the_most_connections_the_one_that_waited_longest_goes() -> None:
    few = ServerSettings(head_seconds=PATIENCE, body_seconds=PATIENCE, most_connections=5)
    with serving(settings=few) as served, ExitStack() as open_ones:
        slow = [open_ones.enter_context(connection(served)) for _ in range(5)]
        for one in slow:
            one.sendall(b"GET /healthz HT")
        with served.client() as client:
            while client.get("/v1/plan").status_code == 503:  # until what the slow ones have sent was read
                time.sleep(0.01)
            assert client.get("/v1/plan").status_code == 200
        assert ended(slow[0])
        slow[4].sendall(b"TP/1.1\r\nHost: x\r\n\r\n")
        assert slow[4].recv(100).startswith(b"HTTP/1.1 200 ")


def test_where_all_places_are_taken_by_requests_whoever_comes_is_told_to_come_again() -> None:
    """Under threefold overload a quarter of all connections ended without a word."""
    few = ServerSettings(head_seconds=PATIENCE, body_seconds=PATIENCE, most_connections=3)
    panel = GatedPanel()
    with serving(StandInRun(panel=panel), settings=few) as served, ExitStack() as open_ones:
        key = f"Authorization: Bearer {served.key()}\r\n".encode()
        row = b'{"rows": [[5.0, "%d"]]}'

        def ask(i: int) -> socket.socket:
            made = open_ones.enter_context(connection(served))
            body = row % i
            made.sendall(HEAD % b"/v1/answers" + key + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            return made

        with panel.shut():
            at_work = [ask(i) for i in range(3)]
            while served.service.desk.waiting < 3:
                time.sleep(0.01)
            for i in range(3, 6):
                said = all_of(ask(i)).lower()
                assert said.startswith(b"http/1.1 503 ")
                assert b"\r\nretry-after: 1\r\n" in said
                assert b"urn:mapl:problem:overloaded" in said
        for one in at_work:
            assert one.recv(100).startswith(b"HTTP/1.1 200 ")
        assert panel.asked == 3


def test_whoever_gives_way_having_sent_nothing_is_told_so() -> None:
    few = ServerSettings(head_seconds=PATIENCE, body_seconds=PATIENCE, most_connections=2)
    with serving(settings=few) as served, ExitStack() as open_ones:
        silent = [open_ones.enter_context(connection(served)) for _ in range(2)]
        with served.client() as client:
            while client.get("/healthz").status_code == 503:  # until they have waited for a second
                time.sleep(0.05)
        assert all_of(silent[0]).startswith(b"HTTP/1.1 503 ")


def test_a_reply_that_nobody_reads_is_given_up() -> None:
    """A reader that stops must not keep its place, nor the reply in memory."""
    settings = ServerSettings(body_seconds=0.5)
    with serving(StandInRun(queries=40_000), settings=settings) as served:
        key = f"Authorization: Bearer {served.key()}\r\n".encode()
        host, port = served.url.removeprefix("http://").split(":")
        stuck = socket.socket()
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with stuck:
            stuck.settimeout(PATIENCE)
            stuck.connect((host, int(port)))
            asks = b"GET /static/htmx.min.js HTTP/1.1\r\nHost: x\r\n" + key + b"\r\n"
            assert send_until_refused(stuck, asks)


def test_requests_that_come_meanwhile_do_not_end_the_wait_for_a_reader() -> None:
    """Further heads took the deadline of a reply that nobody reads away, and the connection stayed for good."""
    settings = ServerSettings(head_seconds=30.0, body_seconds=0.2)
    ask = b"GET /static/htmx.min.js HTTP/1.1\r\nHost: x\r\n\r\n"
    with serving(StandInRun(queries=10), settings=settings) as served:
        host, port = served.url.removeprefix("http://").split(":")
        stuck = socket.socket()
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with stuck:
            stuck.settimeout(PATIENCE)
            stuck.connect((host, int(port)))
            with suppress(ConnectionResetError, BrokenPipeError):
                for _ in range(200):  # in pieces, so that some come while a reply waits for its reader
                    stuck.sendall(ask[:20])
                    time.sleep(0.005)
                    stuck.sendall(ask[20:])
            assert send_until_refused(stuck, ask)
