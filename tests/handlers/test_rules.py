"""Rules, decisions and what waits, through HTTP."""

from pathlib import Path
from typing import Any

from shipmate.llm.scripted import call, say
from tests.handlers.house import Whole, whole
from tests.handlers.test_chat import begin, body

RULES = "/api/agent/rules"


async def answer(house: Whole, method: str, path: str, status: int = 200, **fields: Any) -> Any:
    found = await house.call(method, path, body(**fields) if fields else b"")
    assert found.status == status, found
    return found.json if status != 204 else None


async def test_a_rule_is_written_listed_changed_tried_and_removed(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        write: dict[str, Any] = {
            "effect": "allow",
            "text": "shell:npm test",
            "scope": "project",
            "project": "demo",
        }
        made = await answer(house, "POST", RULES, 201, **write)
        again = await answer(house, "POST", RULES, 201, **write)
        assert (made["id"], made["enabled"]) == (again["id"], True)
        one = f"{RULES}/{made['id']}"
        asked: dict[str, Any] = {"kind": "shell", "value": "npm test", "project": "demo"}
        tried = await answer(house, "POST", f"{RULES}/test", **asked)
        assert (tried["verdict"], tried["without"], len(tried["rules"])) == ("allow", "ask", 1)
        elsewhere = await answer(house, "POST", f"{RULES}/test", kind="shell", value="npm test")
        assert elsewhere["verdict"] == "ask"
        await answer(house, "PATCH", one, enabled=False)
        assert (await answer(house, "POST", f"{RULES}/test", **asked))["verdict"] == "ask"
        await answer(house, "POST", RULES, 201, **write)  # in force again
        changed = await answer(house, "PATCH", one, effect="deny", text="shell:npm *")
        assert (changed["effect"], changed["text"]) == ("deny", "shell:npm *")
        assert (await answer(house, "POST", f"{RULES}/test", **asked))["verdict"] == "refuse"
        listed = await answer(house, "GET", RULES)
        assert [rule["text"] for rule in listed["rules"]] == ["shell:npm *"]
        await answer(house, "DELETE", one, 204)
        await answer(house, "DELETE", one, 404)
        await answer(house, "PATCH", one, 404, enabled=True)


async def test_a_rule_that_becomes_another_takes_its_place(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        fields = {"effect": "ask", "scope": "everywhere"}
        one = await answer(house, "POST", RULES, 201, text="tool:a", **fields)
        await answer(house, "POST", RULES, 201, text="tool:b", **fields)
        await answer(house, "PATCH", f"{RULES}/{one['id']}", text="tool:b")
        listed = await answer(house, "GET", RULES)
        assert [(rule["id"], rule["text"]) for rule in listed["rules"]] == [(one["id"], "tool:b")]


async def test_what_is_no_rule_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        for text, why in (("npm test", "begins with"), ("shell:sudo *", "runs whatever")):
            fields = {"effect": "allow", "text": text, "scope": "everywhere"}
            found = await answer(house, "POST", RULES, 422, **fields)
            assert found["code"] == "bad_rule"
            assert why in found["detail"]
        lost = {"effect": "deny", "text": "tool:a"}
        await answer(house, "POST", RULES, 404, scope="project", project="none", **lost)
        await answer(house, "POST", RULES, 404, scope="session", session="none", **lost)


async def test_who_may_only_approve_makes_no_rule_for_everywhere(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="x")] * 2) as house:
        session = (await begin(house))[0]["row"]["id"]
        _, secret = await house.keys.create_token("phone", ["approve"])
        fields = {"effect": "deny", "text": "tool:a", "scope": "everywhere"}
        assert (await house.call("POST", RULES, body(**fields), secret=secret)).status == 403
        decide = body(session=session, approved=True, scope="everywhere")
        assert (
            await house.call("POST", "/api/agent/approval", decide, secret=secret)
        ).status == 403
        decide = body(session=session, approved=True, scope="project")
        decided = await house.call("POST", "/api/agent/approval", decide, secret=secret)
        assert decided.json["scope"] == "project"
        [rule] = (await answer(house, "GET", RULES))["rules"]
        assert (rule["text"], rule["project"]) == ("tool:note", "demo")


async def test_an_edit_that_cannot_run_leaves_the_approval_waiting(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="x"), say("Done.")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        decide = {"session": session, "approved": True}
        found = await answer(house, "POST", "/api/agent/approval", 422, arguments={}, **decide)
        assert found["code"] == "unfit"
        [waiting] = (await answer(house, "GET", "/api/agent/pending"))["waiting"]
        assert waiting["session"]["id"] == session
        [item] = waiting["items"]
        assert (item["type"], item["suggested"]) == ("approval_request", ["tool:note"])
        edit = {"text": "edited"}
        done = await answer(house, "POST", "/api/agent/approval", arguments=edit, **decide)
        assert (done["result"], done["arguments"]) == (True, edit)
        assert (await answer(house, "GET", "/api/agent/pending"))["waiting"] == []
