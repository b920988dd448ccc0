"""The page of MCP servers: added, refreshed, switched, accepted, removed; presets and proposals."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.mcp.running import fake
from tests.provider import call_reply, text_reply

OK: dict[str, Any] = {
    "name": "ok",
    "description": "Says ok.",
    "inputSchema": {"type": "object", "properties": {}},
}
SLOW = 40_000
"""Milliseconds: the first server brings the SDK, which takes long to import on a busy machine."""


def command(folder: Path, scenario: dict[str, Any]) -> str:
    return " ".join(fake(folder, scenario).command)


def item(desk: Desk, name: str) -> Locator:
    return desk.page.get_by_role("list", name="MCP servers").get_by_role("listitem").filter(
        has=desk.page.get_by_text(name, exact=True)
    ).first  # fmt: skip


def add(desk: Desk, name: str, line: str) -> None:
    form = desk.page.get_by_role("region", name="Add a server")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Command").fill(line)
    form.get_by_label("Variables").fill("TOKEN=canary-5")
    form.get_by_role("button", name="Add").click()


def changing() -> dict[str, Any]:
    after = {
        "then_pages": [[OK | {"description": "Says ok, and more."}]],
        "notify": "notifications/tools/list_changed",
    }
    return {"pages": [[OK]], "after_call": {"ok": after}}


def test_a_server_is_added_used_accepted_anew_switched_off_and_removed(
    desk: Desk, tmp_path: Path
) -> None:
    desk.open("#/settings/mcp")
    expect(desk.page.get_by_text("No MCP servers yet.")).to_be_visible()
    add(desk, "kind", command(tmp_path, changing()))
    row = item(desk, "kind")
    expect(row.get_by_text("Ready")).to_be_visible(timeout=SLOW)
    expect(row.get_by_text("1 tool")).to_be_visible()
    assert "canary" not in desk.page.content()

    desk.provider.queue(call_reply(("kind__ok", {})), text_reply("Done."))
    desk.open()
    desk.say("call it")
    expect(desk.page.get_by_text("Approval Request — kind: ok")).to_be_visible()
    desk.page.get_by_role("button", name="Approve", exact=True).click()
    desk.done()
    desk.open("#/settings/mcp")
    expect(row.get_by_text("Changed, off until you accept it")).to_be_visible()
    expect(row.get_by_text("Says ok, and more.")).to_be_visible()
    row.get_by_role("button", name="Accept ok").click()
    expect(row.get_by_text("Changed, off until you accept it")).to_have_count(0)
    row.get_by_role("switch", name="kind is on").uncheck()
    expect(row.get_by_text("Off", exact=True)).to_be_visible()
    row.get_by_role("button", name="Remove kind").click()
    desk.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(desk.page.get_by_text("No MCP servers yet.")).to_be_visible()
    assert desk.problems == []


def test_a_command_is_mended_on_the_page_and_values_are_added(desk: Desk, tmp_path: Path) -> None:
    desk.server.api("POST", "/api/agent/mcp", {"name": "mine", "command": ["no-such-program"]})
    desk.open("#/settings/mcp")
    row = item(desk, "mine")
    expect(row.get_by_text("Failed")).to_be_visible(timeout=SLOW)
    row.get_by_text("How it is reached").click()
    row.get_by_label("Command of mine").fill(command(tmp_path, {"pages": [[OK]]}))
    row.get_by_label("More variables of mine").fill("TOKEN=canary-6")
    row.get_by_role("button", name="Save").click()
    expect(row.get_by_text("Ready")).to_be_visible(timeout=SLOW)
    expect(row.get_by_text("It has TOKEN.")).to_be_visible()
    assert "canary" not in desk.page.content()
    assert faults(desk.page) == []


def test_what_a_project_proposes_is_shown_and_runs_only_when_it_is_added(
    desk: Desk, tmp_path: Path
) -> None:
    line = fake(tmp_path, {"pages": [[OK]]}).command
    entry = {"command": line[0], "args": list(line[1:]), "env": {"KEY": "1"}}
    (desk.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    desk.open("#/settings/mcp")
    expect(desk.page.get_by_text("No MCP servers yet.")).to_be_visible()
    expect(desk.page.get_by_text("It would get the variables KEY.")).to_be_visible()
    desk.page.get_by_role("button", name="Add theirs").click()
    expect(item(desk, "theirs").get_by_text("Ready")).to_be_visible(timeout=SLOW)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_every_state_is_accessible_and_fits(
    desk: Desk, tmp_path: Path, width: int, scheme: str, language: str
) -> None:
    desk.page.emulate_media(color_scheme=scheme)  # pyright: ignore[reportArgumentType] - one of the two
    desk.page.set_viewport_size({"width": width, "height": 800})
    desk.server.api("PATCH", "/api/settings", {"interface": {"language": language}})
    line = fake(tmp_path, {"pages": [[OK]]}).command
    for name, more in (
        ("ready", {"command": list(line)}),
        ("broken", {"command": ["no-such-program"]}),
        ("away", {"command": ["x"], "enabled": False}),
    ):
        desk.server.api("POST", "/api/agent/mcp", {"name": name, **more})
    desk.open("#/settings/mcp")
    desk.page.reload()
    ready = "Ready" if language == "en" else "就绪"
    expect(desk.page.get_by_text(ready, exact=True)).to_be_visible(timeout=SLOW)
    assert faults(desk.page) == []
    wide = desk.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
