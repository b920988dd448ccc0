"""What was done, by whom, is in the audit log, and no secret is."""

from pathlib import Path

from shipmate.llm.scripted import call, say
from shipmate.safety.audit import entries, verify
from tests.handlers.client import ask
from tests.handlers.house import whole
from tests.handlers.test_users import JSON, PASSWORD, Person, person

BEGIN = b'{"project": "demo", "provider": "scripted/demo", "task": "hi"}'


async def test_what_was_done_is_told_and_no_secret_is(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="x"), say("Done.")]) as house:
        ada = await person(house, "ada", "admin")
        await Person(house, "ada").sign_in("not my password")
        await Person(house, "hunter2 hunter2").sign_in("hunter2")
        made = (await ada.call("POST", "/api/auth/tokens", {"name": "ci", "scopes": ["run"]})).json
        session = (await house.call("POST", "/api/agent/chat", BEGIN)).json["session"]["id"]
        decision = {"session": session, "approved": True}
        assert (await ada.call("POST", "/api/agent/approval", decision)).status == 200
        await ada.call("GET", f"/api/agent/sessions/{session}/export?format=md")
        await ada.call("DELETE", f"/api/agent/sessions/{session}")
        await ada.call("POST", "/api/auth/sign-out")
        body = b'{"token": "no"}'
        await ask(house.gate, "POST", "/api/auth/exchange", headers=[JSON], body=body)
    found = [(entry.event, entry.who) for entry in entries(tmp_path)]
    assert found == [
        ("create_user", "tests"),
        ("sign_in", ""),
        ("sign_in_failed", ""),
        ("sign_in_failed", ""),
        ("create_token", "ada"),
        ("approval", "ada"),
        ("export_session", "ada"),
        ("delete_session", "ada"),
        ("sign_out", "ada"),
        ("sign_in_failed", ""),
    ]
    assert verify(tmp_path).problem == ""
    log = (tmp_path / "audit.jsonl").read_text()
    for secret in (PASSWORD, "not my password", "hunter2", made["token"], ada.headers[1][1]):
        assert secret not in log
