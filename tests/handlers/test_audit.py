"""What was done, by whom, is in the audit log, and no secret is."""

from pathlib import Path

from msgspec import structs

from shipmate.database.store import Saved, Written
from shipmate.llm.scripted import call, say
from shipmate.protocol import AnyBlock, SessionRow, ToolCall, encode
from shipmate.safety.audit import Audit, entries, verify
from shipmate.session.noticing import noticing
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


def written(*blocks: AnyBlock) -> Written:
    row = SessionRow(id="s", agent="a", provider="p/m", project="p", owner="bo")
    return Written(tuple(Saved(block, encode(block)) for block in blocks), row)


def test_what_runs_or_reaches_beyond_the_project_is_told(tmp_path: Path) -> None:
    def ran(name: str, provider: str, **arguments: str) -> ToolCall:
        made = ToolCall(id=name, message="m", name=name, provider=provider)
        return structs.replace(made, started=True, arguments=arguments)

    audit = Audit(tmp_path)
    notice = noticing(audit)
    key = "sk-proj-4f9dkeKD93kdkDKE93k"
    notice(
        written(
            ran("shell_exec", "shell", command=f"login {key}"),
            ran("box__open", "mcp:box", key=key),
            ran("fetch_webpage", "web", url="https://example.org"),
            ran("write_file", "read_write", path="x"),
        )
    )
    audit.close()
    found = [(e.event, e.who, e.what.get("tool", "")) for e in entries(tmp_path)]
    calls = [("call", "bo", "box__open"), ("call", "bo", "fetch_webpage")]
    assert found == [("command", "bo", ""), *calls]
    assert key not in (tmp_path / "audit.jsonl").read_text()


async def test_an_admin_who_looks_at_a_session_of_somebody_else_is_told_once(
    tmp_path: Path,
) -> None:
    async with whole(tmp_path, [say("Done."), say("Done.")]) as house:
        ada, bo = await person(house, "ada", "admin"), await person(house, "bo", "user")
        await house.call("PATCH", "/api/projects/demo", b'{"people": ["bo"]}')
        theirs = (await bo.begin()).json["session"]["id"]
        own = (await ada.begin()).json["session"]["id"]
        for session in (theirs, own, theirs):
            assert (await ada.call("GET", f"/api/agent/sessions/{session}")).status == 200
        await bo.call("GET", f"/api/agent/sessions/{theirs}")
    seen = [(e.who, e.what) for e in entries(tmp_path) if e.event == "session_seen"]
    assert seen == [("ada", {"session": theirs, "owner": "bo"})]
