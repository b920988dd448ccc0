"""Users with passwords: what is somebody else's is not there, who is shut out is out at once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from shipmate.handlers.table import ENDPOINTS
from shipmate.llm.prices import Spent
from shipmate.llm.scripted import call, say
from tests.handlers.client import Answered, ask
from tests.handlers.fitting import body_of, query_of, target
from tests.handlers.house import Whole, whole

JSON = ("content-type", "application/json")
PASSWORD = "correct horse battery"
CHAT = "/api/agent/chat"


class Person:
    """A browser that has signed in with a password."""

    def __init__(self, house: Whole, name: str) -> None:
        self.house, self.name = house, name
        self.headers: list[tuple[str, str]] = []

    async def sign_in(self, password: str = PASSWORD) -> Answered:
        body = msgspec.json.encode({"name": self.name, "password": password})
        path = "/api/auth/sign-in"
        answer = await ask(self.house.gate, "POST", path, headers=[JSON], body=body)
        if answer.status == 200:
            cookie = answer.headers["set-cookie"].partition(";")[0]
            self.headers = [("cookie", cookie), ("x-shipmate-token", answer.json["token"])]
        return answer

    async def call(self, method: str, target: str, body: Any = None) -> Answered:
        data = b"" if body is None else msgspec.json.encode(body)
        headers = [*self.headers, *([JSON] if data else [])]
        return await ask(self.house.gate, method, target, headers=headers, body=data)

    async def begin(self, **fields: Any) -> Answered:
        said = {"project": "demo", "provider": "scripted/demo", "task": "hi", **fields}
        return await self.call("POST", CHAT, said)


async def person(house: Whole, name: str, role: str) -> Person:
    body = {"name": name, "role": role, "password": PASSWORD}
    made = await house.call("POST", "/api/users", msgspec.json.encode(body))
    assert made.status == 201, made
    one = Person(house, name)
    assert (await one.sign_in()).status == 200
    return one


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path, [say("Done.") for _ in range(20)]) as house:
        yield house


@pytest.fixture
async def people(house: Whole) -> list[Person]:
    """An admin, two users who may use the project, a viewer."""
    roles = {"ada": "admin", "bo": "user", "cy": "user", "di": "viewer"}
    made = [await person(house, name, role) for name, role in roles.items()]
    body = b'{"people": ["bo", "cy"]}'
    assert (await house.call("PATCH", "/api/projects/demo", body)).status == 200
    return made


async def test_the_first_user_is_an_admin_and_owns_what_was_there(house: Whole) -> None:
    body = b'{"project": "demo", "provider": "scripted/demo", "task": "hi"}'
    before = (await house.call("POST", CHAT, body)).json["session"]["id"]
    refused = b'{"name": "bo", "role": "user", "password": "correct horse battery"}'
    assert (await house.call("POST", "/api/users", refused)).status == 400
    ada = await person(house, "ada", "admin")
    (row,) = (await ada.call("GET", "/api/agent/sessions")).json["sessions"]
    assert (row["id"], row["owner"]) == (before, "ada")
    (project,) = (await ada.call("GET", "/api/projects")).json["projects"]
    assert project["owner"] == "ada"
    (token,) = (await ada.call("GET", "/api/auth/tokens")).json["tokens"]
    assert token["user"] == "ada"


OF_A_SESSION = [
    one
    for one in ENDPOINTS
    if one.path.startswith("/api/agent/sessions/{id}")
    or any("session" in getattr(kind, "__struct_fields__", ()) for kind in (one.body, one.query))
]


@pytest.mark.parametrize("one", OF_A_SESSION, ids=lambda one: f"{one.method} {one.path}")
async def test_a_session_of_somebody_else_is_not_there(people: list[Person], one: Any) -> None:
    """The same answer as for one that never was, whatever the endpoint."""
    _, bo, cy, di = people
    session = (await bo.begin()).json["session"]["id"]
    if "import" in one.path:
        pytest.skip("it names no session that is there")

    async def tried(who: Person, named: str) -> Answered:
        path = target(one, id=named)
        if one.body is not None:
            return await who.call(one.method, path, body_of(one, session=named))
        return await who.call(one.method, f"{path}?{urlencode(query_of(one, session=named))}")

    for who in (cy, di):
        theirs, nowhere = await tried(who, session), await tried(who, "nowhere")
        assert theirs.status == nowhere.status, (theirs, nowhere)
        assert theirs.status in {404, 403}
        assert theirs.body.replace(session.encode(), b"nowhere") == nowhere.body


async def test_lists_streams_and_figures_tell_of_ones_own_only(people: list[Person]) -> None:
    ada, bo, cy, _ = people
    session = (await bo.begin()).json["session"]["id"]
    for who, seen in ((bo, True), (cy, False), (ada, False)):
        rows = (await who.call("GET", "/api/agent/sessions")).json["sessions"]
        assert (session in [row["id"] for row in rows]) == seen, who.name
    everybodys = (await ada.call("GET", "/api/agent/sessions?owner=all")).json["sessions"]
    assert session in [row["id"] for row in everybodys]
    assert (await cy.call("GET", "/api/agent/sessions?owner=all")).json["sessions"] == []
    assert (await cy.call("GET", "/api/agent/sessions?owner=bo")).json["sessions"] == []
    spent = Spent("scripted/demo", prompt=7)
    await ada.house.executor.store.write(session, row={"usage": spent})
    used = [(await who.call("GET", "/api/usage")).json["tokens"] for who in (bo, cy, ada)]
    assert used == [7, 0, 7]


async def test_the_stream_of_all_rows_leaks_nothing(house: Whole, people: list[Person]) -> None:
    _, bo, cy, _ = people
    session = (await bo.begin()).json["session"]["id"]
    async with aclosing(streamed(cy, f"/api/agent/events?sessions={session}:0&rows=true")) as told:
        assert b'"session_deleted"' in await anext(told)  # as for one that never was
        await bo.begin(client_id="again")
        own = (await cy.begin()).json["session"]["id"]
        seen = b""
        while own.encode() not in seen:
            seen += await anext(told)
    assert session.encode() not in seen
    assert b'"owner":"bo"' not in seen


async def test_what_waits_and_what_is_ruled_is_ones_own(house: Whole, people: list[Person]) -> None:
    ada, bo, cy, _ = people
    house.model.steps.appendleft(call("ask_user", question="Which?"))
    async with aclosing(streamed(cy, "/api/agent/events?sessions=none&rows=true")) as told:
        await anext(told)
        session = (await bo.begin()).json["session"]["id"]
        own = (await cy.begin()).json["session"]["id"]
        seen = b""
        while own.encode() not in seen:
            seen += await anext(told)
    assert session.encode() not in seen
    for who, query, count in (
        (bo, "", 1),
        (cy, "?owner=all", 0),
        (ada, "", 0),
        (ada, "?owner=bo", 1),
    ):
        waiting = (await who.call("GET", f"/api/agent/pending{query}")).json["waiting"]
        assert len(waiting) == count, who.name
    rule = {"effect": "allow", "text": "shell:npm test", "scope": "session", "session": session}
    assert (await cy.call("POST", "/api/agent/rules", rule)).status == 404
    made = await bo.call("POST", "/api/agent/rules", rule)
    assert made.status == 201
    path = f"/api/agent/rules/{made.json['id']}"
    assert (await cy.call("GET", "/api/agent/rules")).json["rules"] == []
    assert (await cy.call("PATCH", path, {"enabled": False})).status == 404
    of_all = {"effect": "allow", "text": "shell:npm test", "scope": "project", "project": "demo"}
    assert (await bo.call("POST", "/api/agent/rules", of_all)).status == 403
    assert (await bo.call("DELETE", path)).status == 204


async def test_a_shared_session_is_read_and_nothing_else(people: list[Person]) -> None:
    _, bo, cy, di = people
    path = f"/api/agent/sessions/{(await bo.begin()).json['session']['id']}"
    assert (await bo.call("PATCH", path, {"readers": ["di", "CY"]})).json["readers"] == ["di", "cy"]
    for who in (cy, di):
        assert (await who.call("GET", path)).status == 200
        assert (await who.call("DELETE", path)).status == 403
    assert (await bo.call("PATCH", path, {"readers": []})).status == 200
    assert (await cy.call("GET", path)).status == 404


async def test_the_same_client_id_of_another_user_is_another_session(people: list[Person]) -> None:
    _, bo, cy, _ = people
    one = (await bo.begin(client_id="c1")).json["session"]
    other = (await cy.begin(client_id="c1")).json["session"]
    assert (one["owner"], other["owner"]) == ("bo", "cy")
    assert one["id"] != other["id"]


@pytest.mark.parametrize("how", ["unshared", "disabled"])
async def test_the_address_of_a_plain_page_ends_with_what_its_user_may_see(
    house: Whole, people: list[Person], how: str
) -> None:
    ada, bo, _, di = people
    one = f"/api/agent/sessions/{(await bo.begin()).json['session']['id']}"
    assert (await bo.call("PATCH", one, {"readers": ["di"]})).status == 200
    address = (await di.call("POST", f"{one}/plain")).json["url"]
    assert (await ask(house.gate, "GET", address)).status == 200
    if how == "unshared":
        assert (await bo.call("PATCH", one, {"readers": []})).status == 200
    else:
        assert (await ada.call("PATCH", "/api/users/di", {"disabled": True})).status == 200
    assert (await ask(house.gate, "GET", address)).status == 404


async def test_where_providers_and_their_keys_are_is_for_admins(
    house: Whole, people: list[Person]
) -> None:
    ada, bo, _, di = people
    url = "http://models.internal:8080/v1"
    setup = {"id": "own", "type": "openai", "base_url": url, "key": "k" * 20}
    assert (await ada.call("POST", "/api/providers", setup)).status == 201
    assert url.encode() in (await ada.call("GET", "/api/providers")).body
    for who in (bo, di):
        seen = (await who.call("GET", "/api/providers")).json
        assert "own" in [one["id"] for one in seen["configured"]]
        assert seen["found"] == []
        assert not {one["base_url"] + one["key"] + one["problem"] for one in seen["configured"]} - {
            ""
        }


async def test_what_the_house_is_made_of_is_changed_by_admins_alone(people: list[Person]) -> None:
    """Every endpoint on agents, providers, MCP servers, settings, projects and users."""
    _, bo, _, di = people
    nouns = ("agents", "providers", "agent/mcp", "settings", "projects", "users", "models")
    changing = [
        one
        for one in ENDPOINTS
        if one.method != "GET" and one.path.startswith(tuple(f"/api/{noun}" for noun in nouns))
        and not one.path.endswith("/refresh")
    ]  # fmt: skip
    assert len(changing) > 15
    for one in changing:
        for who in (bo, di):
            body = None if one.body is None else body_of(one)
            answer = await who.call(one.method, target(one), body)
            assert answer.status == 403, (one.method, one.path, who.name, answer)


async def test_a_project_is_open_to_whom_it_is_opened(house: Whole, people: list[Person]) -> None:
    _, bo, _, di = people
    assert (await di.begin()).status == 403
    session = (await bo.begin()).json["session"]["id"]
    await house.call("PATCH", "/api/projects/demo", b'{"people": []}')
    assert (await bo.begin()).status == 404
    assert (await bo.call("GET", "/api/agent/info")).json["projects"] == []
    assert (await bo.call("POST", CHAT, {"session": session, "message": "go"})).status == 403
    assert (await bo.call("GET", f"/api/agent/sessions/{session}")).status == 200


async def streamed(who: Person, target: str) -> AsyncGenerator[bytes]:
    """The pieces of an event stream, up to its end."""
    pieces = asyncio.Queue[bytes]()
    path, _, query = target.partition("?")
    headers = [("host", "127.0.0.1:8765"), *who.headers]
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(n.encode(), v.encode()) for n, v in headers],
    }

    async def receive() -> Any:
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            pieces.put_nowait(message["body"])

    task = asyncio.ensure_future(who.house.gate(scope, receive, send))
    try:
        while piece := await pieces.get():
            yield piece
    finally:
        task.cancel()


ENDS = {
    "signs out": ("POST", "/api/auth/sign-out", None),
    "is disabled": ("PATCH", "/api/users/bo", {"disabled": True}),
    "gets a new password": ("PATCH", "/api/users/bo", {"password": "another horse battery"}),
    "is removed": ("DELETE", "/api/users/bo", None),
}


@pytest.mark.parametrize("how", ENDS)
async def test_who_is_shut_out_has_no_stream_any_more(people: list[Person], how: str) -> None:
    ada, bo, _, _ = people
    method, path, body = ENDS[how]
    session = (await bo.begin()).json["session"]["id"]
    async with aclosing(streamed(bo, f"/api/agent/sessions/{session}/events")) as told:
        await anext(told)
        done = await (bo if how == "signs out" else ada).call(method, path, body)
        assert done.status in {200, 204}
        async for _ in told:
            pass
    assert (await bo.call("GET", "/api/auth/me")).status == 401


async def test_a_changed_password_ends_the_other_sign_ins(
    house: Whole, people: list[Person]
) -> None:
    bo, other = people[1], Person(house, "bo")
    await other.sign_in()
    path, new = "/api/auth/password", "another horse battery"
    assert (await bo.call("POST", path, {"old": "no", "new": new})).status == 401
    assert (await bo.call("POST", path, {"old": PASSWORD, "new": "short"})).status == 400
    assert (await bo.call("POST", path, {"old": PASSWORD, "new": new})).status == 204
    assert (await bo.call("GET", "/api/auth/me")).status == 200
    assert (await other.call("GET", "/api/auth/me")).status == 401
    assert (await other.sign_in()).status == 401
    assert (await other.sign_in(new)).status == 200


async def test_guessing_is_slowed_down_and_names_are_not_told(
    house: Whole, people: list[Person]
) -> None:
    bo, nobody = Person(house, "bo"), Person(house, "nobody")
    known, unknown = await bo.sign_in("wrong horse"), await nobody.sign_in("wrong horse")
    assert known.status == unknown.status == 401
    assert known.body == unknown.body
    for who in (bo, nobody):
        statuses = [(await who.sign_in("wrong horse")).status for _ in range(11)]
        assert statuses[-1] == 429
    refused = await bo.sign_in()
    assert refused.status == 429, "the right one is not looked at either"
    assert int(refused.headers["retry-after"]) > 0


async def test_a_token_never_exceeds_its_users_role(house: Whole, people: list[Person]) -> None:
    ada, bo, _, di = people
    scopes = {"name": "t", "scopes": ["read", "run", "approve"]}
    assert (await di.call("POST", "/api/auth/tokens", scopes)).status == 403
    assert (
        await bo.call("POST", "/api/auth/tokens", {**scopes, "scopes": ["admin"]})
    ).status == 403
    secret = (await bo.call("POST", "/api/auth/tokens", scopes)).json["token"]
    assert (await house.call("GET", "/api/auth/me", secret=secret)).json["user"] == "bo"
    admins = (await ada.call("POST", "/api/auth/tokens", {"name": "a", "scopes": ["admin"]})).json
    await person(house, "ed", "admin")
    await house.keys.create_token("of bo", ["admin"], "bo")
    assert (await house.call("GET", "/api/users", secret=admins["token"])).status == 200
    await bo.house.call("PATCH", "/api/users/ada", b'{"role": "viewer"}', secret=admins["token"])
    assert (await house.call("GET", "/api/users", secret=admins["token"])).status == 403
    await house.gate.house.users.change("bo", role="viewer")
    body = b'{"project": "demo", "provider": "scripted/demo", "task": "hi"}'
    assert (await house.call("POST", CHAT, body, secret=secret)).status == 403
    await house.gate.house.users.change("bo", disabled=True)
    assert (await house.call("GET", "/api/auth/me", secret=secret)).status == 401


async def test_one_admin_stays(house: Whole, people: list[Person]) -> None:
    for body in (b'{"disabled": true}', b'{"role": "user"}'):
        assert (await house.call("PATCH", "/api/users/ada", body)).status == 409
    assert (await house.call("DELETE", "/api/users/ada")).status == 409


async def test_the_last_user_can_go(house: Whole) -> None:
    await person(house, "ada", "admin")
    link = {"token": house.keys.invite()}
    assert (await house.call("GET", "/api/auth/ways")).json == {"password": True}
    assert (await house.call("DELETE", "/api/users/ada")).status == 204
    assert (await house.call("GET", "/api/auth/ways")).json == {"password": False}
    body = msgspec.json.encode(link)
    made = await ask(house.gate, "POST", "/api/auth/exchange", headers=[JSON], body=body)
    assert made.status == 200


async def test_an_answer_that_is_waited_for_ends_when_its_user_is_shut_out(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("Done.")], pause=600) as house:
        await person(house, "ada", "admin")
        bo = await person(house, "bo", "user")
        await house.call("PATCH", "/api/projects/demo", b'{"people": ["bo"]}')
        waiting = asyncio.ensure_future(bo.begin())
        while not house.model.requests:
            await asyncio.sleep(0)
        assert (await house.call("PATCH", "/api/users/bo", b'{"disabled": true}')).status == 200
        assert (await waiting).status == 401
