"""The page as a browser without scripts sees it: sessions, roles, forms, sizes, and words from outside."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from stand_in import CLASSES, Served, StandInRun, serving

from mapl.data.tables.schema import Column, Schema
from mapl.errors import LedgerError
from mapl.pipeline.online.questions import QuestionForm
from mapl.release.ledger.chain import Record
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.service.access.sessions import COOKIE, QUIET
from mapl.service.app import ROUTES
from mapl.service.page.history import MOST_POINTS, History
from mapl.service.page.words import outcome_of
from mapl.service.settings import ServerSettings

HTMX = {"HX-Request": "true"}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running


@contextmanager
def browser(served: Served, *scopes: str) -> Iterator[httpx.Client]:
    """Lend a browser whose user has signed in with a key of these scopes."""
    with httpx.Client(base_url=served.url, follow_redirects=True, timeout=300, trust_env=False) as client:
        if scopes:
            page = client.post("/page/sign-in", data={"key": served.key(*scopes)})
            assert page.status_code == 200
            assert "Budget" in page.text
        yield client


def test_without_a_session_there_is_only_the_form_to_sign_in(served: Served) -> None:
    with browser(served) as client:
        page = client.get("/")
        assert 'name="key"' in page.text
        assert "Questions" not in page.text
        assert client.post("/page/sign-in", data={"key": "mapl_0_wrong"}).status_code == 401
        for method, path in (
            ("GET", "/page/budget"),
            ("GET", "/page/report"),
            ("POST", "/page/question"),
            ("POST", "/page/file/look"),
            ("POST", "/page/file/ask"),
            ("POST", "/page/keys"),
            ("POST", "/page/keys/abc/revoke"),
            ("POST", "/page/ledger-check"),
        ):
            assert client.request(method, path).status_code == 401


def test_the_cookie_is_for_this_site_only_and_is_no_key(served: Served) -> None:
    with httpx.Client(base_url=served.url, trust_env=False, timeout=300) as client:
        reply = client.post("/page/sign-in", data={"key": served.key("ask")})
        cookie = reply.headers["set-cookie"]
        assert reply.status_code == 303
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        token = served.key("ask")
        assert token not in cookie
        assert token.split("_", 2)[2] not in cookie  # whose secret may hold underscores of its own
        assert client.get("/v1/budget").status_code == 401  # no route of the API looks at cookies
        assert client.post("/v1/answers", json={"rows": [[5, "a"]]}).status_code == 401
        value = client.cookies[COOKIE]
        for forged in (value[:-1] + ("0" if value[-1] != "0" else "1"), value.replace(".", "..", 1), "", "a.b.c"):
            with httpx.Client(base_url=served.url, cookies={COOKIE: forged}, trust_env=False, timeout=300) as other:
                assert other.get("/page/budget").status_code == 401


def test_a_cookie_ends_with_its_session_and_a_page_renews_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)  # it stands still, however long this takes
    with browser(served, "ask") as client:
        stolen = client.cookies[COOKIE]

        def tried(cookie: str) -> int:
            return httpx.get(
                f"{served.url}/page/budget", cookies={COOKIE: cookie}, trust_env=False, timeout=300
            ).status_code

        assert tried(stolen) == 200
        monkeypatch.setattr(time, "time", lambda: now + QUIET - 1)
        client.get("/page/budget")
        monkeypatch.setattr(time, "time", lambda: now + QUIET + 1)
        assert tried(stolen) == 401
        assert tried(client.cookies[COOKIE]) == 200
        renewed = client.cookies[COOKIE]
        client.post("/page/sign-out")
        assert tried(renewed) == 401


def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_only(served: Served) -> None:
    with httpx.Client(base_url=served.url, trust_env=False, timeout=300) as client:
        for told, secure in (({"X-Forwarded-Proto": "https"}, True), ({}, False)):
            reply = client.post("/page/sign-in", data={"key": served.key("ask")}, headers=told)
            assert ("secure" in reply.headers["set-cookie"].lower()) is secure


def test_scopes_decide_what_the_page_shows_and_does(served: Served) -> None:
    with browser(served, "ask") as asking, browser(served, "read") as reading, browser(served, "admin") as admin:
        assert "Ask one question" in asking.get("/").text
        assert "API keys" not in asking.get("/").text
        assert "Ask one question" not in reading.get("/").text
        assert "API keys" in admin.get("/").text
        assert asking.post("/page/keys", data={"name": "x", "scope": "admin"}).status_code == 403
        assert asking.post("/page/ledger-check").status_code == 403
        assert reading.post("/page/question", data={"column-0": "5"}).status_code == 403
        assert admin.post("/page/question", data={"column-0": "5"}).status_code == 403


def test_a_form_from_another_site_is_refused(served: Served) -> None:
    with browser(served, "ask") as client:
        before = served.service.desk._clerk.ledger.spending("labels")
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.example"}):
            reply = client.post("/page/question", data={"column-0": "5"}, headers=headers)
            assert reply.status_code == 403
        assert served.service.desk._clerk.ledger.spending("labels") == before


def test_answer_and_abstention_are_equally_long() -> None:
    with serving(StandInRun(abstentions=100)) as served, browser(served, "ask") as client:
        sizes, said = set(), set()
        for i in range(12):
            clear = "7" if i % 2 else "0.1"
            reply = client.post("/page/question", data={"column-0": clear, "column-1": f"q{i}"}, headers=HTMX)
            assert reply.headers["hx-trigger"] == "asked"
            sizes.add(len(reply.content))
            said.add("none" if 'data-status="abstained"' in reply.text else "label")
        assert said == {"none", "label"}
        assert len(sizes) == 1


def test_without_scripts_the_answer_stands_in_the_whole_page(served: Served) -> None:
    with browser(served, "ask") as client:
        page = client.post("/page/question", data={"column-0": "9", "column-1": "no script"})
        assert "<strong>certainly</strong>" in page.text
        assert "Budget" in page.text


@pytest.mark.parametrize(
    "fields", [{"column-0": "9", "column-1": "named"}, {"column-0": "0", "column-1": "x" * 1990}]
)
def test_an_answer_names_the_row_it_is_about(served: Served, fields: dict[str, str]) -> None:
    with browser(served, "ask") as client:
        reply = client.post("/page/question", data=fields, headers=HTMX)
        assert f"<dt>x</dt><dd>{fields['column-0']}</dd>" in reply.text
        assert f"<dd>{fields['column-1']}</dd>" in reply.text


def test_an_outcome_has_one_length_and_no_answer_looks_like_no_class() -> None:
    classes = ("no", "none", "No answer.", "<b>&")
    said = {code: outcome_of(code, classes) for code in (-1, 0, 1, 2, 3)}
    assert len({len(one.encode()) for one in said.values()}) == 1
    assert all(("<strong>" in one) == (code >= 0) for code, one in said.items())
    assert all(('class="reply unanswered"' in one) == (code < 0) for code, one in said.items())
    assert "&lt;b&gt;&amp;" in said[3]


class BusyLedger(MemoryLedger):
    """A ledger that cannot be written for a while."""

    busy = False

    def exchange(self, *given: Any, **named: Any) -> Any:
        if self.busy:
            raise LedgerError("the disk of /srv/canary is full")
        return super().exchange(*given, **named)


def test_a_refusal_of_any_kind_is_a_part_that_replaces_the_answer() -> None:
    ledger = BusyLedger()
    with serving(ledger=ledger) as served, browser(served, "ask") as client:
        ledger.busy = True
        for headers in (HTMX, {}):
            refused = client.post("/page/question", data={"column-0": "9"}, headers=headers)
            assert refused.status_code == 503
            assert 'role="alert"' in refused.text
            assert "canary" not in refused.text
            assert "<strong>certainly</strong>" not in refused.text
        assert "Budget" in refused.text  # a browser without scripts has the whole page


CSV = 'note,x,more\n"a, b",9,z\nc,-9,\n\nc,-9,\n'


def test_a_file_is_looked_at_before_it_is_asked(served: Served) -> None:
    ledger = served.service.desk._clerk.ledger
    with browser(served, "ask") as client, browser(served, "read") as reading:
        before = ledger.spending("labels")
        looked = client.post("/page/file/look", content=CSV.encode())
        assert "<strong>3</strong> rows, <strong>2</strong> of them different" in looked.text
        assert "<strong>at most 2</strong>" in looked.text
        assert ledger.spending("labels") == before
        reply = client.post("/page/file/ask", content=CSV.encode())
        assert [one["label"] for one in reply.json()["answers"]] == ["certainly", "no", "no"]
        assert ledger.spending("labels").answered == before.answered + 2
        assert reading.post("/page/file/ask", content=CSV.encode()).status_code == 403
        foreign = client.post("/page/file/ask", content=CSV.encode(), headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lacks x, note"),
        (b"x\n1\n", "lacks note"),
        (b"x,note,x\n1,a,1\n", "names a column twice"),
        (b"x,note\n", "no rows"),
        (b"x,note\n1,a\n1\n", "Row 2 has 1 cells"),
        (b'x,note\n1,"a"b\n', "cannot be read as CSV after row 0"),
        (b"x,note\n1,a\nmany,b\n", "Row 2: "),
        (b"x,note\n1,\xff\n", "not in UTF-8"),
        (b"x,note\n" + b"1,a\n" * 31, "more than 30 rows"),
    ],
)
def test_a_file_that_is_not_as_declared_is_refused_in_words(content: bytes, words: str) -> None:
    with serving(settings=ServerSettings(most_rows=30)) as served, browser(served, "ask") as client:
        refused = client.post("/page/file/look", content=content)
        assert refused.status_code == 422
        assert words in refused.text
        asked = client.post("/page/file/ask", content=content)
        assert (asked.status_code, words in asked.json()["detail"]) == (422, True)
        assert served.ledger.spending("labels").answered == 0


def test_a_file_beyond_a_cap_or_the_budget_is_warned_of() -> None:
    with (
        serving(StandInRun(queries=1)) as served,
        httpx.Client(base_url=served.url, trust_env=False, timeout=300) as client,
    ):
        for token, words in (
            (served.key("ask", most=1), "may ask 1 more"),
            (served.key("ask"), "budget ends within"),
        ):
            client.post("/page/sign-in", data={"key": token})
            assert words in client.post("/page/file/look", content=CSV.encode()).text


def test_the_report_is_a_link_for_those_who_may_read_it(served: Served) -> None:
    with browser(served, "read") as client, browser(served, "ask") as asking:
        assert 'href="/page/report"' in client.get("/").text
        assert client.get("/page/report").text.startswith("<!DOCTYPE html>")
        assert 'href="/page/report"' not in asking.get("/").text
        assert asking.get("/page/report").status_code == 403


def test_what_cannot_be_read_is_refused_in_words_and_spends_nothing(served: Served) -> None:
    with browser(served, "ask") as client:
        ledger = served.service.desk._clerk.ledger
        before = ledger.spending("labels")
        reply = client.post("/page/question", data={"column-0": "<b>many</b>"}, headers=HTMX)
        assert "'x'" in reply.text or "&#39;x&#39;" in reply.text
        assert "<b>" not in reply.text
        assert client.post("/page/question", content=b"\xff\xfe=1", headers=HTMX).status_code == 422
        assert client.post("/page/question", content=b"a=1&" * 3000, headers=HTMX).status_code == 422
        assert client.post("/page/question", content=b"a" * (1 << 21), headers=HTMX).status_code == 413
        assert ledger.spending("labels") == before


def test_an_admin_makes_and_revokes_keys(served: Served) -> None:
    with browser(served, "admin") as admin:
        made = admin.post("/page/keys", data={"name": "<i>ward</i>", "scope": ["ask"], "most": "3"}, headers=HTMX)
        assert "&lt;i&gt;ward" in made.text
        assert "<i>" not in made.text
        token = made.text.split('<code id="fresh-key">')[1].split("</code>")[0]
        with served.client(token=token) as client:
            assert client.post("/v1/answers", json={"rows": [[5, "by ward"]]}).status_code == 200
            assert client.post("/v1/answers", json={"rows": [[5, str(i)] for i in range(3)]}).status_code == 429
        id = token.split("_")[1]
        assert admin.post(f"/page/keys/{id}/revoke", headers=HTMX).status_code == 200
        with served.client(token=token) as client:
            assert client.get("/v1/budget").status_code == 401
        assert admin.post("/page/keys/nobody/revoke").status_code == 404
        for wrong in ({"name": "", "scope": "ask"}, {"name": "a"}, {"name": "a", "scope": "root"}):
            assert 'role="alert"' in admin.post("/page/keys", data=wrong, headers=HTMX).text
        for cap in ("0", "-1", "1e3", "9" * 40):
            wrong = {"name": "a", "scope": "ask", "most": cap}
            assert 'role="alert"' in admin.post("/page/keys", data=wrong, headers=HTMX).text


def test_a_revoked_key_ends_its_sessions(served: Served) -> None:
    token = served.key("ask", most=5)
    with httpx.Client(base_url=served.url, follow_redirects=True, trust_env=False, timeout=300) as client:
        assert "Budget" in client.post("/page/sign-in", data={"key": token}).text
        served.ledger.revoke_key(token.split("_")[1])
        served.service.entrance.forget()
        assert 'name="key"' in client.get("/").text


def test_an_admin_checks_the_chain(served: Served) -> None:
    with browser(served, "admin") as admin:
        fine = admin.post("/page/ledger-check", headers=HTMX)
        assert served.ledger.head in fine.text
        assert 'role="alert"' in admin.post("/page/ledger-check", data={"seen": "0" * 64}, headers=HTMX).text


def test_the_api_is_told_in_words_by_this_server_alone(served: Served) -> None:
    with browser(served) as client:
        page = client.get("/docs")
        for method, path, _, scopes in ROUTES:
            assert f"<code>{method} {path}</code>" in page.text
            assert scopes == () or "401" in page.text
        assert "rows[].note" in page.text
        assert 'src="http' not in page.text
        assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_nothing_is_loaded_from_elsewhere(served: Served) -> None:
    with browser(served, "admin") as client:
        page = client.get("/")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "//" not in page.text.replace("<!doctype", "")
        assert client.get("/static/htmx.min.js").status_code == client.get("/static/page.js").status_code == 200
        assert client.get("/static/..%2Froutes.py").status_code == 404
        assert client.get("/static/htmx.LICENSE").status_code == 404


def test_an_ended_budget_is_said(served: Served) -> None:
    with serving(StandInRun(queries=2)) as short, browser(short, "ask") as client:
        for i in range(2):
            client.post("/page/question", data={"column-0": "9", "column-1": str(i)}, headers=HTMX)
        assert "used up" in client.get("/page/budget").text
        assert 'role="alert"' in client.post("/page/question", data={"column-0": "9"}, headers=HTMX).text


def test_every_kind_of_column_has_its_field() -> None:
    run = StandInRun()
    columns = (Column("x", "number"), Column("<ward>", "category", ("a&b", "c")), Column("at", "date"))
    run.schema = Schema((*columns, Column("note", "text")), "y", CLASSES.names)
    run.form = run.panel.form = QuestionForm(run.schema)
    with serving(run) as served, browser(served, "ask") as client:
        page = client.get("/").text
        assert "&lt;ward&gt;" in page
        assert "<option>a&amp;b</option>" in page
        answer = client.post(
            "/page/question",
            data={"column-0": "6", "column-1": "a&b", "column-2": "2026-01-02T03:04", "column-3": ""},
            headers=HTMX,
        )
        assert "<strong>certainly</strong>" in answer.text


def test_history_stays_short_and_keeps_its_ends() -> None:
    ledger, run = MemoryLedger(), StandInRun()
    ledger.open(run.plan.digest, Limits.of_plan(run.plan))
    first = ledger.entries()[0]
    values = {name: getattr(first, name) for name in Record.__slots__}
    history = History()
    for start in range(0, 3000, 500):
        history.take(
            [
                Record(**{**values, "number": n, "kind": "answers", "all_answered": n})
                for n in range(start, start + 500)
            ]
        )
    assert len(history.points) <= MOST_POINTS
    assert history.points[0].answered == 0
    assert history.points[-1].answered == 2999
    assert [p.entry for p in history.points] == sorted(p.entry for p in history.points)


def test_entries_about_keys_do_not_let_the_picture_fall_to_nothing() -> None:
    """They count no answers of their own: the curve fell to zero at its end and rose above its frame before."""
    with serving() as served, served.client() as client:
        asked = client.post("/v1/answers", json={"rows": [[5.0, "a"], [5.0, "b"]]})
        assert asked.status_code == 200
        served.key("read")
        history = History()
        history.take(served.ledger.entries())
        assert (history.points[-1].answered, history.seen) == (2, served.ledger.entries()[-1].number)
        assert served.ledger.entries()[-1].kind == "keys"
