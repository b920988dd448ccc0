"""SEC-06: another site, another host or half a credential never gets in, on any route."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shipmate.handlers.place import Place
from shipmate.handlers.route import Endpoint
from shipmate.handlers.table import ENDPOINTS
from tests.handlers.client import HOST, Answered, ask
from tests.handlers.house import Whole, whole


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path) as house:
        yield house


JSON = ("content-type", "application/json")
GUARDED = [one for one in ENDPOINTS if one.scope != "public"]


def target(one: Endpoint) -> str:
    return re.sub(r"\{\w+(:path)?\}", "x", one.path)


def name(one: Endpoint) -> str:
    return f"{one.method} {one.path}"


async def signed_in(house: Whole) -> tuple[str, str]:
    """The cookie pair and the header token of a fresh sign-in."""
    body = b'{"token": "%s"}' % house.keys.invite().encode()
    answer = await ask(house.gate, "POST", "/api/auth/exchange", headers=[JSON], body=body)
    assert answer.status == 200
    return answer.headers["set-cookie"].partition(";")[0], answer.json["token"]


async def attempt(house: Whole, one: Endpoint, *extra: tuple[str, str]) -> Answered:
    body = b"{}" if one.method != "GET" else b""
    headers = [*extra, *([JSON] if body and not any(n == "content-type" for n, _ in extra) else [])]
    return await ask(house.gate, one.method, target(one), headers=headers, body=body)


@pytest.mark.parametrize("one", GUARDED, ids=name)
async def test_no_route_answers_without_both_halves_or_a_token(house: Whole, one: Endpoint) -> None:
    cookie, header = await signed_in(house)
    other_cookie, other_header = await signed_in(house)
    half = [
        [],
        [("cookie", cookie)],
        [("x-shipmate-token", header)],
        [("cookie", cookie), ("x-shipmate-token", other_header)],
        [("cookie", other_cookie), ("x-shipmate-token", header)],
        [("cookie", cookie), ("x-shipmate-token", cookie.partition("=")[2])],
        [("cookie", f"shipmate-9999={cookie.partition('=')[2]}"), ("x-shipmate-token", header)],
        [("cookie", "shipmate-8765="), ("x-shipmate-token", "")],
        [("authorization", f"Bearer {header}")],
        [("authorization", "Bearer ")],
        [("authorization", "Basic dTpw")],
        [("cookie", cookie), ("x-shipmate-token", header), ("authorization", "Bearer sm_no")],
    ]
    for headers in half:
        assert (await attempt(house, one, *headers)).status == 401, headers


@pytest.mark.parametrize("one", ENDPOINTS, ids=name)
async def test_no_route_answers_to_another_host_or_origin(house: Whole, one: Endpoint) -> None:
    cookie, header = await signed_in(house)
    good = [("cookie", cookie), ("x-shipmate-token", header)]
    for host in ("evil.test:8765", "127.0.0.1", "127.0.0.1:8766", "127.0.0.1:8765.evil.test", ""):
        assert (await attempt(house, one, *good, ("host", host))).status == 421, host
    twice = [("host", HOST), ("host", "evil.test")]
    assert (await attempt(house, one, *good, *twice)).status == 421
    for origin in ("https://evil.test", "null", f"https://{HOST}", "http://127.0.0.1:1", "*"):
        assert (await attempt(house, one, *good, ("origin", origin))).status == 403, origin


@pytest.mark.parametrize("one", [e for e in ENDPOINTS if e.method != "GET"], ids=name)
async def test_only_json_of_a_bounded_size_is_read(house: Whole, one: Endpoint) -> None:
    cookie, header = await signed_in(house)
    good = [("cookie", cookie), ("x-shipmate-token", header), ("origin", f"http://{HOST}")]
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"):
        answer = await attempt(house, one, *good, ("content-type", kind))
        assert answer.status == 415, kind
    big = b" " * (one.limit + 1)
    path = target(one)
    answer = await ask(house.gate, one.method, path, headers=[*good, JSON], body=big)
    assert answer.status == 413
    lying = [*good, JSON, ("content-length", "2"), ("transfer-encoding", "chunked")]
    answer = await ask(house.gate, one.method, path, headers=lying, body=big)
    assert answer.status == 413


@pytest.mark.parametrize("one", ENDPOINTS, ids=name)
async def test_a_preflight_gets_no_permission(house: Whole, one: Endpoint) -> None:
    asks = [("origin", f"http://{HOST}"), ("access-control-request-method", "POST")]
    answer = await ask(house.gate, "OPTIONS", target(one), headers=asks)
    assert answer.status == 405
    assert not any(key.startswith("access-control") for key in answer.headers)


@pytest.mark.parametrize("scope", ["read", "run", "approve", "admin"])
async def test_a_token_opens_only_what_its_scopes_name(house: Whole, scope: str) -> None:
    _, secret = await house.keys.create_token("ci", [scope])
    for one in GUARDED:
        answer = await attempt(
            house, one, ("authorization", f"Bearer {secret}"), ("content-type", "text/plain")
        )
        allowed = scope == "admin" or one.scope in ("read", scope)
        assert (answer.status == 403) != allowed, (name(one), answer)
        told = answer.status if allowed else answer.json["code"]
        assert told in (415, 422, "scope"), (name(one), answer)


async def test_every_answer_carries_the_security_headers(house: Whole) -> None:
    answers = [
        await ask(house.gate, "GET", "/api/auth/me"),
        await ask(house.gate, "GET", "/nothing-here"),
        await ask(house.gate, "GET", "/api/auth/me", headers=[("host", "evil.test")]),
        await ask(house.gate, "PUT", "/api/auth/exchange"),
    ]
    assert [answer.status for answer in answers] == [401, 404, 421, 405]
    for answer in answers:
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert set(answer.json) == {"code", "detail"}


async def test_a_sign_in_link_works_once(house: Whole) -> None:
    body = b'{"token": "%s"}' % house.keys.invite().encode()
    exchange = "/api/auth/exchange"
    first = await ask(house.gate, "POST", exchange, headers=[JSON], body=body)
    second = await ask(house.gate, "POST", exchange, headers=[JSON], body=body)
    assert (first.status, second.status) == (200, 401)
    assert second.json["code"] == "link_used"
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Max-Age=2592000" in cookie


async def test_signing_out_ends_the_sign_in(house: Whole) -> None:
    cookie, header = await signed_in(house)
    good = [("cookie", cookie), ("x-shipmate-token", header)]
    assert (await ask(house.gate, "GET", "/api/auth/me", headers=good)).json["name"] == "user"
    assert (await ask(house.gate, "POST", "/api/auth/sign-out", headers=good)).status == 204
    assert (await ask(house.gate, "GET", "/api/auth/me", headers=good)).status == 401


async def test_a_wrong_body_is_answered_with_the_field_and_its_place(house: Whole) -> None:
    path = "/api/auth/exchange"
    wrong = {
        b'{"token": 3}': (422, "$.token"),
        b"{}": (422, "token"),
        b'{"token": "x", "extra": 1}': (422, "extra"),
        b'{"token": ': (400, "JSON"),
        b'{"token": "\xff"}': (400, "JSON"),
        b"[]": (422, "array"),
    }
    for body, (status, word) in wrong.items():
        answer = await ask(house.gate, "POST", path, headers=[JSON], body=body)
        assert answer.status == status, (body[:20], answer)
        assert word in answer.json["detail"]


async def test_a_wrong_query_is_answered_with_the_field(house: Whole) -> None:
    _, secret = await house.keys.create_token("ci", ["read"])
    bearer = [("authorization", f"Bearer {secret}")]
    answer = await ask(house.gate, "GET", "/api/auth/me?colour=red", headers=bearer)
    assert answer.status == 422
    assert "colour" in answer.json["detail"]


async def test_a_server_that_ends_takes_nothing_new(house: Whole) -> None:
    house.gate.house.closing.set()
    answer = await ask(house.gate, "GET", "/api/auth/me")
    assert (answer.status, answer.json["code"]) == (503, "closing")


def test_a_public_url_adds_exactly_one_host_and_origin() -> None:
    place = Place.at(8765, "https://ship.example.org")
    assert place.origins["ship.example.org"] == "https://ship.example.org"
    assert place.secure
    assert len(place.origins) == 4
