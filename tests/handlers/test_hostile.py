"""At least 60 hostile requests to every route: none is let in, none breaks the server."""

from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from shipmate.database.users import Role
from shipmate.handlers.limits import Bucket, Limits
from shipmate.handlers.route import ALLOWED, Endpoint
from shipmate.handlers.table import ENDPOINTS
from shipmate.llm.scripted import say
from tests.board import BOARD
from tests.handlers.client import Answered, ask
from tests.handlers.fitting import body_of, query_of, target
from tests.handlers.hostile import JSON, Pair, attack
from tests.handlers.house import Whole, whole
from tests.handlers.test_users import person


@pytest.mark.safety
async def test_no_hostile_request_is_let_in(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        counts = await attack(house, ENDPOINTS)
    wrong = len(counts.let_in) + len(counts.broken)
    BOARD.put("hostile requests", counts.requests, wrong, f"{counts.routes} routes")
    assert counts.let_in == []
    assert counts.broken == []
    assert counts.least >= 60


TITLE = "what only ada may know"
SKIPPED = {
    "/api/auth/sign-out": "it is one's own",
    "/api/agent/events": "it follows what one sees; tests/handlers/test_users.py looks at it",
}


@pytest.mark.safety
async def test_no_role_reaches_what_is_not_its_own(tmp_path: Path) -> None:
    """Every route, as another user and as a viewer, in a browser and with a token that asks for
    every scope: with the names of an admin's session and project."""
    async with whole(tmp_path, [say("Done.") for _ in range(9)]) as house:
        ada = await person(house, "ada", "admin")
        session = (await ada.begin(task=TITLE)).json["session"]["id"]
        callers: dict[str, tuple[Role, list[Pair]]] = {}
        roles: tuple[tuple[str, Role], ...] = (("bo", "user"), ("di", "viewer"))
        for name, role in roles:
            callers[f"{name}, signed in"] = role, (await person(house, name, role)).headers
            _, secret = await house.keys.create_token(name, ["admin"], name)
            callers[f"{name}'s token"] = role, [("authorization", f"Bearer {secret}")]
        plenty = Bucket(10**9, 1)
        house.gate.house.limits = Limits(plenty, plenty, plenty, plenty)
        let_in: list[str] = []
        tried = 0
        for one in ENDPOINTS:
            if one.scope == "public" or one.path in SKIPPED:
                continue
            for who, (role, headers) in callers.items():
                tried += 1
                answer = await ask_as(house, one, headers, session)
                if answer.status == 500 or reached(one, role, session, answer):
                    let_in.append(f"{one.method} {one.path} as {who}: {answer.status}")
        kept = await ada.call("GET", f"/api/agent/sessions/{session}")
        assert f'"title":"{TITLE}"'.encode() in kept.body
    BOARD.put("others' sessions and projects", tried, len(let_in), "as a user and a viewer")
    assert not let_in, "\n".join(let_in)


async def ask_as(house: Whole, one: Endpoint, headers: list[Pair], session: str) -> Answered:
    path = target(one, id=session, project="demo", name="ada", agent="assistant")
    query = urlencode(query_of(one, session=session, project="demo", owner="ada"))
    body = b""
    if one.body is not None:
        body = msgspec.json.encode(body_of(one, session=session, project="demo", people=["bo"]))
        headers = [*headers, JSON]
    return await ask(house.gate, one.method, f"{path}?{query}", headers=headers, body=body)


def reached(one: Endpoint, role: Role, session: str, answer: Answered) -> bool:
    """Whether it told of the session, or did what the role may not do."""
    if answer.status >= 400:
        return False
    allowed = ALLOWED[role] | {"read"}
    return (
        one.scope not in allowed
        or one.path.startswith(("/api/agent/sessions/{id}", "/api/projects/{project}"))
        or TITLE.encode() in answer.body
        or session.encode() in answer.body
    )
