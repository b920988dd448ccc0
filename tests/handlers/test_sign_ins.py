"""The browsers that are signed in: one's own, told apart, signed out one by one."""

from contextlib import aclosing

import pytest
from starlette.datastructures import Headers

from shipmate.handlers.device import device_of
from tests.handlers.client import ask
from tests.handlers.house import Whole
from tests.handlers.test_users import JSON, PASSWORD, Person, house, people, streamed

__all__ = ["house", "people"]
PATH = "/api/auth/sign-ins"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAID = {
    FIREFOX: "Firefox, Linux",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0": "Edge, Windows",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 (KHTML, like Gecko)"
    " Version/18.0 Mobile/15E148 Safari/604.1": "Safari, iPhone",
    "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"
    " Mobile Safari/537.36": "Chrome, Android",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    " Version/18.0 Safari/605.1.15": "Safari, macOS",
    "curl/8.0": "",
    "": "",
    "<script>alert(1)</script>\x9f": "",
    "x" * 5_000 + " Firefox/1 Linux": "",
}


@pytest.mark.parametrize("said", SAID)
def test_of_what_a_browser_says_only_known_names_are_kept(said: str) -> None:
    assert device_of(Headers({"user-agent": said})) == SAID[said]


async def test_one_sees_ones_own_and_an_admin_all(people: list[Person]) -> None:
    ada, bo, _, _ = people
    second = Person(bo.house, "bo")
    await second.sign_in()
    rows = (await bo.call("GET", PATH)).json["sign_ins"]
    assert [(row["user"], row["current"]) for row in rows] == [("bo", True), ("bo", False)]
    assert rows[0]["used_at"] >= rows[0]["created_at"] > 0
    assert rows[1]["used_at"] == 0
    everybody = (await ada.call("GET", PATH)).json["sign_ins"]
    assert {row["user"] for row in everybody} == {"ada", "bo", "cy", "di"}


async def test_the_device_is_told(house: Whole, people: list[Person]) -> None:
    body = b'{"name": "bo", "password": "%s"}' % PASSWORD.encode()
    headers = [JSON, ("user-agent", FIREFOX)]
    await ask(house.gate, "POST", "/api/auth/sign-in", headers=headers, body=body)
    rows = (await people[1].call("GET", PATH)).json["sign_ins"]
    assert [row["device"] for row in rows] == ["", "Firefox, Linux"]


async def test_one_that_is_signed_out_has_no_stream_any_more_and_the_others_have(
    people: list[Person],
) -> None:
    bo = people[1]
    session = (await bo.begin()).json["session"]["id"]
    lost = Person(bo.house, "bo")
    await lost.sign_in()
    rows = (await bo.call("GET", PATH)).json["sign_ins"]
    (other,) = [row["id"] for row in rows if not row["current"]]
    async with aclosing(streamed(lost, f"/api/agent/sessions/{session}/events")) as told:
        await anext(told)
        assert (await bo.call("DELETE", f"{PATH}/{other}")).status == 204
        async for _ in told:
            pass
    assert (await lost.call("GET", "/api/auth/me")).status == 401
    assert (await bo.call("GET", "/api/auth/me")).status == 200
    assert len((await bo.call("GET", PATH)).json["sign_ins"]) == 1


async def test_somebody_elses_is_not_there(people: list[Person]) -> None:
    ada, bo, cy, _ = people
    (row,) = (await cy.call("GET", PATH)).json["sign_ins"]
    assert (await bo.call("DELETE", f"{PATH}/{row['id']}")).status == 404
    assert (await bo.call("DELETE", f"{PATH}/nosuch")).status == 404
    assert (await cy.call("GET", "/api/auth/me")).status == 200
    assert (await ada.call("DELETE", f"{PATH}/{row['id']}")).status == 204
    assert (await cy.call("GET", "/api/auth/me")).status == 401


async def test_a_token_without_every_scope_lists_and_ends_none(people: list[Person]) -> None:
    bo = people[1]
    body = {"name": "ci", "scopes": ["read", "run", "approve"]}
    secret = (await bo.call("POST", "/api/auth/tokens", body)).json["token"]
    program = Person(bo.house, "bo")
    program.headers = [("authorization", f"Bearer {secret}")]
    (row,) = (await bo.call("GET", PATH)).json["sign_ins"]
    assert (await program.call("GET", PATH)).status == 403
    assert (await program.call("DELETE", f"{PATH}/{row['id']}")).status == 403


async def test_device_and_last_use_survive_a_restart(house: Whole, people: list[Person]) -> None:
    await people[1].call("GET", "/api/auth/me")
    before = house.keys.sign_ins("bo")
    await house.keys.reload()  # from the database, as at a start
    after = house.keys.sign_ins("bo")
    assert before == after
    assert after[0].used_at > 0
