"""Keys over the API: made, listed and revoked by admins alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from stand_in import Served, serving

REFUSED_ENDS = (
    *(
        4_000_000_000,
        "",
        "soon",
        "0d",
        "-1d",
        "100000d",
        "2001-01-01",
        "9999-12-31",
        "2027-13-01",
        "9" * 50,
        ["1d"],
    ),
    *("0001-01-01T00:00+23:59", "9999-12-31T23:59-23:59"),
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running


def test_a_key_is_made_used_listed_and_revoked(served: Served) -> None:
    with served.client("admin") as admin:
        made = admin.post("/v1/keys", json={"name": "Ward 7", "scopes": ["ask"], "most": 2}).json()
        token = made.pop("key")
        assert made | {"id": ""} == {
            "id": "",
            "name": "Ward 7",
            "scopes": ["ask"],
            "most": 2,
            "taken": 0,
            "revoked": False,
            "expires": None,
        }
        with served.client(token=token) as ward:
            assert ward.post("/v1/answers", json={"rows": [[5.0, "by the ward"]]}).status_code == 200
            assert ward.get("/v1/keys").status_code == 403
            listed = admin.get("/v1/keys")
            assert made | {"taken": 1} in listed.json()["keys"]
            assert token not in listed.text
            revoked = admin.post(f"/v1/keys/{made['id']}/revoke").json()
            assert revoked == made | {"taken": 1, "revoked": True}
            assert ward.get("/v1/budget").status_code == 401
        assert admin.post(f"/v1/keys/{made['id']}/revoke").json() == revoked
        for nobody in ("nobody", "%00", "ä"):
            assert admin.post(f"/v1/keys/{nobody}/revoke").status_code == 404


def test_a_key_ends_when_it_was_told_to(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with served.client("admin") as admin:
        began = time.time()
        made = admin.post("/v1/keys", json={"name": "Guest", "scopes": ["read"], "expires": "12h"}).json()
        assert began + 12 * 3600 - 1 <= made["expires"] <= time.time() + 12 * 3600
        day = admin.post("/v1/keys", json={"name": "Day", "scopes": ["read"], "expires": "2150-01-31"}).json()
        assert datetime.fromtimestamp(day["expires"], UTC) == datetime(2150, 2, 1, tzinfo=UTC)
        listed = {one["id"]: one["expires"] for one in admin.get("/v1/keys").json()["keys"]}
        assert (listed[made["id"]], listed[day["id"]]) == (made["expires"], day["expires"])
        with served.client(token=made["key"]) as guest, served.client(token=day["key"]) as other:
            assert guest.get("/v1/budget").status_code == 200
            later = made["expires"]
            monkeypatch.setattr("mapl.service.access.entrance.time.time", lambda: float(later))
            assert guest.get("/v1/budget").status_code == 401
            assert other.get("/v1/budget").status_code == 200


def test_a_key_is_rotated_with_and_without_an_overlap(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with served.client("admin") as admin:

        def made(**more: Any) -> dict[str, Any]:
            return dict(admin.post("/v1/keys", json={"name": "Ward", "scopes": ["ask"], **more}).json())

        capped = made(most=3)
        with served.client(token=capped["key"]) as old:
            assert old.post("/v1/answers", json={"rows": [[5.0, "before it is rotated"]]}).status_code == 200
            for odd in ({"overlap": "1d"}, {"most": 9}, {"expires": "soon"}, {"overlap": 7}, []):
                assert admin.post(f"/v1/keys/{capped['id']}/rotate", json=odd).status_code == 422
            new = admin.post(f"/v1/keys/{capped['id']}/rotate", json={"expires": "90d"}).json()
            assert (new["name"], new["scopes"], new["most"], new["taken"]) == ("Ward", ["ask"], 2, 0)
            assert new["expires"] > time.time()
            assert old.get("/v1/budget").status_code == 401
        with served.client(token=new["key"]) as ward:
            assert ward.get("/v1/budget").status_code == 200
        again = admin.post(f"/v1/keys/{capped['id']}/rotate", json={})
        assert (again.status_code, again.json()["type"]) == (422, "urn:mapl:problem:invalid")
        assert admin.post("/v1/keys/000000000000/rotate", json={}).status_code == 404
        guest = made(expires="12h")
        kept = admin.post(f"/v1/keys/{guest['id']}/rotate", json={}).json()
        assert kept["expires"] == guest["expires"]
        monkeypatch.setattr("mapl.service.access.key_routes.time.time", lambda: float(kept["expires"]))
        late = admin.post(f"/v1/keys/{kept['id']}/rotate", json={})
        assert (late.status_code, "has ended" in late.json()["detail"]) == (422, True)
        monkeypatch.undo()
        free = made()
        beside = admin.post(f"/v1/keys/{free['id']}/rotate", json={"overlap": "12h"}).json()
        for token in (free["key"], beside["key"]):
            with served.client(token=token) as ward:
                assert ward.get("/v1/budget").status_code == 200
        ends = {one["id"]: one["expires"] for one in admin.get("/v1/keys").json()["keys"]}
        assert (ends[free["id"]] is not None, ends[beside["id"]]) == (True, None)


@pytest.mark.parametrize(
    "body",
    [
        *([], {}, {"name": "a"}, {"name": "", "scopes": ["ask"]}, {"name": "a", "scopes": ["root"]}),
        *({"name": "a", "scopes": "ask"}, {"name": "a", "scopes": ["ask"], "most": 0}),
        *({"name": "a", "scopes": ["ask"], "most": True}, {"name": "a", "scopes": ["ask"], "key": "mine"}),
        {"name": "a", "scopes": ["ask"], "most": 2**60},
        *({"name": "a", "scopes": ["ask"], "expires": when} for when in REFUSED_ENDS),
    ],
)
def test_what_is_no_key_is_refused(served: Served, body: Any) -> None:
    with served.client("admin") as admin:
        before = admin.get("/v1/keys").content
        refused = admin.post("/v1/keys", json=body)
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:mapl:problem:invalid")
        assert admin.get("/v1/keys").content == before
